"""The queue between two threads, and the delay before a live frame is read."""

from __future__ import annotations

import threading
import time

import pytest
from fastcam_runtime.live.backpressure import HandoffQueue, ReadDelay


def test_in_order_and_never_more_than_its_size() -> None:
    queue: HandoffQueue[int] = HandoffQueue(2)
    ahead = []

    def give() -> None:
        for i in range(200):
            queue.put(i)
            ahead.append(i)
        queue.end()

    thread = threading.Thread(target=give)
    thread.start()
    taken = []
    while (item := queue.get()) is not None:
        taken.append(item)
        assert len(ahead) <= len(taken) + 3
    thread.join()
    assert taken == list(range(200))
    assert queue.over


def test_a_giver_can_wait_for_a_place_before_it_has_an_item() -> None:
    queue: HandoffQueue[int] = HandoffQueue()
    assert queue.wait_free()
    queue.put(1)
    answers: list[bool] = []
    giver = threading.Thread(target=lambda: answers.append(queue.wait_free()))
    giver.start()
    time.sleep(0.05)
    assert not answers
    assert queue.get() == 1
    giver.join(5)
    assert answers == [True]
    queue.end()
    assert not queue.wait_free()


def test_what_is_there_can_be_taken_after_the_end() -> None:
    queue: HandoffQueue[str] = HandoffQueue()
    assert queue.put("last")
    queue.end()
    assert not queue.over
    assert not queue.put("too late")
    assert queue.get() == "last"
    assert queue.get() is None
    assert queue.over


def test_dropping_frees_a_giver_and_a_taker() -> None:
    full: HandoffQueue[int] = HandoffQueue()
    full.put(1)
    empty: HandoffQueue[int] = HandoffQueue()
    answers: list[object] = []
    threads = [
        threading.Thread(target=lambda: answers.append(full.put(2))),
        threading.Thread(target=lambda: answers.append(empty.get())),
    ]
    for thread in threads:
        thread.start()
    time.sleep(0.05)
    assert not answers
    full.drop()
    empty.drop()
    for thread in threads:
        thread.join(5)
    assert sorted(map(str, answers)) == ["False", "None"]


def test_a_taker_does_not_wait_longer_than_it_says() -> None:
    assert HandoffQueue[int]().get(timeout=0.01) is None


def waited(delay: ReadDelay, sink: float, network: float) -> float:
    """How long a result waits for slow sinks, and the delay learned from it."""
    left = max(0.0, sink - delay.seconds - network)
    delay.learn(left)
    return left


@pytest.mark.parametrize(("sink", "network"), [(0.3, 0.02), (0.1, 0.05), (2.0, 0.5)])
def test_a_frame_is_read_late_and_not_too_late(sink: float, network: float) -> None:
    delay = ReadDelay()
    waits = [waited(delay, sink, network) for _ in range(20)]
    assert waits[0] == pytest.approx(sink - network)
    assert all(0 < wait < 0.25 * (sink - network) for wait in waits[1:])


def test_a_slow_network_never_rests() -> None:
    delay = ReadDelay()
    for _ in range(20):
        waited(delay, sink=0.02, network=0.05)
        assert delay.seconds == 0


def test_a_sink_that_is_slow_once_delays_no_frame() -> None:
    delay = ReadDelay()
    for sink in [0.05] * 10 + [3.0] + [0.05] * 10:
        waited(delay, sink, network=0.02)
        assert delay.seconds < 0.03


def test_a_sink_that_becomes_fast_is_not_kept_waiting() -> None:
    delay = ReadDelay()
    for _ in range(10):
        waited(delay, sink=0.3, network=0.02)
    waited(delay, sink=0.02, network=0.02)
    assert delay.seconds == 0
