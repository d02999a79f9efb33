"""How long the network rests before a live frame, learned from durations that are told here."""

from __future__ import annotations

import pytest
from fastcam_runtime.live.resting import Rest


def waited(rest: Rest, sink: float, network: float) -> float:
    """How long a result waits for the sinks to finish the one before, and the rest learned from it."""
    left = max(0.0, sink - rest.seconds - network)
    rest.learn(left)
    return left


@pytest.mark.parametrize(("sink", "network"), [(0.3, 0.02), (0.1, 0.05), (2.0, 0.5)])
def test_a_frame_is_read_late_and_not_too_late(sink: float, network: float) -> None:
    rest = Rest()
    waits = [waited(rest, sink, network) for _ in range(20)]
    assert waits[0] == pytest.approx(sink - network)
    assert all(0 < wait < 0.25 * (sink - network) for wait in waits[1:])


def test_a_slow_network_never_rests() -> None:
    rest = Rest()
    for _ in range(20):
        waited(rest, sink=0.02, network=0.05)
        assert rest.seconds == 0


def test_a_sink_that_is_slow_once_delays_no_frame() -> None:
    rest = Rest()
    for sink in [0.05] * 10 + [3.0] + [0.05] * 10:
        waited(rest, sink, network=0.02)
        assert rest.seconds < 0.03


def test_a_sink_that_becomes_fast_is_not_kept_waiting() -> None:
    rest = Rest()
    for _ in range(10):
        waited(rest, sink=0.3, network=0.02)
    waited(rest, sink=0.02, network=0.02)
    assert rest.seconds == 0
