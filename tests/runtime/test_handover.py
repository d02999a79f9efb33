"""The queue between two threads."""

from __future__ import annotations

import threading
import time

from fastcam_runtime.handover import Handover


def test_in_order_and_never_more_than_its_size() -> None:
    queue: Handover[int] = Handover(2)
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


def test_what_passes_is_replaced_by_newer_and_nothing_else_is() -> None:
    queue: Handover[int] = Handover(passing=lambda number: number > 0)
    for number in (1, 2, 3):
        assert queue.put(number)
    assert (queue.get(), queue.replaced) == (3, 2)
    for waiting, then in ((-1, 4), (5, -2)):
        queue.put(waiting)
        giver = threading.Thread(target=queue.put, args=(then,))
        giver.start()
        assert (queue.get(), queue.get()) == (waiting, then)
        giver.join()
    queue.put(6)
    queue.end()
    assert not queue.put(7)
    assert (queue.get(), queue.replaced) == (6, 2)


def test_what_is_there_can_be_taken_after_the_end() -> None:
    queue: Handover[str] = Handover()
    assert queue.put("last")
    queue.end()
    assert not queue.over
    assert not queue.put("too late")
    assert queue.get() == "last"
    assert queue.get() is None
    assert queue.over


def test_dropping_frees_a_giver_and_a_taker() -> None:
    full: Handover[int] = Handover()
    full.put(1)
    empty: Handover[int] = Handover()
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
    assert Handover[int]().get(timeout=0.01) is None
