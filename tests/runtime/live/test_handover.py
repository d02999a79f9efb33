"""The queue between two threads."""

from __future__ import annotations

import threading
import time

from fastcam_runtime.live.handover import Handover


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


def test_a_giver_can_wait_for_a_place_before_it_has_an_item() -> None:
    queue: Handover[int] = Handover()
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
