"""Head scores on maps made by hand and on an induction model made by hand; composition of rank-1 pairs."""

from __future__ import annotations

from collections.abc import Callable

from probe.lab.selftest.check import Check, nowhere


def maps() -> list[Check]:
    """Each score on the map that it is made for, and on those that it is not."""
    import torch

    from probe.analyses.heads import duplicate_token, first_token, induction, previous_token, uniform_floor

    period, n = 5, 10
    eye = torch.eye(n)
    maps = {
        "identity": eye,
        "previous": torch.diag(torch.ones(n - 1), -1),
        "sink": torch.zeros(n, n).index_fill(1, torch.tensor([0]), 1.0),
        "induction": torch.diag(torch.ones(n - period + 1), 1 - period),
        "duplicate": torch.diag(torch.ones(n - period), -period),
    }
    scores: dict[str, Callable[[torch.Tensor], torch.Tensor]] = {
        "previous token": previous_token,
        "first token": first_token,
        "duplicate token": lambda pattern: duplicate_token(pattern, period),
        "induction": lambda pattern: induction(pattern, period),
    }
    kinds = {"previous": "previous token", "sink": "first token", "induction": "induction"}
    kinds["duplicate"] = "duplicate token"
    # early queries of these maps look at position 0, and should: no value is known to be 0 there
    undecided = {(name, "first token") for name in ("previous", "induction", "duplicate")}
    undecided |= {("sink", "previous token"), ("sink", "duplicate token")}
    checks = []
    for name, pattern in maps.items():
        for score, function in scores.items():
            if (name, score) not in undecided:
                expected, measured = float(kinds.get(name) == score), float(function(pattern))
                checks.append(Check(metric=score, oracle=f"{name} map", expected=expected, measured=measured))
    floor = sum(1 / (q + 1) for q in range(period, 2 * period)) / period
    measured = uniform_floor("induction", period)
    return [*checks, Check(metric="induction", oracle="uniform map", expected=floor, measured=measured)]


def induction() -> list[Check]:
    """An induction model made by hand: its heads, what it copies, and what is left without layer 0."""
    import torch

    from probe.activations import intervened
    from probe.analyses.heads import copying_scores, head_scores, repeats
    from probe.models.handmade import induction_model

    model, oracle = induction_model(), "hand-made induction model"
    rows = head_scores(model, 24, 48, nowhere(), n=8).table.to_dict("records")
    of_layer = {(row["layer"], row["metric"]): row["value"] for row in rows}
    previous, prefix = of_layer[0, "previous token"], of_layer[1, "induction"]
    copying = copying_scores(model)
    right, without, n = 0.0, 0.0, 0
    for sample in repeats(24, 48, 8, torch.Generator().manual_seed(1)):
        tokens, period = sample.tokens, sample.period
        for ablated in (False, True):
            edits = {"blocks.0.attn.hook_z": torch.zeros_like} if ablated else {}
            said = intervened(model, tokens, edits)[0][:, period:-1].argmax(-1)
            share = float((said == tokens[:, period + 1 :]).float().mean())
            right, without = (right, without + share) if ablated else (right + share, without)
        n += 1
    chance = 0.06  # without layer 0 nothing is known; a guess is right about once in the vocabulary
    return [
        Check(metric="previous token", oracle=f"{oracle}, L0H0", expected=1, measured=previous),
        Check(metric="induction", oracle=f"{oracle}, L1H0", expected=1, measured=prefix),
        Check(metric="copying", oracle=f"{oracle}, L1H0", expected=1, measured=float(copying[1, 0])),
        Check(metric="repeat accuracy", oracle=oracle, expected=1, measured=right / n),
        Check(metric="repeat accuracy", oracle="… layer 0 ablated", expected=0, measured=without / n, tolerance=chance),
    ]


def weights() -> list[Check]:
    """Two heads of rank 1 that compose fully, or not at all."""
    from probe.analyses.heads import composition
    from probe.models.handmade import rank_one_pair

    first, second = rank_one_pair(8, compose=True)
    known = {
        "rank-1 pair that composes": (composition(first, second), 1),
        "… read transposed": (composition(first, second.T), 0),
        "rank-1 pair that does not": (composition(*rank_one_pair(8, compose=False)), 0),
    }
    return [
        Check(metric="composition", oracle=oracle, expected=expected, measured=measured)
        for oracle, (measured, expected) in known.items()
    ]
