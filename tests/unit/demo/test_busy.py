"""A demo on a busy machine says so, since its users are then slow for another reason than the version."""

import pytest

from demo.busy import warning_about


@pytest.mark.parametrize(("load", "cores"), [(0.0, 1), (4.0, 2), (15.9, 8)])
def test_a_machine_with_time_deserves_no_warning(load: float, cores: int) -> None:
    assert warning_about(load, cores) is None


def test_a_busy_machine_is_named_with_its_load_and_what_to_do() -> None:
    assert warning_about(9.81, 2) == (
        "This machine is busy: its load average is 9.8 on 2 cores. Latencies are measured on it, so a good"
        " version may be slow. Run the demo when nothing else runs."
    )
