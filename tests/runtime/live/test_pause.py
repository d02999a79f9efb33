"""The states of a pause, without a loop around them."""

from __future__ import annotations

import threading

import pytest
from fastcam_runtime.live.controls import Choice, Controls
from fastcam_runtime.live.pause import Pause, State

VIEWS = ("overlay", "map", "side")
OVERLAY, MAP, SIDE = (Choice(view, None) for view in VIEWS)


@pytest.fixture
def controls() -> Controls:
    return Controls(VIEWS)


@pytest.mark.parametrize(("recording", "held"), [(False, State.FROZEN), (True, State.RECORDING)])
def test_the_switch_of_the_controls_changes_the_state(
    controls: Controls, recording: bool, held: State
) -> None:
    pause: Pause[int] = Pause(controls, recording=recording)
    states = [pause.state]
    for paused in (True, True, False, True):
        controls.set_paused(paused)
        states.append(pause.state)
    assert states == [State.RUNNING, held, held, State.RUNNING, held]


def test_the_last_photo_stays_whatever_the_switch_says(controls: Controls) -> None:
    pause: Pause[int] = Pause(controls, recording=False)
    pause.keep_last_photo()
    for paused in (False, True, False):
        controls.set_paused(paused)
        assert pause.state is State.FROZEN


@pytest.mark.parametrize("recording", [False, True])
def test_only_a_frozen_loop_waits(controls: Controls, recording: bool) -> None:
    pause: Pause[int] = Pause(controls, recording=recording)
    assert pause.wait(MAP) is None
    controls.set_paused(recording)
    assert pause.wait(MAP) is None


def test_a_choice_that_was_made_before_the_wait_is_not_missed(controls: Controls) -> None:
    pause: Pause[int] = Pause(controls, recording=False)
    controls.set_paused(True)
    controls.set_view("side")
    assert pause.wait(OVERLAY) == SIDE


class Waiting:
    """A thread in `Pause.wait`, as the explaining thread would be."""

    def __init__(self, pause: Pause[int], shown: Choice) -> None:
        self.answers: list[Choice | None] = []
        self._thread = threading.Thread(target=lambda: self.answers.append(pause.wait(shown)))
        self._thread.start()

    def end(self) -> Choice | None:
        self._thread.join(20)
        (answer,) = self.answers
        return answer


def test_what_ends_a_wait(controls: Controls) -> None:
    pause: Pause[int] = Pause(controls, recording=False)
    controls.set_paused(True)
    waiting = Waiting(pause, OVERLAY)
    controls.request_snapshot()  # changes nothing that is shown
    controls.set_view("overlay")
    assert not waiting.answers
    controls.set_class("cat")
    assert waiting.end() == Choice("overlay", "cat")
    waiting = Waiting(pause, controls.choice)
    controls.set_paused(False)
    assert waiting.end() is None
    controls.set_paused(True)
    waiting = Waiting(pause, controls.choice)
    controls.request_stop()
    assert waiting.end() is None


def test_the_first_frame_of_a_recorded_pause_is_explained_again_for_each_new_choice(
    controls: Controls,
) -> None:
    pause: Pause[int] = Pause(controls, recording=True)
    assert pause.held_frame(0, OVERLAY) is None
    controls.set_paused(True)
    told = [
        pause.held_frame(frame, shown)
        for frame, shown in enumerate([OVERLAY, OVERLAY, MAP, MAP, SIDE, OVERLAY], start=1)
    ]
    assert told == [None, None, 1, None, 1, 1]
    controls.set_paused(False)
    assert pause.held_frame(7, MAP) is None
    controls.set_paused(True)
    assert [pause.held_frame(8, MAP), pause.held_frame(9, SIDE)] == [None, 8]


def test_a_frozen_loop_keeps_its_frame_itself(controls: Controls) -> None:
    pause: Pause[int] = Pause(controls, recording=False)
    controls.set_paused(True)
    assert [pause.held_frame(1, OVERLAY), pause.held_frame(2, MAP)] == [None, None]
