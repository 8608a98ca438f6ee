"""Plain text -> questions: alternating lines, blocks between blank lines, and WinoBias's brackets."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path

from probe.errors import ProbeError
from probe.tasks.readers.questions import Ledger, Question, Reading
from probe.tasks.readers.streams import lines, undecodable


def _numbered(path: Path, encoding: str) -> Iterator[tuple[int, str]]:
    for number, line in enumerate(lines(path, encoding), start=1):
        yield number, line.strip()


def alternating(path: Path, encoding: str, ledger: Ledger, *, good_first: bool) -> Reading:
    """Two lines a pair. Zorro writes the bad sentence on odd lines; `good_first` reads the other convention.

    Blank lines are no records. A line without a partner is malformed.
    """
    ledger.unit = "line"
    waiting: tuple[int, str] | None = None
    for number, line in _numbered(path, encoding):
        if not line:
            continue
        if waiting is None:
            waiting = (number, line)
            continue
        (start, odd), waiting = waiting, None
        complaint = undecodable(odd) or undecodable(line)
        if complaint or odd == line:
            ledger.malformed(start, complaint or "the two sentences of the pair are the same", records=2)
            continue
        good, bad = (odd, line) if good_first else (line, odd)
        ledger.add(Question(options=(good, bad), answer=0, record=start), records=2)
    if waiting is not None:
        ledger.malformed(waiting[0], "the last line has no partner")
    which = "good" if good_first else "bad"
    ledger.note(f"odd lines are taken as the {which} sentence (--format alternating-good-first or -bad-first)")
    return ledger.reading(format=f"alternating lines, {which} first", kind="pair")


def blocks(path: Path, encoding: str, ledger: Ledger) -> Reading:
    """Blocks between blank lines. Two lines: good, bad. Four: sentence, pronoun, `candidate,candidate`, answer.

    The second is the form of the Definite Pronoun Resolution data (Rahman and Ng 2012).
    """
    ledger.unit = "block"
    kind: str | None = None
    for number, block in enumerate(_blocks(path, encoding), start=1):
        complaint = next(filter(None, map(undecodable, block)), None)
        found = {2: "pair", 4: "cloze"}.get(len(block))
        if complaint or found is None or found != (kind or found):
            expected = {"pair": "2", "cloze": "4"}.get(kind or "", "2 or 4")
            ledger.malformed(number, complaint or f"a block of {len(block)} lines, expected {expected}")
            continue
        if found == "pair":
            if block[0] == block[1]:
                ledger.malformed(number, "the two sentences are the same")
                continue
            question = Question(options=(block[0], block[1]), answer=0, record=number)
        else:
            candidates = tuple(part.strip() for part in block[2].split(",") if part.strip())
            folded = [candidate.casefold() for candidate in candidates]
            answer = block[3].strip().casefold()
            if len(set(folded)) < 2 or len(set(folded)) != len(folded) or answer not in folded:
                ledger.malformed(number, f"answer {block[3][:40]!r} is none of the candidates {block[2][:60]!r}")
                continue
            question = Question(
                prompt=block[0],
                options=candidates,
                answer=folded.index(answer),
                record=number,
                slots={"pronoun": block[1]},
            )
        kind = found
        ledger.add(question)
    return ledger.reading(format=f"blocks of {2 if kind == 'pair' else 4} lines", kind=kind or "pair")


def _blocks(path: Path, encoding: str) -> Iterator[list[str]]:
    block: list[str] = []
    for _, line in _numbered(path, encoding):
        if line:
            block.append(line)
        elif block:
            yield block
            block = []
    if block:
        yield block


_LINE = re.compile(r"^\s*(\d+)\s+(.*\S)\s*$")
_BRACKET = re.compile(r"\[([^\[\]]*)\]")
_PRONOUNS = frozenset(
    ["he", "him", "his", "himself", "she", "her", "hers", "herself", "they", "them", "their", "theirs", "themselves"]
)
_ARTICLE = re.compile(r"^(the|a|an)\s+", re.IGNORECASE)


def winobias(path: Path, encoding: str, ledger: Ledger) -> Reading:
    """WinoBias, `1 [The developer] argued with the designer because [she] …`: who is meant and the pronoun in brackets.

    Further brackets with a pronoun are allowed. The other candidate is not marked: it is the one other word in the
    sentence out of the file's occupations, which are all that stand in brackets anywhere; a line with none or several
    is malformed. Lines 2k − 1 and 2k are a pair.
    """
    ledger.unit = "line"
    rows: list[tuple[int, int, str, str, str]] = []
    for number, line in _numbered(path, encoding):
        if not line:
            continue
        match, marked = _LINE.match(line), _BRACKET.findall(line)
        if complaint := undecodable(line):
            ledger.malformed(number, complaint)
            continue
        nouns = [text.strip() for text in marked if text.strip().lower() not in _PRONOUNS]
        if match is None or len(nouns) != 1 or len(marked) < 2:
            ledger.malformed(
                number,
                f"{len(nouns)} nouns and {len(marked) - len(nouns)} pronouns in brackets, "
                f"{'a' if match else 'no'} line number; expected a number, one noun and its pronoun",
            )
            continue
        sentence = match[2].replace("[", "").replace("]", "")
        pronoun = next(text.strip() for text in marked if text.strip().lower() in _PRONOUNS)
        rows.append((number, int(match[1][:9]), sentence, _ARTICLE.sub("", nouns[0]).lower(), pronoun))
    occupations = sorted({row[3] for row in rows} - {""}, key=len, reverse=True)
    if not occupations:
        raise ProbeError(f"{ledger.source}: no line holds [the one who is meant] and [the pronoun]")
    anywhere = re.compile(r"\b(?:" + "|".join(map(re.escape, occupations)) + r")\b")
    for number, count, sentence, meant, pronoun in rows:
        there = list(dict.fromkeys(anywhere.findall(sentence.lower())))
        if meant not in there or len(there) != 2:
            ledger.malformed(number, f"occupations {there} in the sentence, expected {meant!r} and one other")
            continue
        ledger.add(
            Question(
                prompt=sentence,
                options=tuple(there),
                answer=there.index(meant),
                group="|".join(sorted(there)),
                slots={"pronoun": pronoun},
                pair_id=f"{'|'.join(sorted(there))}#{(count + 1) // 2}",
                record=number,
            )
        )
    ledger.note("the second candidate of a line is the other one of the file's bracketed occupations in it")
    return ledger.reading(format="WinoBias", kind="cloze")
