"""What a run reached, as text: its scores beside the untrained model and what needs no model at all."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from probe.intervals import bootstrap_interval, share_interval
from probe.tasks.dataset import OrderBlind

_RATES = ("referent_accuracy", "distractor_rate", "pair_accuracy")
_HEADER = (
    f"{'':24}{'referent':>10}{'wrong noun':>12}{'pair':>10}\n{'':24}{'accuracy':>10}{'of the pair':>12}{'accuracy':>10}"
)


def sparkline(values: Sequence[float], width: int = 40, high: float = 1.0) -> str:
    """Values from 0 to `high` as blocks of eight heights, at most `width` of them, evenly spaced, first and last kept.

    >>> sparkline([0.0, 0.5, 1.0])
    '▁▅█'
    """
    n = min(width, len(values))
    chosen = [values[round(i * (len(values) - 1) / max(1, n - 1))] for i in range(n)]
    return "".join("▁▂▃▄▅▆▇█"[min(7, max(0, round(value / high * 7.49)))] for value in chosen)


def run_text(summary: Mapping[str, Any], counts: OrderBlind, metrics: Sequence[Mapping[str, Any]] = ()) -> str:
    """The table of one run, and its accuracy along training as a line of blocks."""
    rate = summary["steps"] / summary["seconds"] if summary["seconds"] else 0.0
    lines = [
        f"{summary['task']} · {summary['variant']} · seed {summary['seed']} · {summary['parameters']:,} parameters · "
        f"{summary['steps']} steps in {summary['seconds']:.1f} s ({rate:.0f} a second)",
        "",
        _HEADER,
    ]
    for side in ("validation", "held_out"):
        for name, scores in (("trained", summary[side]), ("untrained", summary["untrained"][side])):
            ties = f"   {scores['ties']} ties" if scores["ties"] else ""
            lines.append(_row(f"{side if name == 'trained' else '':12}{name}", scores) + f"   n = {scores['n']}{ties}")
    if len(metrics) > 1:
        line = sparkline([row["held_out"]["referent_accuracy"] for row in metrics])
        lines += ["", f"held_out along training: {line} steps {metrics[0]['step']} to {metrics[-1]['step']}"]
    lines += ["", *_floor(counts), "", f"saved in {summary['path']}"]
    return "\n".join(lines)


def sweep_text(summaries: Sequence[Mapping[str, Any]], counts: OrderBlind) -> str:
    """The table over seeds, on held_out, with intervals over seeds."""
    first, total = summaries[0], sweep_summary(summaries)
    lines = [
        f"{first['task']} · {first['variant']} · {len(summaries)} seeds · {first['parameters']:,} parameters · "
        "scores on held_out",
        "",
        _HEADER,
    ]
    for summary in summaries:
        lines.append(_row(f"seed {summary['seed']}", summary["held_out"]) + f"   {summary['steps']} steps")
    solved = total["solved"]
    lines += [
        "",
        _row("mean over seeds", total["held_out"]["mean"]),
        _row("  95 % from", total["held_out"]["low"]),
        _row("         to", total["held_out"]["high"]),
        _row("untrained, mean", total["untrained"]["mean"]),
        "",
        f"solved (100 % on held_out): {solved['count']} of {solved['n']} seeds, "
        f"95 % interval {solved['low']:.0%} to {solved['high']:.0%}",
        *_floor(counts),
        "",
        f"saved in {str(first['path']).rsplit('/', 1)[0]}/, newest {summaries[-1]['run']}",
    ]
    return "\n".join(lines)


def sweep_summary(summaries: Sequence[Mapping[str, Any]]) -> dict[str, Any]:
    """Mean and 95 % interval over training seeds of each rate on held_out, and how many seeds solved the task."""
    solved = sum(summary["held_out"]["referent_accuracy"] == 1.0 for summary in summaries)
    low, high = share_interval(solved, len(summaries))
    return {
        "held_out": _spread([summary["held_out"] for summary in summaries]),
        "validation": _spread([summary["validation"] for summary in summaries]),
        "untrained": _spread([summary["untrained"]["held_out"] for summary in summaries]),
        "solved": {"count": solved, "n": len(summaries), "low": low, "high": high},
        "interval": "95 %: percentile bootstrap over seeds; for the share of seeds that solved it, Wilson",
    }


def _spread(scores: Sequence[Mapping[str, Any]]) -> dict[str, dict[str, float]]:
    values = {rate: [float(score[rate]) for score in scores] for rate in _RATES}
    intervals = {rate: bootstrap_interval(of_rate) for rate, of_rate in values.items()}
    return {
        "mean": {rate: sum(of_rate) / len(of_rate) for rate, of_rate in values.items()},
        "low": {rate: intervals[rate][0] for rate in _RATES},
        "high": {rate: intervals[rate][1] for rate in _RATES},
    }


def _row(name: str, scores: Mapping[str, Any]) -> str:
    return f"{name:24}{scores[_RATES[0]]:>10.1%}{scores[_RATES[1]]:>12.1%}{scores[_RATES[2]]:>10.1%}"


def _floor(counts: OrderBlind) -> list[str]:
    return [
        f"without word order: best possible {counts.ceiling:.1%} over all sentences; "
        f"a table of bags learned from train {counts.transfer.accuracy:.1%} on held_out",
    ]
