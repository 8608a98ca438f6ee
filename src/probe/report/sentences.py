"""Plain English made from numbers: each sentence would read differently if they did.

Every function takes rows of a result and returns a sentence; where the numbers say nothing, it says that.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

Row = Mapping[str, Any]

CLEAR = 0.1
"""Effects below this share of the logit difference are called no effect."""


def percent(share: float) -> str:
    """A share in percent, with a digit where that is not all.

    >>> percent(1.0), percent(0.936), percent(-0.0001)
    ('100 %', '93.6 %', '0.0 %')
    """
    if share in (0.0, 1.0):
        return f"{100 * share:.0f} %"
    return f"{round(100 * share, 1) + 0.0:.1f} %"


def interval(row: Row) -> str:
    """The 95 % interval of a share.

    >>> interval({"low": 0.886, "high": 1.0})
    '95 % interval 88.6 % to 100 %'
    """
    return f"95 % interval {percent(row['low'])} to {percent(row['high'])}"


def effect(row: Row) -> str:
    """An effect with its interval.

    >>> effect({"value": 0.5, "low": -0.001, "high": 1.0})
    '+0.50 [0.00, +1.00]'
    """
    return f"{signed(row['value'])} [{signed(row['low'])}, {signed(row['high'])}]"


def signed(value: float) -> str:
    """Two decimals with a sign, except for what rounds to 0."""
    said = f"{value:+.2f}"
    return "0.00" if float(said) == 0 else said


def listed(words: Iterable[str]) -> str:
    """Words in a row.

    >>> listed(["a", "b", "c"])
    'a, b and c'
    """
    all_words = list(words)
    if len(all_words) < 2:
        return "".join(all_words)
    return f"{', '.join(all_words[:-1])} and {all_words[-1]}"


def counted(n: int, noun: str) -> str:
    """A number and its noun.

    >>> counted(1, "head"), counted(3, "head")
    ('1 head', '3 heads')
    """
    return f"{n:,} {noun}{'' if n == 1 else 's'}"


# -- what was asked, does it work ----------------------------------------------------------------------------------


def worth_of_order(ceiling: float, transfer: float) -> str:
    """What the order of words is worth, from the two exact counts."""
    if ceiling >= 0.999:
        start = (
            "The words alone tell every answer, whatever their order: a model that solves this task has shown nothing "
        )
        start += "about attention."
    elif ceiling > 0.55:
        start = (
            f"The words alone, blind to their order, can tell up to {percent(ceiling)} of the answers: only what a "
            "model "
        )
        start += "has above that needs order."
    else:
        start = (
            f"The words alone, blind to their order, can tell at most {percent(ceiling)} of the answers: whoever has "
            "more "
        )
        start += "has used their order."
    return f"{start} A table of bags of words learned from train scores {percent(transfer)} on held_out."


def does_it_work(trained: Row, untrained: Row | None, ceiling: float, transfer: float) -> str:
    """The verdict on held_out."""
    said = (
        f"It names the right word in {percent(trained['value'])} of {trained['n']} held-out sentences "
        f"({interval(trained)})"
    )
    floor = max(ceiling, transfer)
    if trained["low"] > floor:
        said += f": more than any order-blind answer can have ({percent(floor)})."
    elif trained["high"] < floor:
        said += f": less than the best order-blind answer could have ({percent(floor)})."
    else:
        said += f": not told apart from the best order-blind answer ({percent(floor)})."
    if untrained is not None:
        said += f" Before training it named {percent(untrained['value'])}."
    return said


def over_seeds(solved: Mapping[str, float]) -> str:
    """How many of the seeds solve the task."""
    n, count = int(solved["n"]), int(solved["count"])
    how = "every one" if count == n else "none" if count == 0 else f"{count}"
    return f"Of {n} seeds trained alike, {how} solved it on held_out ({interval(solved)})."


# -- where it looks ------------------------------------------------------------------------------------------------


def looks_said(block: str, tokens: Sequence[str], row: Sequence[float]) -> str:
    """What a row of attention rests on.

    >>> looks_said("block 2", ["the", "dog", "barked"], [0.05, 0.85, 0.1])
    'block 2 rests on dog (0.85) and barked (0.10)'
    """
    top = sorted(range(len(row)), key=lambda i: -row[i])[:3]
    if row[top[0]] < 2 / len(row):
        return f"{block} spreads over all words (at most {row[top[0]]:.2f}, on {tokens[top[0]]})"
    kept = [i for i in top if row[i] >= 0.1]
    return f"{block} rests on {listed(f'{tokens[i]} ({row[i]:.2f})' for i in kept)}"


def as_the_chapter(tokens: Sequence[str], row: Iterable[float]) -> str:
    """A row of attention in words, as the chapter prints it.

    >>> as_the_chapter(["the", "dog"], [0.03, 0.97])
    'dog:0.97'
    """
    return (
        " ".join(f"{token}:{weight:.2f}" for token, weight in zip(tokens, row, strict=False) if weight >= 0.05)
        or "spread"
    )


def moved(block: str, tokens: Sequence[str], change: Sequence[float], words: tuple[str, str]) -> str:
    """What the changed word moves in a row."""
    order = sorted(range(len(change)), key=lambda i: -abs(change[i]))
    if abs(change[order[0]]) < 0.05:
        return f"{block} hardly changes (by at most {abs(change[order[0]]):.2f}) between {words[0]} and {words[1]}"
    gained = [i for i in order[:3] if change[i] >= 0.05]
    lost = [i for i in order[:3] if change[i] <= -0.05]
    said = [f"to {listed(f'{tokens[i]} ({change[i]:+.2f})' for i in gained)}"] if gained else []
    said += [f"away from {listed(f'{tokens[i]} ({change[i]:+.2f})' for i in lost)}"] if lost else []
    return f"{block} moves {' and '.join(said)} when {words[0]} becomes {words[1]}"


# -- what causes it ------------------------------------------------------------------------------------------------


def strongest_edges(contrast: str, edges: Sequence[Row]) -> str:
    """Which edges carry a contrast."""
    strong = sorted((e for e in edges if abs(e["value"]) >= CLEAR), key=lambda e: -abs(e["value"]))
    if not strong:
        return f"No single edge carries as much as {CLEAR:.0%} of the {contrast}."
    first = strong[0]
    return (
        f"{counted(len(strong), 'edge')} of {len(edges)} carry {CLEAR:.0%} or more of the {contrast} by themselves; "
        "the "
        f"strongest, {first['sender']} → {arrival(first)}, {effect(first)}."
    )


def arrival(edge: Row) -> str:
    """The receiving end of an edge, with its port."""
    port = {"q": "queries", "k": "keys", "v": "values"}.get(edge["port"])
    return f"{edge['receiver']} ({port})" if port else str(edge["receiver"])


def loudest_places(nodes: Sequence[Row]) -> str:
    """Which parts at which places lose the most."""
    noising = sorted((r for r in nodes if r["metric"] == "noising"), key=lambda r: -abs(r["value"]))
    strong = [row for row in noising if abs(row["value"]) >= CLEAR]
    if not strong:
        return f"No part at any one place carries as much as {CLEAR:.0%}."
    said = listed(f"{row['node']} at {row['role']} ({row['value']:+.2f})" for row in strong[:3])
    places = sorted({row["position"] for row in strong})
    return (
        f"{counted(len(strong), 'part')} of {len(noising)} carry {CLEAR:.0%} or more, at "
        f"position{'s' if len(places) > 1 else ''} "
        f"{listed(map(str, places))}; the most: {said}."
    )


def silent_lookers(looked: Mapping[str, float], caused: Mapping[str, float]) -> str:
    """Heads that look hard at one word from the answer's place, and cause nothing there: a map is no mechanism."""
    idle = [head for head, weight in looked.items() if weight >= 0.5 and abs(caused.get(head, 0.0)) < CLEAR]
    busy = [head for head, weight in looked.items() if weight >= 0.5 and abs(caused.get(head, 0.0)) >= CLEAR]
    if not idle and not busy:
        return "No head puts half of its attention on one word at the answer's place."
    if not idle:
        return (
            f"Every head that puts half of its attention on one word there ({listed(busy)}) also causes something "
            "there."
        )
    said = (
        f"{listed(idle)} put{'s' if len(idle) == 1 else ''} half of their attention or more on one word at the "
        "answer's place "
    )
    said += f"and {'causes' if len(idle) == 1 else 'cause'} nothing there (below {CLEAR:.0%})"
    return said + (f"; {listed(busy)} do both." if busy else ".")


# -- where it is carried, how good the circuit is ------------------------------------------------------------------


def sweeps_said(contrast: str, rows: Sequence[Row]) -> str:
    """At which places the stream before each layer carries a contrast."""
    said = []
    for layer in sorted({row["layer"] for row in rows}):
        at = [r for r in rows if r["layer"] == layer and r["metric"] == "noising" and abs(r["value"]) >= 0.25]
        places = listed(f"{r['role']} {r['position']} ({signed(r['value'])})" for r in at)
        said.append(f"before layer {layer} {f'at {places}' if places else 'at no single place'}")
    return f"The {contrast} is carried {'; '.join(said)}."


def lens_said(rows: Sequence[Row]) -> str:
    """When the stream at the answer's place first says the answer; rows of the logit difference."""
    last = max(row["position"] for row in rows)
    at_end = [row for row in rows if row["position"] == last]
    final = at_end[-1]
    if final["value"] <= 0:
        return f"At the end the stream does not favour the answer (logit difference {signed(final['value'])})."
    first = next(row for row in at_end if row["value"] >= final["value"] / 2)
    where = {"resid_pre": "before", "resid_mid": "after the attention of", "resid_post": "after"}[first["kind"]]
    return (
        f"At the answer's place the stream first holds half of the answer {where} layer {first['layer']} (logit "
        "difference "
        f"{signed(first['value'])} of {signed(final['value'])} at the end)."
    )


def writers(rows: Sequence[Row]) -> str:
    """Who writes the answer itself, and who matters only through others."""
    direct = {row["node"]: row["value"] for row in rows if row["metric"] == "direct"}
    total = {row["node"]: row["value"] for row in rows if row["metric"] == "total"}
    whole = sum(direct.values())
    if abs(whole) < 1e-6:
        return "No part writes towards the answer: the direct effects sum to 0."
    top = sorted(direct, key=lambda node: -abs(direct[node]))[:3]
    said = f"Of a logit difference of {whole:.2f}, {listed(f'{node} writes {signed(direct[node])}' for node in top)}"
    through = [n for n in total if n != "embedding" and abs(total[n]) >= 0.2 * abs(whole) > 2 * abs(direct.get(n, 0.0))]
    if through:
        them = listed(f"{node} ({signed(total[node])})" for node in through)
        said += f"; only through later parts {'matters' if len(through) == 1 else 'matter'} {them}"
    return f"{said}."


def faithful(size: int, edges: int, rows: Sequence[Row]) -> str:
    """The range of faithfulness over all ways of asking, beside random circuits; rows of faithfulness."""
    ours = [row for row in rows if row["circuit"] == "found" and row["value"] is not None]
    if not ours:
        return "There is nothing to be faithful to: the model's own effect cannot be told from 0."
    low, high = min(row["value"] for row in ours), max(row["value"] for row in ours)
    said = (
        f"{size} of {edges} edges keep {percent(low)} to {percent(high)} of the effect, over {len(ours)} ways of asking"
    )
    for level in ("edge", "node"):
        random = [
            r["value"] for r in rows if r["circuit"] == "random" and r["level"] == level and r["value"] is not None
        ]
        if random:
            said += f"; random circuits of as many {level}s {percent(min(random))} to {percent(max(random))}"
    return f"{said}. A single number of these would be a choice."


def smallest(rows: Sequence[Row]) -> str:
    """From how many edges on a circuit keeps nine tenths, and what a random one keeps then."""
    found = sorted((row for row in rows if row["circuit"] == "found"), key=lambda row: row["edges"])
    whole = found[-1]["edges"]
    enough = next((row for row in found if row["value"] >= 0.9), None)
    if enough is None:
        return f"No circuit of up to {whole} edges keeps nine tenths of the effect."
    random = next((r["value"] for r in rows if r["circuit"] == "random" and r["edges"] == enough["edges"]), None)
    beside = f" A random circuit of that size keeps {percent(random)} on average." if random is not None else ""
    return f"The strongest {enough['edges']} of {whole} edges keep {percent(enough['value'])} of the effect.{beside}"


def holes(rows: Sequence[Row]) -> str:
    """The largest hole, and how many edges are idle."""
    complete = [row for row in rows if row["metric"] == "completeness"]
    minimal = [row for row in rows if row["metric"] == "minimality"]
    said = []
    if complete:
        worst = max(complete, key=lambda row: abs(row["value"]))
        said.append(f"The largest hole is {worst['value']:.2f} ({worst['subset']})")
    if minimal:
        idle = sum(abs(row["value"]) < 0.05 for row in minimal)
        said.append(f"{idle} of {len(minimal)} edges are idle (below 0.05)")
    return f"{'; '.join(said)}."


# -- what is present -----------------------------------------------------------------------------------------------


def readable(rows: Sequence[Row]) -> str:
    """For each target where a probe reads it best, and by how much it beats its control."""
    said = []
    for target in dict.fromkeys(row["target"] for row in rows):
        own = [r for r in rows if r["target"] == target and r["value"] is not None]
        of_trained = [r for r in own if r["metric"] == "accuracy" and r["condition"] == "trained"]
        if not of_trained:
            continue
        best = max(of_trained, key=lambda row: row["value"])
        more = next((r for r in own if r["metric"] == "selectivity" and _same_place(r, best)), None)
        beside = f", {signed(more['value'])} above its control task" if more else ""
        said.append(f"{target} best {_place(best)} ({percent(best['value'])}{beside})")
    return f"Read off: {'; '.join(said)}. Presence is not use." if said else "No probe was fitted."


def interchanged(rows: Sequence[Row]) -> str:
    """For each variable the places at which swapping it works, layer by layer, beside the untrained model."""
    wanted = [r for r in rows if r["metric"] == "interchange accuracy" and r["value"] is not None]
    if not wanted:
        return "No variable was swapped."
    said = []
    for variable in dict.fromkeys(row["variable"] for row in wanted):
        own = [r for r in wanted if r["variable"] == variable]
        works = [r for r in own if r["condition"] == "trained" and r["value"] >= 0.5 and r["kind"] == "resid_pre"]
        layers = sorted({r["layer"] for r in works})
        places = [f"{listed(r['role'] for r in works if r['layer'] == n)} (before layer {n})" for n in layers]
        said.append(f"{variable} at {', then '.join(places)}" if places else f"{variable} nowhere")
    blank = [r["value"] for r in wanted if r["condition"] == "untrained"]
    beside = f" In the untrained model it works in at most {percent(max(blank))} of the pairs." if blank else ""
    return f"Swapping works in half of the pairs or more: {'; '.join(said)}.{beside}"


def _same_place(a: Row, b: Row) -> bool:
    return a["condition"] == b["condition"] and all(
        a.get(key) == b.get(key) for key in ("kind", "layer", "head", "position")
    )


def _place(row: Row) -> str:
    where = {"resid_pre": "before", "resid_mid": "within", "resid_post": "after"}.get(str(row.get("kind")), "in")
    return f"{where} layer {row['layer']:.0f} at {row['role']}"


def rows_said(rows: Sequence[Row]) -> str:
    """Which block's row changes with the word in the slot; rows of block means over fillers."""
    said = []
    for layer in sorted({row["layer"] for row in rows}):
        spread: dict[Any, list[float]] = {}
        for row in rows:
            if row["layer"] == layer:
                spread.setdefault((row["role"], row["position"]), []).append(row["value"])
        (role, _), values = max(spread.items(), key=lambda item: max(item[1]) - min(item[1]))
        extent = max(values) - min(values)
        if extent < 0.05:
            said.append(f"block {layer + 1} is the same for all of them (within {extent:.2f})")
        else:
            said.append(f"block {layer + 1} differs most at {role}: {min(values):.2f} to {max(values):.2f}")
    fillers = len({row["filler"] for row in rows})
    return f"Over {fillers} words in the slot, {'; '.join(said)}."


def roles_said(rows: Sequence[Row]) -> str:
    """Where each layer's heads look from the answer's place, on average over sentences."""
    trained = [row for row in rows if row.get("condition", "trained") == "trained"]
    top: dict[tuple[int, int], Row] = {}
    for row in trained:
        head = (row["layer"], row["head"])
        if head not in top or row["value"] > top[head]["value"]:
            top[head] = row
    hard = [
        f"L{layer}H{head} at {row['role']} ({row['value']:.2f})"
        for (layer, head), row in top.items()
        if row["value"] >= 0.5
    ]
    if not hard:
        return "Over held-out sentences no head puts half of its attention on one role."
    return (
        f"Over held-out sentences {counted(len(hard), 'head')} of {len(top)} look at one role with half of their "
        f"weight: {listed(hard)}."
    )


# -- heads, training -----------------------------------------------------------------------------------------------


def named_heads(rows: Sequence[Row]) -> str:
    """Which heads earn a name."""
    names: dict[str, list[str]] = {}
    for row in rows:
        if row.get("name"):
            names.setdefault(row["name"], []).append(f"L{row['layer']}H{row['head']}")
    if not names:
        return "No head earns a name: on random repeated sequences none scores 0.50 or more and above its control."
    return (
        "; ".join(f"{listed(heads)}: {name} head{'s' if len(heads) > 1 else ''}" for name, heads in names.items()) + "."
    )


def composed(rows: Sequence[Row]) -> str:
    """Whether any pair of heads composes more than chance in the weights; rows from the largest down."""
    first = rows[0]
    times = first["value"] / first["control"]
    pair = (
        f"{first['sender']} → {first['receiver']} ({first['metric']}), {first['value']:.3f}, {times:.1f} times chance"
    )
    if times < 1.5:
        return f"No pair of heads stands out: the largest score is that of {pair}."
    above = sum(row["value"] >= 1.5 * row["control"] for row in rows)
    return (
        f"{counted(above, 'pairing')} of {len(rows)} score 1.5 times chance or more; the largest: {pair}. It says "
        "what could."
    )


def learned_at(metrics: Sequence[Row]) -> str:
    """When validation accuracy passed a half and nine tenths."""
    last = metrics[-1]
    reached = {
        level: next((row["step"] for row in metrics if row["validation"]["referent_accuracy"] >= level), None)
        for level in (0.5, 0.9)
    }
    end = f"at the end (step {last['step']}) it stands at {percent(last['validation']['referent_accuracy'])}"
    if reached[0.5] is None:
        return f"Validation accuracy never reached one half; {end}."
    if reached[0.9] is None:
        return f"Validation accuracy passed one half by step {reached[0.5]} and never reached nine tenths; {end}."
    return f"Validation accuracy passed one half by step {reached[0.5]} and nine tenths by step {reached[0.9]}; {end}."


def changes_said(rows: Sequence[Row]) -> str:
    """Dated change points."""
    said = [f"{row['metric']} at step {row['step']:.0f} [{row['low']:.0f}, {row['high']:.0f}]" for row in rows[:4]]
    return f"Change points, fitted: {listed(said)}." if said else ""


# -- several runs ------------------------------------------------------------------------------------------------------


def ways_said(contrast: str, by_strategy: Mapping[str, int]) -> str:
    """In how many ways a contrast reaches the answer, over runs."""
    runs = sum(by_strategy.values())
    most, count = max(by_strategy.items(), key=lambda item: item[1])
    if len(by_strategy) == 1:
        return f"The {contrast} reaches the answer in the same way in all {runs} runs: {most}."
    start = f"The {contrast} reaches the answer in {len(by_strategy)} different ways in {runs} runs"
    return f"{start}; no two do the same." if count == 1 else f"{start}; the commonest, in {count} of them: {most}."


def shared_edges(overlap: Mapping[str, Row]) -> str:
    """How much of their circuits runs share, heads paired by what they do or by their number."""
    ours, blind = overlap["by what they do"], overlap["by number"]
    alike = "No pairing of heads makes" if ours["value"] <= blind["value"] else "Pairing heads by what they do makes"
    return (
        f"{alike} the circuits more alike: {ours['value']:.2f} of the edges of two runs are shared "
        f"[{ours['low']:.2f}, {ours['high']:.2f}], {blind['value']:.2f} where heads are paired by their numbers."
    )


def common_kinds(rows: Sequence[Row]) -> str:
    """How many kinds of edges all runs have; rows by the share of runs."""
    if not rows:
        return "No run has an edge that carries a tenth of the effect."
    everywhere = [row["subject"] for row in rows if row["value"] == 1.0]
    if not everywhere:
        return f"Of {counted(len(rows), 'kind')} of edges none stands in every run."
    return f"Of {counted(len(rows), 'kind')} of edges {len(everywhere)} stand in every run: {listed(everywhere[:4])}."
