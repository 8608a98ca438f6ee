"""Two solvers made by hand, of one map and two mechanisms: the trace must tell them apart."""

from __future__ import annotations

from probe.lab.selftest.check import Check, nowhere


def solvers() -> list[Check]:
    """Same answers, same map of the deciding head, two mechanisms; and the nulls."""
    from probe.activations import cached
    from probe.analyses.trace import trace
    from probe.lab.tracing import contrasts_of
    from probe.models.handmade import gated_solver, two_hop_solver
    from probe.tasks.dataset import make_dataset
    from probe.tasks.spec import load_task
    from probe.training.loop import evaluate, training_data

    dataset = make_dataset(load_task("winograd-hard"))
    ids, lexicon = dataset.vocabulary.ids, dataset.spec.lexicon
    crosser, nouns = ([ids[word] for word in lexicon[name]] for name in ("crosser", "noun"))
    common = (len(ids), 18, dataset.train[0].positions, crosser, nouns)
    contrast, held_out = contrasts_of(dataset, pairs=16)[0], training_data(dataset).held_out
    models = {"two-hop solver": two_hop_solver(*common), "gated solver": gated_solver(*common, layer=1)}
    hops = {"two-hop solver": 2, "gated solver": 1}
    checks, maps = [], []
    for name, model in models.items():
        accuracy = evaluate(model, held_out).referent_accuracy
        checks.append(Check(metric="referent accuracy", oracle=name, expected=1, measured=accuracy))
        done = trace(model, contrast, nowhere())
        found = 2 if done.strategy.startswith("two hops") else 1 if done.strategy.startswith("one hop") else 0
        checks.append(Check(metric="trace: hops", oracle=name, expected=hops[name], measured=found, tolerance=0))
        edges = done.edges.table
        extra = sum(abs(value) > 0.01 for value in edges["value"]) - (3 if name == "two-hop solver" else 2)
        checks.append(Check(metric="trace: edges too many", oracle=name, expected=0, measured=extra, tolerance=0))
        for check, worst in done.checks.items():
            checks.append(Check(metric=f"null: {check}", oracle=name, expected=0, measured=worst))
        pattern = cached(model, contrast.clean, ["blocks.1.attn.hook_pattern"])[1]["blocks.1.attn.hook_pattern"]
        maps.append(pattern[:, 1, -1])
    same = float((maps[0] - maps[1]).abs().max())
    checks.append(Check(metric="map of the head that decides", oracle="the two solvers", expected=0, measured=same))
    return checks
