"""Solvers made by hand, of one map and several mechanisms: the trace must tell them apart."""

from __future__ import annotations

from typing import TYPE_CHECKING

from probe.lab.selftest.check import Check, nowhere

if TYPE_CHECKING:
    from probe.contrasts import Contrast
    from probe.models.transformer import Transformer
    from probe.tasks.dataset import Dataset


def solvers() -> list[Check]:
    """Same answers, same map of the deciding head, other mechanisms; and the nulls."""
    from probe.activations import cached
    from probe.analyses.trace import trace
    from probe.training.loop import evaluate, training_data

    dataset, contrast, models = _known()
    held_out = training_data(dataset).held_out
    hops = {"two-hop solver": 2, "gated solver": 1, "MLP-gated solver": 1}
    edges_known = {"two-hop solver": 3, "gated solver": 2, "MLP-gated solver": 3}
    checks, maps = [], []
    for name, model in models.items():
        accuracy = evaluate(model, held_out).referent_accuracy
        checks.append(Check(metric="referent accuracy", oracle=name, expected=1, measured=accuracy))
        done = trace(model, contrast, nowhere())
        found = 2 if done.strategy.startswith("two hops") else 1 if done.strategy.startswith("one hop") else 0
        checks.append(Check(metric="trace: hops", oracle=name, expected=hops[name], measured=found, tolerance=0))
        edges = done.edges.table
        extra = sum(abs(value) > 0.01 for value in edges["value"]) - edges_known[name]
        checks.append(Check(metric="trace: edges too many", oracle=name, expected=0, measured=extra, tolerance=0))
        for check, worst in done.checks.items():
            checks.append(Check(metric=f"null: {check}", oracle=name, expected=0, measured=worst))
        pattern = cached(model, contrast.clean, ["blocks.1.attn.hook_pattern"])[1]["blocks.1.attn.hook_pattern"]
        maps.append(pattern[:, 1, -1])
    same = max(float((maps[0] - other).abs().max()) for other in maps[1:])
    checks.append(Check(metric="map of the head that decides", oracle="the solvers", expected=0, measured=same))
    return checks


def evidence() -> list[Check]:
    """The known circuits again: all of the effect, nothing missing, nothing idle; the parts sum to the whole."""
    from torch import Generator

    from probe.analyses.attribution import attribution
    from probe.analyses.evidence import evidence as evidence_of
    from probe.models.transformer import initialised

    _, contrast, models = _known()
    checks = []
    for name, model in models.items():
        untrained = initialised(model.config, Generator().manual_seed(1))
        found = evidence_of(model, untrained, [contrast], nowhere(), draws=12)[0]
        shares = [
            row
            for row in found.faithfulness.table.to_dict("records")
            if row["metric"] == "faithfulness" and row["ablation"] == "other"
        ]
        whole = min(row["value"] for row in shares if row["circuit"] == "found")
        chance = next(row["value"] for row in shares if row["circuit"] == "random" and row["level"] == "edge")
        parts = found.subsets.table.to_dict("records")
        holes = max(row["value"] for row in parts if row["metric"] == "completeness")
        idle = min(row["value"] for row in parts if row["metric"] == "minimality")
        effects = attribution(model, contrast, nowhere())
        rest = float(effects.details["relative error of the sum"])
        checks += [
            Check(metric="faithfulness", oracle=f"{name}, its circuit", expected=1, measured=whole),
            Check(metric="faithfulness", oracle="… random, same size", expected=0, measured=chance, tolerance=0.2),
            Check(metric="completeness, worst subset", oracle=name, expected=0, measured=holes, tolerance=1e-3),
            Check(metric="minimality, idlest edge", oracle=name, expected=1, measured=idle, tolerance=1e-3),
            Check(metric="direct effects, rest of their sum", oracle=name, expected=0, measured=rest),
        ]
    return checks


def linear() -> list[Check]:
    """Even attention, no norm, no MLP: what a head says directly is all that it does, and patching finds the same."""
    import torch
    from torch import Generator

    from probe.analyses.attribution import answer_direction
    from probe.circuits import absent_values, edges_of, run_circuits
    from probe.contrasts import difference
    from probe.models.config import make_config
    from probe.models.transformer import initialised
    from probe.paths import nodes_of, record

    dataset, contrast, _ = _known()
    config = make_config("two-block", d_vocab=len(dataset.vocabulary), n_ctx=18, n_layers=1, d_mlp=0, norm="none")
    model = initialised(config, Generator().manual_seed(0))
    with torch.no_grad():
        for parameter in model.parameters():
            parameter *= 10.0  # so that effects stand above rounding
        model.blocks[0].attn.W_QKV[: 2 * config.n_heads * config.d_head] = 0.0  # pyright: ignore
        own, other = record(model, contrast.clean), record(model, contrast.other)
        absent = absent_values("other", own, other, Generator().manual_seed(0))
        nodes, edges = nodes_of(model), edges_of(model)
        without = torch.tensor([[edge.sender != node for edge in edges] for node in nodes[1:]])
        patched = difference(own.logits, contrast) - difference(run_circuits(model, own, absent, without), contrast)
        direction, _ = answer_direction(model, contrast, own.final[:, -1])
        said = torch.stack([((own.written[n] - other.written[n])[:, -1] * direction).sum(-1) for n in nodes[1:]])
        error = float((patched - said).abs().max() / said.abs().max())
    return [Check(metric="attribution - exact patching", oracle="linear model", expected=0, measured=error)]


def _known() -> tuple[Dataset, Contrast, dict[str, Transformer]]:
    """The task, its contrast on sixteen pairs, and the solvers."""
    from probe.lab.tracing import contrasts_of
    from probe.models.handmade import gated_solver, two_hop_solver
    from probe.tasks.dataset import make_dataset
    from probe.tasks.spec import load_task

    dataset = make_dataset(load_task("winograd-hard"))
    ids, lexicon = dataset.vocabulary.ids, dataset.spec.lexicon
    crosser, nouns = ([ids[word] for word in lexicon[name]] for name in ("crosser", "noun"))
    common = (len(ids), 18, dataset.train[0].positions, crosser, nouns)
    models = {
        "two-hop solver": two_hop_solver(*common),
        "gated solver": gated_solver(*common, layer=1),
        "MLP-gated solver": gated_solver(*common, layer=1, rewritten=True),
    }
    return dataset, contrasts_of(dataset, pairs=16)[0], models
