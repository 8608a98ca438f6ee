"""Linear probes: the optimum that scikit-learn finds, and values that are known without fitting."""

from __future__ import annotations

import math

import numpy as np
import pytest
import torch
from torch import Generator

from probe.logistic import HALVINGS, Probes, codelengths, fitted


def noise(*shape: int, seed: int = 0) -> torch.Tensor:
    return torch.randn(*shape, generator=Generator().manual_seed(seed))


def labels_of(n: int, n_labels: int, seed: int = 0) -> torch.Tensor:
    return torch.randint(n_labels, (n,), generator=Generator().manual_seed(seed))


@pytest.mark.parametrize("n_labels", [2, 5])
def test_the_optimum_is_scikit_learns(n_labels: int) -> None:
    """Same objective, two solvers: after enough steps the same probabilities, at every site of a batch."""
    from sklearn.linear_model import LogisticRegression

    features, labels = noise(3, 200, 6) + 4.0, labels_of(200, n_labels)
    features[:, torch.arange(200), labels % 6] += 1.0
    probes = fitted(features, labels, n_labels, steps=2000)
    for site in range(3):
        x = features[site].double().numpy()
        x = (x - x.mean(0)) / np.sqrt(((x - x.mean(0)) ** 2).mean())
        # of two labels scikit-learn fits one vector, of which ours holds one half with either sign: half the penalty
        peer = LogisticRegression(C=1.0 if n_labels > 2 else 2.0, tol=1e-10, max_iter=2000).fit(x, labels.numpy())
        ours = probes.log_probabilities(features)[site].exp().numpy()
        assert ours == pytest.approx(peer.predict_proba(x), abs=2e-3)


def test_sites_of_a_batch_do_not_know_of_each_other() -> None:
    features, labels = noise(4, 80, 5), labels_of(80, 3)
    together = fitted(features, labels, 3)
    alone = fitted(features[2:3], labels, 3)
    assert together.weights[2:3].numpy() == pytest.approx(alone.weights.numpy(), abs=1e-4)


def test_a_linear_function_is_read_and_noise_is_not() -> None:
    """Accuracy 1 on held-out rows of features that are linear in the label; the floor where they know nothing."""
    labels = labels_of(800, 4)
    carried = torch.nn.functional.one_hot(labels, 4).float() @ noise(4, 10)
    features = torch.stack([carried, noise(800, 10, seed=1)])
    right = fitted(features[:, :400], labels[:400], 4).right(features[:, 400:], labels[400:])
    assert right[0].mean() == 1.0
    assert float(right[1].mean()) == pytest.approx(0.25, abs=0.07)


def test_a_constant_feature_says_nothing_even_where_rounding_moves_it() -> None:
    labels = torch.arange(60) % 3
    features = torch.full((1, 60, 4), 7.3) + 1e-6 * torch.nn.functional.one_hot(labels, 4).float()
    probes = fitted(features, labels, 3)
    assert probes.log_probabilities(features).exp().numpy() == pytest.approx(1 / 3, abs=1e-2)


def test_a_tie_earns_its_share() -> None:
    nothing = Probes(weights=torch.zeros(1, 2, 4), biases=torch.zeros(1, 4))
    assert nothing.right(noise(1, 3, 2), torch.tensor([0, 1, 3])).tolist() == [[0.25, 0.25, 0.25]]


def test_a_representation_that_says_nothing_costs_the_uniform_code() -> None:
    """n log2 K bits, exactly for the first block; and the rest of balanced labels costs hardly more."""
    labels = torch.arange(640) % 4
    bits = codelengths(torch.zeros(1, 640, 3), labels, 4)
    assert bits[0, : 640 >> HALVINGS].tolist() == [2.0] * (640 >> HALVINGS)
    assert float(bits.sum()) == pytest.approx(640 * math.log2(4), rel=0.01)


def test_a_label_that_is_easy_to_learn_costs_few_bits_and_noise_costs_more() -> None:
    labels = labels_of(512, 2)
    easy = (2.0 * labels - 1).unsqueeze(-1)
    bits = codelengths(torch.stack([easy.expand(-1, 8), noise(512, 8)]), labels, 2).sum(-1)
    assert bits[0] < 40 < 512 <= bits[1]


def test_directions_are_orthonormal_and_hold_all_that_the_probe_reads() -> None:
    """What is orthogonal to them moves no probability."""
    features, labels = noise(2, 120, 7), labels_of(120, 3)
    probes = fitted(features, labels, 3)
    basis = probes.directions()
    assert basis.shape == (2, 7, 2)
    assert (basis.mT @ basis).numpy() == pytest.approx(np.stack([np.eye(2)] * 2), abs=1e-5)
    inside = features @ basis @ basis.mT
    moved = inside + 5.0 * (noise(2, 120, 7, seed=3) @ (torch.eye(7) - basis @ basis.mT))
    assert probes.log_probabilities(moved).numpy() == pytest.approx(
        probes.log_probabilities(features).numpy(), abs=1e-3
    )


def test_one_hot_word_identity_has_no_selectivity() -> None:
    """A probe that sees which word stands there learns labels that were dealt by lot as well (Hewitt & Liang 2019)."""
    words = torch.arange(160) % 8
    features = torch.nn.functional.one_hot(words, 8).float()[None]
    true, by_lot = words // 4, torch.tensor([0, 1, 0, 1, 1, 0, 1, 0])[words]
    scores = [fitted(features, labels, 2).right(features, labels).mean() for labels in (true, by_lot)]
    assert scores[0] - scores[1] == 0.0 and scores[0] == 1.0
