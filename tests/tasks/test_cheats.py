"""A task may claim to stop a cheat only where a count agrees."""

from __future__ import annotations

import pytest

from probe.tasks.dataset import make_dataset, order_blind_counts
from probe.tasks.spec import load_task, task_names


@pytest.mark.parametrize("name", task_names())
def test_a_task_that_claims_to_stop_the_bag_has_a_low_ceiling(name: str) -> None:
    spec = load_task(name)
    ceiling = order_blind_counts(make_dataset(spec)).ceiling
    if "bag-of-words" in spec.stops:
        assert ceiling <= 0.5
    elif spec.allows != ("leaky-split",):
        assert ceiling >= 0.9
