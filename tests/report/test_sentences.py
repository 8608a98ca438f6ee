"""Sentences are made from numbers: with other numbers they read differently."""

from __future__ import annotations

from typing import Any

import pytest

from probe.report import sentences

Row = dict[str, Any]


def rate(value: float, spread: float = 0.02) -> Row:
    return {"value": value, "low": value - spread, "high": value + spread, "n": 240}


def test_the_verdict_depends_on_the_interval_and_the_ceiling() -> None:
    above = sentences.does_it_work(rate(0.9), rate(0.1), 0.5, 0.0)
    within = sentences.does_it_work(rate(0.5, 0.1), rate(0.1), 0.5, 0.0)
    below = sentences.does_it_work(rate(0.2), rate(0.1), 0.5, 0.0)
    assert "more than any order-blind answer" in above
    assert "not told apart" in within
    assert "less than the best" in below
    cheated = sentences.does_it_work(rate(0.9), None, 1.0, 1.0)
    assert "less than" in cheated, "a bag that answers everything makes 90 % nothing"


def test_what_order_is_worth_has_three_readings() -> None:
    said = {sentences.worth_of_order(ceiling, 0.0).split(":")[0] for ceiling in (0.5, 0.8, 1.0)}
    assert len(said) == 3


def test_a_row_is_said_as_it_is() -> None:
    tokens = ["a", "b", "c", "d"]
    assert "spreads" in sentences.looks_said("block 1", tokens, [0.25, 0.25, 0.25, 0.25])
    assert "rests on b@1 (0.90)" in sentences.looks_said("block 1", tokens, [0.1, 0.9, 0.0, 0.0])
    assert "hardly changes" in sentences.moved("block 1", tokens, [0.01, -0.01, 0.0, 0.0], ("x", "y"))
    assert "away from a@0 (-0.80)" in sentences.moved("block 1", tokens, [-0.8, 0.8, 0.0, 0.0], ("x", "y"))


@pytest.mark.parametrize("n", [1, 2, 3, 20, 40])
def test_every_row_rests_on_something_or_spreads(n: int) -> None:
    """What holds nearly all of a row is never called spread, however short the prompt; and nothing is left unsaid."""
    tokens = [f"w{i}" for i in range(n)]
    one = sentences.looks_said("block 1", tokens, [0.04 / n] * (n - 1) + [1 - 0.04 * (n - 1) / n])
    assert f"rests on w{n - 1}@{n - 1}" in one
    above = 2.5 / n if n > 5 else 1.0
    said = sentences.looks_said("block 1", tokens, [above] + [(1 - above) / max(1, n - 1)] * (n - 1))
    assert "rests on w0@0" in said


def test_runs_that_were_not_traced_are_no_way_to_the_answer() -> None:
    said = sentences.ways_said("adjective", {"one hop": 3}, 1)
    assert said.endswith("in the same way in all 3 runs that were traced (1 was not): one hop.")
    assert sentences.ways_said("adjective", {}, 2) == "The adjective was traced in none of 2 runs."
    assert "different" not in sentences.ways_said("adjective", {"one hop": 1}, 1)


def test_no_way_is_not_a_way_that_runs_share() -> None:
    none = "no circuit of one or two hops: no single layer's reading carries half of it"
    said = sentences.ways_said("adjective", {none: 3})
    assert said.startswith("The adjective reaches the answer in neither one hop nor two in any of 3 runs")
    assert "the one run that was traced" in sentences.ways_said("adjective", {none: 1})
    said = sentences.ways_said("adjective", {"one hop": 2, none: 1}, 1)
    assert said.endswith("in all 2 runs that were traced (1 was not), where it has a name (in 1 it has none): one hop.")
    said = sentences.ways_said("adjective", {"A": 1, none: 1}, 1)
    assert said.endswith("by A in the one run that was traced (1 was not), where it has a name (in 1 it has none).")
    assert sentences.ways_said("adjective", {"A": 2, "B": 2, "C": 1}).endswith(
        "the commonest, in 2 of them each: A; and B."
    )


def test_all_places_that_have_no_role_are_none() -> None:
    rows = [
        {"layer": 0, "head": head, "role": role, "value": value}
        for head, at in enumerate(({"query": 0.06, "elsewhere": 0.94}, {"query": 0.8, "elsewhere": 0.2}))
        for role, value in at.items()
    ]
    assert sentences.roles_said(rows).endswith(
        "1 head of 2 looks at one role with half of its weight: L0H1 at query (0.80)."
    )
    assert sentences.roles_said(rows[:2]).startswith("Over held-out sentences no head")


def test_the_edges_of_two_runs_are_one_pair_and_have_no_spread() -> None:
    row = {"value": 0.5, "low": None, "high": None}
    said = sentences.shared_edges({"by what they do": row, "by number": row})
    assert "0.50 of the edges of two runs are shared, 0.50" in said


def test_edges_are_all_of_a_list_or_among_it() -> None:
    rows = [{"subject": f"k{i}", "value": 1.0, "n": 3} for i in range(6)]
    assert sentences.common_kinds(rows).endswith("6 stand in every run, among them k0, k1, k2 and k3.")
    assert sentences.common_kinds(rows[:2]).endswith("2 stand in every run: k0 and k1.")
    once = {"subject": "seen where one run alone was traced", "value": 1.0, "n": 1}
    assert sentences.common_kinds([*rows[:2], once]).endswith("2 stand in every run: k0 and k1.")


def test_a_head_that_looks_and_causes_nothing_is_named() -> None:
    looked = {"L0H0": 0.9, "L1H1": 0.9, "L1H2": 0.2}
    assert sentences.silent_lookers(looked, {"L1H1": 0.5}).startswith("L0H0 puts")
    assert "also causes" in sentences.silent_lookers(looked, {"L0H0": 0.5, "L1H1": 0.5})
    assert "No head puts half" in sentences.silent_lookers({"L0H0": 0.1}, {})


def test_faithfulness_is_a_range_beside_its_control() -> None:
    rows = [
        {"circuit": "found", "level": "edge", "value": value, "metric": "faithfulness"} for value in (-0.1, 0.9, None)
    ] + [{"circuit": "random", "level": "edge", "value": 0.05, "metric": "faithfulness"}]
    said = sentences.faithful(9, 23, rows)
    assert "-10.0 % to 90.0 %" in said and "over 2 ways" in said and "random" in said
    nothing = [{"circuit": "found", "level": "edge", "value": None}]
    assert "nothing to be faithful to" in sentences.faithful(9, 23, nothing)


def test_a_circuit_that_never_suffices_is_said_to() -> None:
    rows = [{"circuit": "found", "edges": edges, "value": value} for edges, value in ((1, 0.0), (10, 0.95))]
    rows.append({"circuit": "random", "edges": 10, "value": 0.02})
    assert "strongest 10 of 10 edges keep 95.0 %" in sentences.smallest(rows)
    assert "No circuit" in sentences.smallest([{"circuit": "found", "edges": 10, "value": 0.5}])


def test_the_lens_says_when_or_that_it_never_does() -> None:
    def lens(values: list[float]) -> list[Row]:
        kinds = [("resid_pre", 0), ("resid_mid", 0), ("resid_post", 0)]
        return [{"kind": k, "layer": n, "position": 3, "value": v} for (k, n), v in zip(kinds, values, strict=True)]

    assert "after the attention of layer 0" in sentences.lens_said(lens([0.0, 4.0, 5.0]))
    assert "after layer 0" in sentences.lens_said(lens([0.0, 0.0, 5.0]))
    assert "does not favour" in sentences.lens_said(lens([0.0, 0.0, -1.0]))


def test_who_writes_and_who_works_through_others() -> None:
    rows = [{"node": n, "metric": "direct", "value": v} for n, v in (("L1H0", 5.0), ("L0H0", 0.0))]
    rows += [{"node": n, "metric": "total", "value": v} for n, v in (("L1H0", 5.0), ("L0H0", 3.0))]
    said = sentences.writers(rows)
    assert "L1H0 writes +5.00" in said and "only through later parts matters L0H0 (+3.00)" in said
    assert "sum to 0" in sentences.writers([{"node": "L0H0", "metric": "direct", "value": 0.0}])


def test_seeds_and_training() -> None:
    solved = {"n": 16, "count": 16, "low": 0.8, "high": 1.0}
    assert "every one solved" in sentences.over_seeds(solved)
    assert "none solved" in sentences.over_seeds({**solved, "count": 0})
    steps = [{"step": s, "validation": {"referent_accuracy": a}} for s, a in ((0, 0.0), (50, 0.6), (100, 1.0))]
    assert "one half by step 50 and nine tenths by step 100" in sentences.learned_at(steps)
    assert "never reached nine tenths" in sentences.learned_at(steps[:2])
    assert "never reached one half" in sentences.learned_at(steps[:1])


def test_changes_that_were_not_found_are_not_dated() -> None:
    none = {"step": None, "low": None, "high": None, "before": None, "after": None}
    model = {"metric": "accuracy", "layer": -1, "head": -1, "step": 110.0, "low": 85.0, "high": 130.0, "before": 0.0}
    head = {"metric": "induction", "layer": 1, "head": 2, "step": 200.0, "low": 150.0, "high": 250.0, "before": 0.1}
    rows = [{**head, **none}, {**head, "after": 0.9}, {**model, "after": 1.0}]
    said = sentences.changes_said(rows)
    assert said == "Change points, fitted: accuracy at step 110 [85, 130] and L1H2 induction at step 200 [150, 250]."
    assert sentences.changes_said([{**head, **none}]) == "No curve has a change point that could be dated."
    assert sentences.changes_said([]) == ""
