"""Read and validate a task file: path -> TaskSpec.

A task file is TOML and holds data only. A *cloze* task has a template with slots and a lexicon that fills them; a
*sequence* task has a rule that draws tokens. Whatever is wrong with the file is said with file, key, value and the
nearest valid choice, before a single sentence is made.
"""

from __future__ import annotations

import re
import tomllib
import unicodedata
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, NoReturn

from probe.errors import NotThere, ProbeError, nearest
from probe.files import digest, read_text

CHEATS = (
    *("bag-of-words", "fixed-order", "prior", "collocation", "leaky-split", "agreement", "counting"),
    *("candidate-position", "partial-input"),
)
"""The holes a task is meant to stop or to open. `bag-of-words`: the words alone tell the answer, as in winograd-easy;
fixed-order, prior, collocation and agreement are ways in which they can, so a task that allows one does not stop it."""

CLOZE_SPLITS = ("reversed-pair", "held-out-pair", "random-rows")
SEQUENCE_RULES = ("repeat", "triples")
_SLOT = re.compile(r"\{([^{}]*)\}")


@dataclass(frozen=True, kw_only=True)
class Prior:
    """Words that are the answer in `share` of the sentences they stand in."""

    lexicon: str
    share: float


@dataclass(frozen=True, kw_only=True)
class Cloze:
    """A template whose last slot has to be told from the others."""

    template: tuple[str, ...]
    """Tokens; a slot is `{name}`. Exactly one is `{answer}`."""
    slots: Mapping[str, tuple[str, ...]]
    """Slot -> names of the lexicon lists that fill it."""
    decided_by: str
    """The slot whose word decides which candidate is the answer."""
    answers: Mapping[str, str]
    """Lexicon list of the deciding slot -> the candidate slot (`x` or `y`) that is then the answer."""
    roles: Mapping[str, str] = field(default_factory=dict)
    """Further named positions: role -> a template word that stands once."""
    contrast: str | None = None
    """The slot in which the two prompts of a minimal pair differ."""
    order: str = "any"
    """`any`: every ordered pair of nouns. `lexicon`: x stands before y in the lexicon."""
    goes_with: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    """A list or word of the deciding slot -> the words of which the answer is one and the distractor is not."""
    prior: Prior | None = None

    @property
    def candidate_slots(self) -> tuple[str, str]:
        """The two slots that the answer can repeat, in the order of the template."""
        first, second = (s for s in self.slot_order if s in set(self.answers.values()))
        return first, second

    @property
    def slot_order(self) -> tuple[str, ...]:
        """The slots in the order of the template, the answer last."""
        return tuple(token[1:-1] for token in self.template if token.startswith("{"))


@dataclass(frozen=True, kw_only=True)
class TokenSequence:
    """A rule that draws sequences of `length` tokens out of `words`; the last token is the one that can be told.

    `repeat`: distinct random tokens, repeated with a period drawn anew for every sequence from `periods`.
    `triples`: *a b a  c d c  e f e*: the third token of each triple is the one before the last.
    """

    rule: str
    words: int
    length: int
    periods: tuple[int, int] = (0, 0)


@dataclass(frozen=True, kw_only=True)
class Split:
    """How sentences are divided. For a cloze task shares of the noun pairs, for a sequence task counts."""

    method: str
    validation: float
    held_out: float
    train: int = 0


@dataclass(frozen=True, kw_only=True)
class TaskSpec:
    """One task: what is asked, of whom it is a test, and how it is split."""

    name: str
    title: str
    language: str
    question: Cloze | TokenSequence
    lexicon: Mapping[str, tuple[str, ...]]
    split: Split
    stops: tuple[str, ...]
    allows: tuple[str, ...]
    source: Mapping[str, Any]
    """The validated file content; what a datasheet keeps and a digest is taken of."""
    file: str = field(default="", compare=False)
    """Where it was read, for errors that show only once sentences are made."""

    @property
    def digest(self) -> str:
        """SHA-256 of the content: two tasks with the same digest ask the same thing."""
        return digest(self.source)

    @property
    def ships(self) -> bool:
        """Whether it is the task of its name that ships with probe, unchanged."""
        return self.name in task_names() and load_task(self.name).digest == self.digest


def task_folder() -> Path:
    """Return the folder of the tasks that ship with probe, in a checkout or inside an installed wheel."""
    installed = Path(__file__).parent / "library"
    return installed if installed.is_dir() else Path(__file__).parents[3] / "tasks"


def task_names() -> list[str]:
    """Return the names that `load_task` knows, sorted."""
    return sorted(path.stem for path in task_folder().glob("*.toml"))


def load_task(task: str | Path, overrides: Mapping[str, Any] | None = None) -> TaskSpec:
    """Read a task by name, or a task file of the user's own by path.

    Args:
        task: a name that `task_names` lists, or the path of a `.toml` file.
        overrides: dotted keys and the values to set, as `{"split.held_out": 0.3}`.

    Raises:
        NotThere: no such task or file.
        ProbeError: the file is not a valid task; the message names file, key, value and the nearest valid choice.
    """
    path = Path(task)
    if path.suffix != ".toml":
        if str(task) not in task_names():
            raise NotThere(
                f"there is no task {str(task)!r}; {nearest(str(task), task_names())} "
                "(`probe tasks` lists them; a file of your own is given by its path, ending in .toml)"
            )
        path = task_folder() / f"{task}.toml"
    text = read_text(path, "task file")
    try:
        content = tomllib.loads(text)
    except tomllib.TOMLDecodeError as error:
        raise ProbeError(f"task file {path}: not valid TOML: {error}") from None
    for key, value in (overrides or {}).items():
        _override(path, content, key, value)
    return parse_task(content, name=path.stem, where=str(path))


def parse_task(content: Mapping[str, Any], *, name: str, where: str) -> TaskSpec:
    """Validate the content of a task file; `where` is the file that errors name."""
    return _Parser(content, where).task(name)


def _override(path: Path, content: dict[str, Any], key: str, value: Any) -> None:
    """Set a dotted key that the file has, or that a table of the file may have."""
    *tables, last = key.split(".")
    table = content
    for name in tables:
        inner = table.get(name)
        if not isinstance(inner, dict):
            raise ProbeError(f"task file {path}: --set {key}={value}: no table {name!r}; {nearest(name, table)}")
        table = inner
    table[last] = value


class _Parser:
    """Walks the content once; every complaint goes through `fail`, which names file, key and value."""

    def __init__(self, content: Mapping[str, Any], where: str) -> None:
        self.content = content
        self.where = where

    def fail(self, key: str, message: str) -> NoReturn:
        raise ProbeError(f"task file {self.where}: {key}: {message}")

    # -- typed access ------------------------------------------------------------------------------------------

    def keys(self, table: Mapping[str, Any], key: str, allowed: Sequence[str]) -> None:
        for found in table:
            if found not in allowed:
                self.fail(f"{key}.{found}" if key else found, f"unknown key; {nearest(found, allowed)}")

    def get(self, table: Mapping[str, Any], key: str, kind: type, default: Any = ...) -> Any:
        name = key.rsplit(".", 1)[-1]
        if name not in table:
            if default is ...:
                self.fail(key, f"missing; write {name} = … ({kind.__name__})")
            return default
        value = table[name]
        if kind is float and isinstance(value, int) and not isinstance(value, bool):
            value = float(value)
        if not isinstance(value, kind) or (isinstance(value, bool) and kind is not bool):
            self.fail(key, f"{value!r} is {type(value).__name__}, expected {kind.__name__}")
        return value

    def choice(self, value: str, key: str, choices: Sequence[str]) -> str:
        if value not in choices:
            self.fail(key, f"{value!r} is not known; {nearest(value, choices)}")
        return value

    def words(self, value: Any, key: str) -> tuple[str, ...]:
        if isinstance(value, str):
            value = [value]
        if not isinstance(value, list) or not all(isinstance(word, str) for word in value):
            self.fail(key, f"{value!r} is not a list of words")
        for word in value:
            if not word or word.split() != [word]:
                self.fail(key, f"{word!r} is not one token; a word holds no blanks")
            self.readable(word, key)
            if "{" in word or "}" in word:
                self.fail(key, f"{word!r} holds a brace, which marks a slot")
        if len(set(value)) != len(value):
            twice = next(word for word in value if value.count(word) > 1)
            self.fail(key, f"{twice!r} stands twice")
        return tuple(value)

    def readable(self, word: str, key: str) -> None:
        """Refuse what no XML, JSON or terminal can show: control characters, halves of surrogate pairs."""
        if any(unicodedata.category(letter) in ("Cc", "Cs") or letter in "\ufffe\uffff" for letter in word):
            self.fail(key, f"{word!r} holds a control character")

    # -- the parts ---------------------------------------------------------------------------------------------

    def task(self, name: str) -> TaskSpec:
        if not name or name != name.strip() or name.startswith(".") or not name.isprintable() or set(name) & set("/\\"):
            self.fail("name", f"{name!r} cannot name folders; choose another file name")
        is_sequence = "sequence" in self.content
        allowed = ["title", "language", "cheats", "split"]
        allowed += (
            ["sequence"]
            if is_sequence
            else ["template", "lexicon", "slots", "answer", "roles", "contrast", "pairs", "goes_with"]
        )
        self.keys(self.content, "", allowed)
        cheats = self.get(self.content, "cheats", dict, {})
        self.keys(cheats, "cheats", ["stops", "allows"])
        stops, allows = (self.words(cheats.get(side, []), f"cheats.{side}") for side in ("stops", "allows"))
        for side, names in (("stops", stops), ("allows", allows)):
            for cheat in names:
                self.choice(cheat, f"cheats.{side}", CHEATS)
        if both := set(stops) & set(allows):
            self.fail("cheats", f"{sorted(both)[0]!r} cannot be both stopped and allowed")
        lexicon = {} if is_sequence else self.lexicon()
        return TaskSpec(
            name=name,
            title=self.title(),
            language=self.language(),
            question=self.sequence() if is_sequence else self.cloze(lexicon),
            lexicon=lexicon,
            split=self.split(is_sequence),
            stops=stops,
            allows=allows,
            source=dict(self.content),
            file=self.where,
        )

    def title(self) -> str:
        title = self.get(self.content, "title", str)
        if not title.strip() or not title.isprintable():
            self.fail("title", f"{title!r} is not one line of text")
        return title

    def language(self) -> str:
        language = self.get(self.content, "language", str, "en")
        if language != "none" and not re.fullmatch(r"[a-z]{2,3}(-[A-Za-z0-9]+)*", language):
            self.fail("language", f"{language!r} is no language code; write for instance en, es, ru, or none")
        return language

    def lexicon(self) -> dict[str, tuple[str, ...]]:
        table = self.get(self.content, "lexicon", dict)
        lexicon = {name: self.words(value, f"lexicon.{name}") for name, value in table.items()}
        owner: dict[str, str] = {}
        for name, words in lexicon.items():
            if not words:
                self.fail(f"lexicon.{name}", "has no words")
            for word in words:
                if word in owner:
                    self.fail(f"lexicon.{name}", f"{word!r} stands in lexicon.{owner[word]} too; a word has one role")
                owner[word] = name
        return lexicon

    def cloze(self, lexicon: dict[str, tuple[str, ...]]) -> Cloze:
        template = tuple(self.get(self.content, "template", str).split())
        for token in template:
            self.readable(token, "template")
        slots = self.slots(template, lexicon)
        decided_by, answers = self.answer(template, slots)
        for word in (token for token in template if not token.startswith("{")):
            for name, words in lexicon.items():
                if word in words:
                    self.fail(f"lexicon.{name}", f"{word!r} stands in the template too; a word has one role")
        roles = {}
        for role, word in self.get(self.content, "roles", dict, {}).items():
            if role in slots or role == "answer":
                self.fail(f"roles.{role}", "is a slot already")
            if template.count(word) != 1:
                fixed = [token for token in template if not token.startswith("{") and template.count(token) == 1]
                self.fail(f"roles.{role}", f"{word!r} does not stand once in the template; {nearest(word, fixed)}")
            roles[role] = word
        contrast = self.get(self.content, "contrast", str, None)
        if contrast is not None:
            self.choice(contrast, "contrast", [decided_by])
        pairs = self.get(self.content, "pairs", dict, {})
        self.keys(pairs, "pairs", ["order", "prior"])
        return Cloze(
            template=template,
            slots=slots,
            decided_by=decided_by,
            answers=answers,
            roles=roles,
            contrast=contrast,
            order=self.choice(self.get(pairs, "pairs.order", str, "any"), "pairs.order", ["any", "lexicon"]),
            goes_with=self.goes_with(lexicon, slots[decided_by]),
            prior=self.prior(pairs, lexicon),
        )

    def slots(self, template: tuple[str, ...], lexicon: dict[str, tuple[str, ...]]) -> dict[str, tuple[str, ...]]:
        for token in template:
            if ("{" in token or "}" in token) and not re.fullmatch(r"\{\w+\}", token):
                self.fail("template", f"{token!r} is not a slot; a slot stands between blanks, as in {{x}} waited .")
        inside = [name for token in template for name in _SLOT.findall(token)]
        table = self.get(self.content, "slots", dict)
        for name in inside:
            if inside.count(name) > 1:
                self.fail("template", f"slot {{{name}}} stands twice")
            if name != "answer" and name not in table:
                self.fail(f"slots.{name}", f"missing: nothing fills slot {{{name}}}; name a lexicon list")
        slots = {}
        for name, value in table.items():
            if name not in inside:
                self.fail(f"slots.{name}", f"the template has no slot {{{name}}}; {nearest(name, inside)}")
            lists = self.words(value, f"slots.{name}")
            if not lists:
                self.fail(f"slots.{name}", "has no words; name a lexicon list")
            for entry in lists:
                if entry not in lexicon:
                    self.fail(f"slots.{name}", f"there is no lexicon.{entry}; {nearest(entry, lexicon)}")
            slots[name] = lists
        return slots

    def answer(self, template: tuple[str, ...], slots: dict[str, tuple[str, ...]]) -> tuple[str, dict[str, str]]:
        if "{answer}" not in template:
            self.fail("template", "has no slot {answer}, so there is nothing to tell")
        table = dict(self.get(self.content, "answer", dict))
        decided_by = self.choice(self.get(table, "answer.by", str), "answer.by", list(slots))
        table.pop("by")
        answers = {}
        for name, slot in table.items():
            self.choice(name, f"answer.{name}", slots[decided_by])
            answers[name] = self.choice(slot, f"answer.{name}", [s for s in slots if s != decided_by])
        for name in slots[decided_by]:
            if name not in answers:
                self.fail(f"answer.{name}", f"missing: with a word of lexicon.{name} the answer can't be told")
        if len(set(answers.values())) != 2:
            self.fail("answer", f"names {len(set(answers.values()))} candidate slot(s), two are needed")
        last = template.index("{answer}")
        for slot in slots:
            if template.index(f"{{{slot}}}") > last:
                self.fail("template", f"{{{slot}}} stands after {{answer}}: read from left to right it can't be told")
        return decided_by, answers

    def goes_with(self, lexicon: dict[str, tuple[str, ...]], deciding: tuple[str, ...]) -> dict[str, tuple[str, ...]]:
        known = {**{name: lexicon[name] for name in deciding}}
        words = [word for name in deciding for word in lexicon[name]]
        everything = [word for entries in lexicon.values() for word in entries]
        table = {}
        for key, value in self.get(self.content, "goes_with", dict, {}).items():
            self.choice(key, f"goes_with.{key}", [*known, *words])
            names = self.words(value, f"goes_with.{key}")
            for name in names:
                if name not in lexicon:
                    self.choice(name, f"goes_with.{key}", everything)
            table[key] = tuple(word for name in names for word in lexicon.get(name, (name,)))
        return table

    def prior(self, pairs: Mapping[str, Any], lexicon: dict[str, tuple[str, ...]]) -> Prior | None:
        table = self.get(pairs, "pairs.prior", dict, None)
        if table is None:
            return None
        self.keys(table, "pairs.prior", ["lexicon", "share"])
        name = self.get(table, "pairs.prior.lexicon", str)
        share = self.get(table, "pairs.prior.share", float)
        if not 0.5 <= share < 1:
            self.fail("pairs.prior.share", f"{share} is not in [0.5, 1)")
        return Prior(lexicon=self.choice(name, "pairs.prior.lexicon", list(lexicon)), share=share)

    def sequence(self) -> TokenSequence:
        table = self.get(self.content, "sequence", dict)
        self.keys(table, "sequence", ["rule", "words", "length", "periods"])
        rule = self.choice(self.get(table, "sequence.rule", str), "sequence.rule", SEQUENCE_RULES)
        words = self.get(table, "sequence.words", int)
        length = self.get(table, "sequence.length", int)
        if length < 3:
            self.fail("sequence.length", f"{length} is too short; 3 or more")
        if rule == "triples":
            if "periods" in table:
                self.fail("sequence.periods", "unknown key for rule 'triples'")
            if length % 3 or words < 2 * length // 3:
                self.fail("sequence.length", f"{length} is not a multiple of 3 with {words} words for its triples")
            return TokenSequence(rule=rule, words=words, length=length)
        periods = self.get(table, "sequence.periods", list)
        if len(periods) != 2 or not all(isinstance(p, int) for p in periods):
            self.fail("sequence.periods", f"{periods!r} is not [smallest, largest]")
        low, high = periods
        if not 3 <= low <= high <= min(length - 1, words):
            self.fail(
                "sequence.periods",
                f"{periods!r} is not within 3 … {min(length - 1, words)} (a period of 1 or 2 cannot "
                "identify induction; the last token must repeat; tokens of a copy are distinct)",
            )
        return TokenSequence(rule=rule, words=words, length=length, periods=(low, high))

    def split(self, is_sequence: bool) -> Split:
        table = self.get(self.content, "split", dict)
        self.keys(
            table, "split", ["train", "validation", "held_out"] if is_sequence else ["method", "validation", "held_out"]
        )
        if is_sequence:
            counts = {side: self.get(table, f"split.{side}", int) for side in ("train", "validation", "held_out")}
            for side, count in counts.items():
                if count < 1:
                    self.fail(f"split.{side}", f"{count} leaves {side} empty; 1 or more")
            return Split(method="independent", **counts)
        method = self.choice(self.get(table, "split.method", str), "split.method", CLOZE_SPLITS)
        shares = {side: self.get(table, f"split.{side}", float) for side in ("validation", "held_out")}
        for side, share in shares.items():
            if not 0 < share < 1:
                self.fail(f"split.{side}", f"{share} is not a share between 0 and 1 and leaves a side empty")
        if sum(shares.values()) >= 1 and method != "reversed-pair":
            self.fail("split", f"validation + held_out = {sum(shares.values())} leaves train empty")
        if sum(shares.values()) > 1:
            self.fail("split", f"validation + held_out = {sum(shares.values())} is more than all pairs")
        return Split(method=method, **shares)
