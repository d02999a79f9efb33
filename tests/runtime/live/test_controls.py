"""Controls: accepted and refused values, messages, and waking of waiting threads."""

from __future__ import annotations

import threading

import pytest
from fastcam_runtime.errors import FastcamError
from fastcam_runtime.live.controls import Controls


def check_class(text: str) -> None:
    if text not in ("cat", "7"):
        raise FastcamError(f"no class {text!r}; closest: cat")


def test_start_values_are_checked_like_changes() -> None:
    controls = Controls(("overlay", "map"), "map", class_choice="cat", check_class=check_class)
    assert (controls.view, controls.class_choice, controls.paused) == ("map", "cat", False)
    with pytest.raises(FastcamError, match="no view 'mop'; one of overlay, map; closest: map"):
        Controls(("overlay", "map"), "mop")
    with pytest.raises(FastcamError, match="no class 'dog'"):
        Controls(("overlay",), class_choice="dog", check_class=check_class)
    with pytest.raises(FastcamError, match="no view to choose from"):
        Controls(())


def test_refused_change_changes_nothing() -> None:
    controls = Controls(("overlay", "map"), class_choice="7", check_class=check_class)
    before = controls.version
    for change in (lambda: controls.set_view("cam"), lambda: controls.set_class("dog")):
        with pytest.raises(FastcamError):
            change()
    assert (controls.view, controls.class_choice, controls.version) == ("overlay", "7", before)


def test_blank_class_is_the_highest_score() -> None:
    controls = Controls(("overlay",), class_choice="cat", check_class=check_class)
    controls.set_class("  ")
    assert controls.class_choice is None
    controls.set_class(" 7 ")
    assert controls.class_choice == "7"


def test_snapshot_is_taken_once() -> None:
    controls = Controls(("overlay",))
    assert not controls.take_snapshot_request()
    controls.request_snapshot()
    assert controls.take_snapshot_request()
    assert not controls.take_snapshot_request()


def test_waiting_ends_with_a_change_or_with_stop() -> None:
    controls = Controls(("overlay", "map"))
    for change in (
        lambda: controls.set_view("map"),
        lambda: controls.set_class("x"),
        controls.toggle_paused,
        lambda: controls.set_paused(False),
        controls.request_snapshot,
        controls.request_stop,
    ):
        version = controls.version
        woken: list[int] = []
        waiter = threading.Thread(target=lambda v=version, w=woken: w.append(controls.wait_change(v, 60)))
        waiter.start()
        change()
        waiter.join(20)
        assert woken == [version + 1]
    assert controls.stop.is_set()
    assert controls.wait_change(controls.version, 60) == controls.version
