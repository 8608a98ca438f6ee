"""Head scores on maps and models made by hand; composition of rank-1 pairs; a change point whose date is known."""

from __future__ import annotations

import math
from collections.abc import Callable

from probe.lab.selftest.check import Check, nowhere


def maps() -> list[Check]:
    """Each score on the map that it is made for, and on those that it is not."""
    import torch

    from probe.analyses.heads import duplicate_token, entropy, first_token, induction, previous_token, uniform_floor

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
    uniform = torch.ones(n, n).tril() / torch.arange(1, n + 1)[:, None]
    last = {"uniform map": float(entropy(uniform)[-1]), "identity map": float(entropy(eye)[-1])}
    words = uniform_floor("effective tokens", period)
    return [
        *checks,
        Check(metric="induction", oracle="uniform map", expected=floor, measured=measured),
        Check(metric="entropy, nats", oracle="uniform map", expected=math.log(n), measured=last["uniform map"]),
        Check(metric="entropy, nats", oracle="identity map", expected=0, measured=last["identity map"]),
        Check(metric="effective tokens", oracle="uniform map", expected=(n + 2) / 2, measured=words),
    ]


def induction() -> list[Check]:
    """An induction model made by hand: its heads, what it copies, and what is left without layer 0."""
    import torch

    from probe.activations import intervened
    from probe.analyses.copying import copying_scores, direct_copying
    from probe.analyses.heads import head_scores, in_context_score, repeats
    from probe.models.handmade import SHARP, induction_model

    model, oracle = induction_model(), "hand-made induction model"
    rows = head_scores(model, 24, 48, nowhere(), n=8).table.to_dict("records")
    of_layer = {(row["layer"], row["metric"]): row["value"] for row in rows}
    previous, prefix = of_layer[0, "previous token"], of_layer[1, "induction"]
    copying = copying_scores(model)
    right, without, n = 0.0, 0.0, 0
    drawn = repeats(24, 48, 8, torch.Generator().manual_seed(1))
    for sample in drawn:
        tokens, period = sample.tokens, sample.period
        for ablated in (False, True):
            edits = {"blocks.0.attn.hook_z": torch.zeros_like} if ablated else {}
            said = intervened(model, tokens, edits)[0][:, period:-1].argmax(-1)
            share = float((said == tokens[:, period + 1 :]).float().mean())
            right, without = (right, without + share) if ablated else (right + share, without)
        n += 1
    direct = float(direct_copying(model, drawn[-1].tokens)[1, 0].mean())
    # in the first copy no word is found: L1H0 says each word from position 1 on alike, and the right one is none of
    # them; in the second it is sure
    lost = [math.log(24 - i + i * math.exp(SHARP / i)) if i else SHARP for i in range(24)]
    in_context = -sum(sum(lost[: each.period - 1]) / (each.period - 1) for each in drawn) / len(drawn)
    chance = 0.06  # without layer 0 nothing is known; a guess is right about once in the vocabulary
    return [
        Check(metric="previous token", oracle=f"{oracle}, L0H0", expected=1, measured=previous),
        Check(metric="induction", oracle=f"{oracle}, L1H0", expected=1, measured=prefix),
        Check(metric="copying, eigenvalues", oracle=f"{oracle}, L1H0", expected=1, measured=float(copying[1, 0])),
        Check(metric="copying, direct path", oracle=f"{oracle}, L1H0", expected=1, measured=direct),
        Check(
            metric="in-context score, nats", oracle=oracle, expected=in_context, measured=in_context_score(model, drawn)
        ),
        Check(metric="repeat accuracy", oracle=oracle, expected=1, measured=right / n),
        Check(metric="repeat accuracy", oracle="… layer 0 ablated", expected=0, measured=without / n, tolerance=chance),
    ]


def weights() -> list[Check]:
    """Two heads of rank 1 that compose fully, or not at all."""
    from probe.analyses.composition import composition
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


def rows() -> list[Check]:
    """Where the answer's place of a hand-made solver looks: known for every role and every adjective."""
    from probe.analyses.answer_rows import MEAN, answer_rows, head_roles
    from probe.lab.heads import prompts_of
    from probe.models.handmade import two_hop_solver
    from probe.tasks.dataset import make_dataset
    from probe.tasks.spec import load_task

    dataset = make_dataset(load_task("winograd-hard"))
    ids, lexicon = dataset.vocabulary.ids, dataset.spec.lexicon
    crosser, nouns = ([ids[word] for word in lexicon[name]] for name in ("crosser", "noun"))
    model = two_hop_solver(len(ids), 18, dataset.train[0].positions, crosser, nouns)
    prompts, oracle = prompts_of(dataset), "two-hop solver"
    roles = head_roles({"trained": model}, prompts, nowhere()).table.to_dict("records")
    rows = answer_rows(model, prompts, nowhere()).table.to_dict("records")
    by_role = {(row["layer"], row["head"], row["role"], row["position"]): row["value"] for row in roles}
    by_word = {(row["layer"], row["head"], row["filler"], row["role"]): row["value"] for row in rows}
    mean = by_word[1, MEAN, "tired", "adjective"] - by_word[1, 0, "tired", "adjective"] / 2
    known = {
        "attention by role: first noun": (by_role[0, 0, "x", 1], f"{oracle}, L0H0", 1.0),
        "attention by role: adjective": (by_role[1, 1, "adjective", 11], f"{oracle}, L1H1", 0.5),
        "answer row, tired: adjective": (by_word[1, 1, "tired", "adjective"], f"{oracle}, L1H1", 1.0),
        "answer row, wet: second noun": (by_word[1, 1, "wet", "y"], f"{oracle}, L1H1", 1.0),
        "answer row, mean over heads": (mean, f"{oracle}, layer 1", 0.5),
    }
    return [
        Check(metric=metric, oracle=where, expected=expected, measured=measured)
        for metric, (measured, where, expected) in known.items()
    ]


def dates() -> list[Check]:
    """The change point of a curve that jumps between two checkpoints, and of curves that do not change."""
    import numpy as np

    from probe.change_points import candidate_steps, find_changes

    at = np.arange(0, 825, 25)
    steps, noise = candidate_steps(at.tolist()), np.random.default_rng(1).normal(0, 0.1, (100, len(at)))
    (found,) = find_changes(np.where(at < 410, 0.1, 0.9).tolist(), steps)
    logistic = 0.5 / (1 + np.exp(-(at - 410) / 20))
    dated = [find_changes(curve, steps) for curve in (noise + logistic).tolist()]
    inside = sum(any(each.low <= 410 <= each.high for each in changes) for changes in dated) / len(noise)
    stairs = find_changes(np.select([at < 210, at < 570], [0.0, 1.0], 3.0).tolist(), steps)
    trends = sum(bool(find_changes(curve, steps)) for curve in (noise + at / 800).tolist())
    spurious = sum(bool(find_changes(curve, steps)) for curve in noise.tolist())
    return [
        Check(metric="change point", oracle="jump in 400 … 425", expected=412.5, measured=found.at),
        Check(metric="change point, second", oracle="stairs", expected=562.5, measured=stairs[-1].at),
        Check(
            metric="change point: 95 % covers",
            oracle="slow step in noise",
            expected=0.95,
            measured=inside,
            tolerance=0.05,
        ),
        Check(metric="curves dated, of 100", oracle="noise", expected=0, measured=spurious, tolerance=2),
        Check(
            metric="curves dated, of 100", oracle="straight lines in noise", expected=0, measured=trends, tolerance=2
        ),
    ]
