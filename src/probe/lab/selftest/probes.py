"""Probes and interchange where it is known what stands where: in features made by hand, and in both solvers."""

from __future__ import annotations

from probe.lab.selftest.check import Check, nowhere


def linear_probes() -> list[Check]:
    """A linear function of the label, word identity, and features that know nothing."""
    import torch

    from probe.logistic import codelengths, fitted

    words = torch.arange(320) % 8
    role, by_lot = words % 2, words // 2 % 2  # by lot: either role has as many words of each
    identity, nothing = torch.nn.functional.one_hot(words, 8).float()[None], torch.zeros(1, 320, 8)

    def accuracy(features: torch.Tensor, labels: torch.Tensor) -> float:
        return float(fitted(features[:, :160], labels[:160], 2).right(features[:, 160:], labels[160:]).mean())

    linear = identity @ torch.randn(8, 8, generator=torch.Generator().manual_seed(0))
    selectivity = accuracy(identity, role) - accuracy(identity, by_lot)
    bits = float(codelengths(nothing, role, 2).sum())
    return [
        Check(
            metric="probe accuracy", oracle="a linear map of one-hot words", expected=1, measured=accuracy(linear, role)
        ),
        Check(metric="probe accuracy", oracle="features of zeros", expected=0.5, measured=accuracy(nothing, role)),
        Check(metric="selectivity", oracle="one-hot words", expected=0, measured=selectivity),
        Check(metric="codelength in bits", oracle="features of zeros", expected=320, measured=bits, tolerance=3.2),
    ]


def interchanges() -> list[Check]:
    """Which variables each solver carries where: the role is a variable of its own only in one of the two."""
    from probe.analyses.interchange import interchange
    from probe.lab.variables import swaps_of
    from probe.models.handmade import gated_solver, two_hop_solver
    from probe.tasks.dataset import make_dataset
    from probe.tasks.spec import load_task

    dataset = make_dataset(load_task("winograd-hard"))
    ids, lexicon = dataset.vocabulary.ids, dataset.spec.lexicon
    crosser, nouns = ([ids[word] for word in lexicon[name]] for name in ("crosser", "noun"))
    common = (len(ids), 18, dataset.train[0].positions, crosser, nouns)
    models = {"two-hop solver": two_hop_solver(*common), "gated solver": gated_solver(*common, layer=1)}
    swaps = swaps_of(dataset, dataset.held_out, 16)
    word = {"first noun": "x", "second noun": "y", "adjective's role": "adjective", "answer": "answer's place"}
    read_in_layer_1 = {
        "two-hop solver": {"second noun": "y"},
        "gated solver": {"second noun": "y", "adjective's role": "adjective", "first noun": "answer's place"},
    }
    checks = []
    for oracle, model in models.items():
        rows = interchange({"trained": model}, swaps, nowhere()).table.to_dict("records")
        of = [row for row in rows if row["metric"] == "interchange accuracy"]
        for variable, place in word.items():
            at = {(r["kind"], r["layer"], r["role"]): r["value"] for r in of if r["variable"] == variable}
            expected = {("resid_post", 1, place)} if variable == "answer" else {("resid_pre", 0, place)}
            if variable in read_in_layer_1[oracle]:
                expected.add(("resid_pre", 1, read_in_layer_1[oracle][variable]))
            least = min(at[site] for site in expected)
            others = sum(value == 1.0 for site, value in at.items() if site not in expected)
            checks.append(Check(metric=f"interchange: {variable}", oracle=oracle, expected=1, measured=least))
            checks.append(Check(metric="… places too many", oracle=oracle, expected=0, measured=others, tolerance=0))
    return checks
