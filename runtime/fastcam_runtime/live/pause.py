"""Pause: it holds the whole loop, or only the screens.

The controls have the switch; this state machine decides what it does:

    RUNNING ── paused ──▶ FROZEN       the loop holds its frame and reads no other
            ── paused ──▶ RECORDING    if a live source is recorded: only the screens hold their frame
            ── the end ─▶ FROZEN       of photos on a screen: the last one stays until a stop is requested

While FROZEN or RECORDING, the user can choose another view or class: the held frame is then explained again.
"""

from __future__ import annotations

from enum import Enum, auto
from typing import Generic, TypeVar

from .controls import Choice, Controls

FrameT = TypeVar("FrameT")

_LONGEST_WAIT = 1.0
"""Seconds between two checks of the controls, in case a change was missed."""


class State(Enum):
    """What happens to the next frame."""

    RUNNING = auto()
    """It is shown and recorded."""
    FROZEN = auto()
    """It is not read yet."""
    RECORDING = auto()
    """It is recorded; the screens keep an earlier one."""


class Pause(Generic[FrameT]):
    """The pause of one loop. `wait` and `held_frame` are for the explaining thread, the rest for any thread.

    While a live source is `recording`, its frames during a pause must not be lost.
    """

    def __init__(self, controls: Controls, *, recording: bool) -> None:
        self._controls = controls
        self._recording = recording
        self._last_photo = False
        self._held: tuple[FrameT, Choice] | None = None
        """While RECORDING: the frame on the screens, and the choice that it was explained for."""

    @property
    def state(self) -> State:
        """The state now; it changes with the controls."""
        if not (self._controls.paused or self._last_photo):
            return State.RUNNING
        return State.RECORDING if self._recording else State.FROZEN

    def keep_last_photo(self) -> None:
        """Stay FROZEN from now on: the input has ended, and its last photo stays on the screen."""
        self._last_photo = True

    def wait(self, shown: Choice) -> Choice | None:
        """Wait while FROZEN, or until the user chooses something other than `shown`; returns that choice.

        None if the loop can continue, or must stop.
        """
        version = -1
        while self.state is State.FROZEN and not self._controls.stop.is_set():
            version = self._controls.wait_change(version, _LONGEST_WAIT)
            if self._controls.choice != shown:
                return self._controls.choice
        return None

    def held_frame(self, frame: FrameT, shown: Choice) -> FrameT | None:
        """The frame on the screens if it must be explained again, because `shown` is a new choice; else None.

        Call it with every frame: the first one of a pause is the frame that is held.
        """
        if self.state is not State.RECORDING:
            self._held = None
        elif self._held is None:
            self._held = frame, shown
        elif self._held[1] != shown:
            self._held = self._held[0], shown
            return self._held[0]
        return None
