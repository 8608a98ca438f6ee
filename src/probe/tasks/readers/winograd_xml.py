"""The Winograd Schema Collection's XML -> questions. No entity is expanded and no other file is opened."""

from __future__ import annotations

import re
from pathlib import Path
from xml.parsers import expat

from probe.errors import ProbeError
from probe.tasks.readers.questions import Ledger, Question, Reading

_FIELDS = {"txt1", "pron", "txt2", "answer", "correctAnswer", "answer1", "answer2"}


class _Collector:
    """Turns expat's events into one dictionary a <schema>; text of a field is collected, the rest is not kept."""

    def __init__(self, where: str) -> None:
        self.where = where
        self.schemas: list[dict[str, list[str]]] = []
        self.schema: dict[str, list[str]] | None = None
        self.field: str | None = None
        self.in_quote = False

    def start(self, name: str, _: dict[str, str]) -> None:
        if name == "schema":
            self.schema = {}
        elif name == "quote":
            self.in_quote = True
        elif self.schema is not None and name in _FIELDS and not (self.in_quote and name == "pron"):
            self.field = name
            self.schema.setdefault(name, []).append("")

    def text(self, data: str) -> None:
        if self.field and self.schema is not None:
            self.schema[self.field][-1] += data

    def end(self, name: str) -> None:
        if name == "schema" and self.schema is not None:
            self.schemas.append(self.schema)
            self.schema = None
        elif name == "quote":
            self.in_quote = False
        elif name == self.field:
            self.field = None

    def refuse(self, *_: object) -> int:
        raise ProbeError(
            f"{self.where}: declares an entity or a document type; these are never expanded or fetched; remove them"
        )


def schemas(path: Path, encoding: str | None = None) -> list[dict[str, list[str]]]:
    """Each <schema> as field -> texts. The encoding is the one the file declares, unless another is asked for.

    Raises:
        ProbeError: not well-formed, with line; or a declared entity or document type (billion laughs, external files).
    """
    collector = _Collector(str(path))
    parser = expat.ParserCreate(encoding)
    parser.StartElementHandler = collector.start
    parser.EndElementHandler = collector.end
    parser.CharacterDataHandler = collector.text
    parser.StartDoctypeDeclHandler = collector.refuse
    parser.EntityDeclHandler = collector.refuse
    parser.ExternalEntityRefHandler = collector.refuse
    parser.buffer_text = True
    try:
        with path.open("rb") as stream:
            parser.ParseFile(stream)
    except expat.ExpatError as error:
        raise ProbeError(
            f"{path}, line {error.lineno}: not well-formed XML ({expat.ErrorString(error.code)})"
        ) from None
    except (LookupError, ValueError) as error:
        raise ProbeError(f"{path}: {error}; say the encoding with --encoding") from None
    return collector.schemas


def winograd_xml(path: Path, encoding: str | None, ledger: Ledger) -> Reading:
    """One question a schema: the text, two answers, and `correctAnswer`, which comes as " A ", "B." or "B"."""
    ledger.unit = "schema"
    for number, schema in enumerate(schemas(path, encoding), start=1):
        fields = {name: [_squeezed(text) for text in texts] for name, texts in schema.items()}
        answers = fields.get("answer", []) or [*fields.get("answer1", []), *fields.get("answer2", [])]
        correct = (fields.get("correctAnswer") or [""])[0].rstrip(".").strip().upper()
        parts = [(fields.get(name) or [""])[0] for name in ("txt1", "pron", "txt2")]
        if not correct:
            ledger.unlabelled(number)
        elif len(answers) < 2 or not all(answers) or len({a.casefold() for a in answers}) < len(answers):
            ledger.malformed(number, f"answers {answers} are not two different texts")
        elif not re.fullmatch("[A-Z]", correct) or ord(correct) - ord("A") >= len(answers):
            ledger.malformed(
                number, f"correctAnswer {correct[:20]!r} is none of A … {chr(ord('A') + len(answers) - 1)}"
            )
        elif not (parts[0] or parts[2]):
            ledger.malformed(number, "no text")
        else:
            ledger.add(
                Question(
                    prompt=" ".join(part for part in parts if part),
                    options=tuple(answers),
                    answer=ord(correct) - ord("A"),
                    slots={"pronoun": parts[1]} if parts[1] else {},
                    record=number,
                )
            )
    if ledger.records == 0:
        raise ProbeError(f"{path}: XML without a <schema> element; only the Winograd Schema Collection's form is read")
    return ledger.reading(format="Winograd Schema Collection XML", kind="cloze")


def _squeezed(text: str) -> str:
    r"""Runs of blanks (line ends, no-break spaces) to one blank.

    >>> _squeezed(" the\xa0 brown\n suitcase ")
    'the brown suitcase'
    """
    return " ".join(text.split())
