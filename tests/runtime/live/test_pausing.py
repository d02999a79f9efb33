"""Pausing the loop, and changing the view meanwhile."""

from __future__ import annotations

import pytest
from fastcam_runtime import Explainer
from fastcam_runtime.draw.views import available_views
from fastcam_runtime.live.controls import Controls
from support.looping import Counting, LiveCounter, Recorder, Screen, make_loop


def test_what_a_camera_sees_during_a_pause_is_recorded(explainer: Explainer) -> None:
    controls = Controls(available_views(explainer.model), "map")
    recorder = Recorder()
    while_paused: list[tuple[int, str]] = []

    def react(screen: Recorder) -> None:
        status, recorded = screen.statuses[-1], len(recorder.pictures)
        if controls.paused:
            while_paused.append((status.frame, status.view))
            if recorded == 10:
                controls.set_view("side")
            if recorded > 20 and status.view == "side":
                controls.set_paused(False)
        elif recorded == 3:
            controls.set_paused(True)
        elif recorded > 25:
            controls.request_stop()

    screen = Screen(react)
    make_loop(explainer, LiveCounter(), screen, recorder, controls=controls).run()
    frames = [status.frame for status in recorder.statuses]
    assert frames == sorted(set(frames))  # each of them once
    held = dict.fromkeys(frame for frame, _ in while_paused)
    assert len(held) <= 2  # when the view is changed, the screen may be one frame behind the network
    assert {view for _, view in while_paused} == {"map", "side"}
    assert screen.statuses[-1].frame == frames[-1]


def test_paused_the_view_can_be_changed_and_nothing_is_recorded_twice(explainer: Explainer) -> None:
    controls = Controls(available_views(explainer.model), "map")
    views_while_paused = []

    def react(screen: Recorder) -> None:
        if len(screen.pictures) == 3:
            controls.set_paused(True)
        if controls.paused:
            views_while_paused.append(screen.statuses[-1].view)
            if len(views_while_paused) == 3:
                controls.set_view("side")
            if views_while_paused.count("side") == 2:
                controls.set_paused(False)

    screen, recorder = Screen(react), Recorder()
    make_loop(
        explainer, Counting([10, 60, 110, 160, 210, 30, 80, 130]), recorder, screen, controls=controls
    ).run()
    # the explaining thread may be two frames ahead of the screen when it learns of the pause
    assert [status.frame for status in recorder.statuses] == list(range(8))
    assert len(screen.pictures) > len(recorder.pictures)
    assert screen.pictures[-1].shape == (32, 96, 3)


def test_a_view_changed_and_changed_back_at_the_end_of_a_pause(
    explainer: Explainer, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The frames after the pause do not show the map of the view in between."""
    controls = Controls(available_views(explainer.model), "map")
    controls.set_paused(True)
    computed: list[object] = []
    explain = explainer.explain

    def explain_while_the_view_is_changed_back(*args: object) -> object:
        computed.extend(args[2])  # type: ignore[call-overload]
        if args[2] == ["lovi"]:
            controls.set_view("map")
            controls.set_paused(False)
        return explain(*args)  # type: ignore[arg-type]

    monkeypatch.setattr(explainer, "explain", explain_while_the_view_is_changed_back)
    screen = Screen(lambda screen: controls.set_view("lovi") if len(screen.pictures) == 1 else None)
    make_loop(explainer, Counting([80] * 6), screen, controls=controls, every=100).run()
    assert computed == ["saliency_map", "lovi", "saliency_map"]
    assert screen.levels[-1] == 80
