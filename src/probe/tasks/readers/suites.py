"""SyntaxGym test suites -> pairs of sentences: items with conditions, each condition a sentence in regions."""

from __future__ import annotations

import re
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from probe.errors import ProbeError, nearest
from probe.tasks.readers.questions import Ledger, Question, Reading

_COMPARISON = re.compile(r"\(\s*[^;()]+;\s*%([^%]+)%\s*\)\s*([<>])\s*\(\s*[^;()]+;\s*%([^%]+)%\s*\)")


def is_suite(value: Any) -> bool:
    """Whether a JSON value looks like a test suite."""
    return isinstance(value, dict) and isinstance(value.get("items"), list) and "conditions" in str(value["items"][:1])


def contrasts(value: Mapping[str, Any]) -> list[tuple[str, str]]:
    """The (good, bad) conditions that the suite's own predictions compare one to one: lower surprisal is good.

    >>> contrasts({"predictions": [{"formula": "[(7;%match%) < (7;%mismatch%)] & [(7;%a%) > (7;%b%)]"}]})
    [('match', 'mismatch'), ('b', 'a')]
    """
    found = []
    predictions = value.get("predictions")
    for prediction in predictions if isinstance(predictions, list) else []:
        formula = prediction.get("formula") if isinstance(prediction, dict) else None
        for left, sign, right in _COMPARISON.findall(formula if isinstance(formula, str) else ""):
            found.append((left, right) if sign == "<" else (right, left))
    return list(dict.fromkeys(found))


def suite(path: Path, value: Mapping[str, Any], ledger: Ledger, mapping: Mapping[str, str]) -> Reading:
    """One record an item, one pair a contrast. `--map good=CONDITION --map bad=CONDITION` chooses the contrast."""
    ledger.unit = "item"
    chosen = contrasts(value)
    names = _condition_names(value)
    if mapping:
        if set(mapping) != {"good", "bad"}:
            raise ProbeError(
                f"{path}: for a test suite give both --map good=CONDITION and --map bad=CONDITION; "
                f"conditions: {', '.join(names)}"
            )
        for name in mapping.values():
            if name not in names:
                raise ProbeError(f"{path}: no condition {name!r}; {nearest(name, names)}")
        chosen = [(mapping["good"], mapping["bad"])]
    if not chosen:
        raise ProbeError(
            f"{path}: the predictions compare no two single conditions; choose them with --map good=CONDITION "
            f"--map bad=CONDITION ({', '.join(names)})"
        )
    for number, item in enumerate(value["items"], start=1):
        try:
            sentences = {c["condition_name"]: _sentence(c["regions"]) for c in item["conditions"]}
            pairs = [(sentences[good], sentences[bad]) for good, bad in chosen]
        except (KeyError, TypeError, AttributeError) as error:
            ledger.malformed(number, f"an item without {error}")
            continue
        different = [pair for pair in pairs if pair[0] != pair[1] and all(pair)]
        if not different:
            ledger.malformed(number, "the conditions have the same words")
            continue
        group = f"item {item.get('item_number', number)}"
        ledger.add(*(Question(options=pair, answer=0, group=group, record=number) for pair in different))
    ledger.note("contrasts (good > bad): " + ", ".join(f"{good} > {bad}" for good, bad in chosen))
    return ledger.reading(format="SyntaxGym suite", kind="pair")


def _condition_names(value: Mapping[str, Any]) -> list[str]:
    names: dict[str, None] = {}
    for item in value["items"]:
        conditions = item.get("conditions") if isinstance(item, dict) else None
        for condition in conditions if isinstance(conditions, list) else []:
            if isinstance(condition, dict) and isinstance(condition.get("condition_name"), str):
                names[condition["condition_name"]] = None
    return list(names)


def _sentence(regions: list[Mapping[str, Any]]) -> str:
    """Join the regions; an empty region (a gap) adds nothing."""
    return " ".join(str(region["content"]).strip() for region in regions if str(region["content"]).strip())
