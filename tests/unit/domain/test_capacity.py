from __future__ import annotations

import pytest

from chaffinch.domain.capacity import canary_pods


@pytest.mark.parametrize(
    ("weight", "stable", "want"),
    [
        (100, 4, 1),
        (500, 4, 1),
        (2_000, 4, 1),
        (2_001, 4, 2),
        (2_500, 4, 2),
        (4_000, 4, 3),
        (4_999, 4, 4),
        (5_000, 4, 4),
        (9_900, 4, 4),
        (500, 1, 1),
        (500, 64, 4),
        (3_333, 2, 1),
    ],
)
def test_a_canary_pod_carries_no_more_than_a_stable_pod(weight: int, stable: int, want: int) -> None:
    pods = canary_pods(weight, stable)
    assert pods == want
    load_per_canary_pod, load_per_stable_pod = weight / pods, (10_000 - weight) / stable
    assert load_per_canary_pod <= load_per_stable_pod or pods == stable
