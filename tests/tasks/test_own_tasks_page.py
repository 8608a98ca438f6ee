"""The page on task files shows files that work, and names every value that the parser takes by name."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from probe.tasks.dataset import make_dataset, minimal_pairs, order_blind_counts
from probe.tasks.spec import CHEATS, CLOZE_SPLITS, SEQUENCE_RULES, load_task

PAGE = (Path(__file__).parents[2] / "docs" / "tasks.md").read_text(encoding="utf-8")
BLOCKS = re.findall(r"```toml\n(.*?)```", PAGE, re.DOTALL)


def test_the_first_file_of_the_page_is_a_task_without_the_cheats_that_it_stops(tmp_path: Path) -> None:
    path = tmp_path / "sale.toml"
    path.write_text(BLOCKS[0], encoding="utf-8")
    dataset = make_dataset(load_task(path))
    assert dataset.train[0].text == "ann sold dot the boat because of the debts , so ann was glad ."
    assert len(dataset.examples) == 8 * 7 * 2 * 4
    assert len(minimal_pairs(dataset.held_out)) == len(dataset.held_out) / 2
    counts = order_blind_counts(dataset)
    assert (counts.ceiling, counts.transfer.accuracy) == (0.5, 0.0), "the page states these"


def test_every_other_file_of_the_page_generates_too(tmp_path: Path) -> None:
    assert len(BLOCKS) == 2
    path = tmp_path / "repeats.toml"
    path.write_text(BLOCKS[1], encoding="utf-8")
    dataset = make_dataset(load_task(path))
    assert {side: len(examples) for side, examples in dataset.sides.items()} == {
        "train": 400,
        "validation": 40,
        "held_out": 80,
    }


@pytest.mark.parametrize("value", [*CHEATS, *CLOZE_SPLITS, *SEQUENCE_RULES, "lexicon", "any"])
def test_every_value_is_named(value: str) -> None:
    assert re.search(rf'[`"]{value}[`"]', PAGE)
