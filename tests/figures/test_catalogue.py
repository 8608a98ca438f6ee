"""Every figure by name: drawn from hand-made results, with the numbers of its table, and what to do where one lacks."""

from __future__ import annotations

from dataclasses import replace
from xml.etree import ElementTree

import pytest

from findings_by_hand import estimate, found, result, value
from probe.errors import NotThere, ProbeError
from probe.figures.bars import Bars
from probe.figures.catalogue import ATTENTION, FIGURES, figure_of, keys_of, kind_of, missing
from probe.figures.circuit import Circuit
from probe.figures.figure import draw, figure_svg
from probe.figures.findings import grid, head_of, place_of, records
from probe.figures.heatmap import HeatMap
from probe.figures.lines import Lines


def part(name: str, title: str, findings=None):
    """The part of a figure with this title."""
    return next(one for one in figure_of(name, findings or found()).parts if one.title == title)


def cell(heatmap: HeatMap, row: str, column: str) -> float | None:
    return heatmap.values[heatmap.rows.index(row)][heatmap.columns.index(column)]


@pytest.mark.parametrize("name", FIGURES)
def test_every_figure_can_be_drawn_and_says_where_it_comes_from(name):
    figure = figure_of(name, found())
    svg = figure_svg(figure)
    root = ElementTree.fromstring(svg)
    assert (figure.name, figure.run) == (name, "a-run")
    assert figure.parts and figure.caption.endswith(".") and figure.title
    assert "0123456789abcdef" * 4 in svg and root.attrib["role"] == "img"
    assert len(svg) < 120_000
    assert draw(figure).width < 1400
    assert figure_svg(figure_of(name, found())) == svg, "the same results are the same file"
    assert figure._repr_svg_().startswith("<svg"), "a notebook shows it"


@pytest.mark.parametrize("name", FIGURES)
def test_one_layer_with_one_head_is_a_picture_too(name):
    ElementTree.fromstring(figure_svg(figure_of(name, found(layers=1, heads=1))))


def test_many_layers_stay_small():
    """Eight layers of eight heads, every effect strong: the strongest are drawn, and it is said what is not."""
    findings = found(layers=8, heads=8)
    svg = figure_svg(figure_of("trace", findings))
    assert len(svg) < 250_000
    assert "edges beside the 60 strongest" in svg


def test_a_missing_result_names_the_command():
    findings = replace(found(), results={})
    with pytest.raises(NotThere, match=r"run a-run holds no probes.* with: probe probes a-run"):
        figure_of("probes", findings)
    with pytest.raises(NotThere, match="evaluations"):
        figure_of("training", replace(findings, metrics=()))
    with pytest.raises(NotThere, match="accuracy"):
        figure_of("scores", findings)


def test_an_unknown_figure_names_the_nearest():
    with pytest.raises(ProbeError, match="'heads'"):
        kind_of("haeds")
    with pytest.raises(ProbeError, match="'attention'"):
        kind_of("atention")
    assert ATTENTION not in FIGURES


def test_what_a_figure_needs_and_takes_is_found_by_name():
    keys = ["trace-nodes-a", "trace-nodes-b", "heads", "formation-changes"]
    assert keys_of(kind_of("nodes"), keys) == ["trace-nodes-a", "trace-nodes-b"]
    assert missing(kind_of("trace"), keys) == ["trace-edges-*"]
    assert keys_of(kind_of("training"), keys) == ["formation-changes"]


# -- the numbers -----------------------------------------------------------------------------------------------------


def test_heads_stand_beside_floor_and_best_control():
    heatmap = part("heads", "previous token, induction")
    expected = value({"layer": 1, "head": 0}, "induction")
    assert cell(heatmap, "L1H0", "induction") == expected
    assert cell(heatmap, "floor", "induction") == 0.2
    assert cell(heatmap, "control, at most", "induction") == 0.25


def test_scores_of_another_maximum_have_a_map_of_their_own():
    rows = [
        {"layer": 0, "head": 0, "metric": "entropy", "value": 2.0, "floor": 2.3, "maximum": 2.7, "control": 2.3},
        {"layer": 0, "head": 0, "metric": "induction", "value": 0.9, "floor": 0.1, "maximum": 1.0, "control": 0.1},
    ]
    named = [{**row, "name": "induction" if row["metric"] == "induction" else ""} for row in rows]
    findings = replace(found(), results={"heads": result("heads", named)})
    first, second = figure_of("heads", findings).parts
    assert isinstance(first, HeatMap) and isinstance(second, HeatMap)
    assert (first.high, second.high) == (2.7, 1.0)
    assert second.rows[0] == "L0H0 induction"


def test_scores_stand_beside_the_untrained_model_with_their_intervals():
    first, _ = figure_of("scores", found()).parts
    assert isinstance(first, Bars)
    assert first.title == "held-out, n = 120"
    bar = first.bars[0]
    assert (bar.label, bar.beside[0][0], bar.maximum) == ("referent accuracy", "untrained", 1.0)
    assert (bar.value, bar.low, bar.high) == tuple(estimate("held_out", "trained", "referent accuracy").values())
    assert [bar.floor for bar in first.bars] == [None, 0.5]


def test_sweeps_stand_by_position_and_by_head():
    placed = part("sweeps", "adjective: noising")
    assert cell(placed, "resid_pre L1", "y 3") == estimate("resid_pre", 1, {"position": 3, "role": "y"})["value"]
    headed = part("sweeps", "adjective: noising, by head")
    assert cell(headed, "z L1", "H0") == estimate("z", {"layer": 1, "head": 0})["value"]


def test_nodes_of_both_directions_stand_at_their_positions():
    heatmap = part("nodes", "adjective: denoising")
    place = {"position": 4, "role": "adjective"}
    assert cell(heatmap, "L1H1", "adjective 4") == estimate("L1H1", place, "denoising")["value"]


def test_a_circuit_marks_the_words_that_differ():
    first, second = figure_of("trace", found()).parts
    assert isinstance(first, Circuit) and isinstance(second, Circuit)
    assert (first.changed, second.changed) == ((4,), (1, 3))
    assert first.words[5] == "answer's place"
    assert {edge.key for edge in first.edges} >= {"embedding>L0H0.q", "L0H1>MLP0", "MLP1>logits"}


def test_evidence_puts_the_controls_in_grey():
    bars = part("evidence", "adjective: faithfulness")
    assert isinstance(bars, Bars)
    first = bars.bars[0]
    assert (first.group, first.label) == ("nodes, all", "zero")
    assert [name for name, *_ in first.beside] == ["random", "untrained"]
    assert first.value == value("found", "node", "zero", "all")
    expected = estimate("random", "node", "zero", "all")
    assert first.beside[0][1:] == tuple(expected.values()), "a control has its interval too"
    groups = [bar.group for bar in bars.bars]
    assert groups == sorted(groups, key=groups.index), "bars of a group stand together"


def test_sizes_are_drawn_on_both_axes_with_random_circuits_as_controls():
    parts = figure_of("sizes", found()).parts
    assert [one.log_x for one in parts if isinstance(one, Lines)] == [False, True] * 2
    one = parts[0]
    assert isinstance(one, Lines)
    assert [(series.name, series.control) for series in one.series] == [("found", False), ("random", True)]
    assert one.series[0].points[0] == (0.0, 0.0)
    other = parts[1]
    assert isinstance(other, Lines)
    assert other.series[0].points[0] == (1.0, pytest.approx(1 / 30)), "nought has no place on a logarithmic axis"
    assert "area: found 0.75" in one.title and "area" not in other.title


def test_a_formation_is_dated_only_where_a_change_was_found():
    curves = part("formation", "induction")
    assert isinstance(curves, Lines)
    assert [(change.name, change.x, change.low) for change in curves.changes] == [("L0H0", 200.0, 150.0)]
    whole = part("formation", "accuracy")
    assert isinstance(whole, Lines)
    assert [series.name for series in whole.series] == ["model"]


def test_training_shows_strongest_heads_where_they_were_scored():
    titles = [one.title for one in figure_of("training", found()).parts]
    assert titles == ["Loss", "Held-out sentences", "Strongest head of each kind"]
    alone = replace(found(), results={})
    assert [one.title for one in figure_of("training", alone).parts] == titles[:2]


def test_signs_have_two_hues_and_shares_one():
    signed, share = part("lens", "logit difference"), part("lens", "probability")
    assert signed.diverging and not share.diverging
    assert share.high == 1.0
    assert signed.high == max(-value for row in signed.values for value in row), "the scale is as long on both sides"


def test_probes_leave_out_controls_and_bits_and_stack_what_is_left():
    assert {one.title for one in figure_of("probes", found()).parts} == {"first noun", "answer"}
    answer = part("probes", "answer")
    assert {row.split(":")[0] for row in answer.rows} == {"accuracy", "accuracy, untrained", "selectivity"}
    expected = estimate("resid_pre", 1, None, {"position": 3, "role": "y"}, "answer", "accuracy", "untrained")
    assert cell(answer, "accuracy, untrained: before layer 1", "y 3") == expected["value"]
    assert answer.floor == 0.1
    assert len(set(answer.rows)) == len(answer.rows) == 6


def test_signed_measures_have_a_map_of_their_own():
    findings = found()
    table = findings.results["probes"].table
    table = table.assign(value=table["value"].where(table["metric"] != "selectivity", -0.5))
    findings = replace(findings, results={"probes": replace(findings.results["probes"], table=table)})
    signed = part("probes", "answer: selectivity", findings)
    assert signed.diverging and cell(signed, "before layer 0", "x 1") == -0.5
    assert not part("probes", "answer", findings).diverging


# -- tables to heat maps ---------------------------------------------------------------------------------------------


def test_a_grid_keeps_gaps_and_the_order_of_its_rows():
    rows = [
        {"head": "b", "place": "y", "value": 1.0},
        {"head": "a", "place": "x", "value": 0.5},
        {"head": "a", "place": "y", "value": float("nan")},
    ]
    heatmap = grid(rows, lambda row: row["head"], lambda row: row["place"], title="t", unit="u")
    assert (heatmap.rows, heatmap.columns) == (("b", "a"), ("y", "x"))
    assert heatmap.values == ((1.0, None), (None, 0.5))
    assert (heatmap.high, heatmap.diverging) == (1.0, False)
    rows.append({"head": "a", "place": "x", "value": -3.0})
    heatmap = grid(rows, lambda row: row["head"], lambda row: row["place"], title="t", unit="u")
    assert (heatmap.high, heatmap.diverging) == (3.0, True)


def test_positions_stand_as_the_sentence_runs_and_rows_as_they_come():
    """The last layer has the last position alone; it stays among the layers, and the position at the end."""
    rows = [
        {"layer": 1, "position": 2, "role": "end", "value": 1.0},
        {"layer": 0, "position": 10, "role": "later", "value": 0.1},
        {"layer": 0, "position": -1, "role": "elsewhere", "value": 0.2},
        {"layer": 0, "position": 0, "role": "the", "value": 0.3},
    ]
    heatmap = grid(rows, head_of, place_of, title="t", unit="u")
    assert heatmap.rows == ("L1", "L0")
    assert heatmap.columns == ("the 0", "end 2", "later 10", "elsewhere")


def test_places_and_heads_are_named_as_the_field_names_them():
    assert head_of({"layer": 1, "head": 2}) == "L1H2"
    assert head_of({"layer": 1, "head": -1}) == "L1" and head_of({"layer": -1, "head": -1}) == "model"
    assert place_of({"position": 4, "role": "adjective"}) == "adjective 4"
    assert place_of({"position": -1, "role": "elsewhere"}) == "elsewhere"
    assert place_of({"position": 3, "role": None}) == "3"


def test_a_table_with_nothing_in_a_cell_gives_none():
    import pandas as pd

    table = pd.DataFrame({"head": pd.array([1, None], dtype="Int64"), "value": [0.5, None], "role": ["x", None]})
    rows = records(replace(result("t", []), table=table))
    assert rows[1] == {"head": None, "value": None, "role": None} and rows[0]["head"] == 1
