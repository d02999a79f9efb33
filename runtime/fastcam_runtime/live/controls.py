"""The settings that a user can change while the loop runs; shared by the loop, windows and live page."""

from __future__ import annotations

import threading
from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

from ..errors import FastcamError, closest


class ControlError(FastcamError):
    """The model does not have the requested view or class."""


class Look(NamedTuple):
    """How maps are drawn over frames."""

    colormap: str
    alpha: float
    """The opacity of the map, 0…1."""


Box = int | tuple[float, float]
"""A box of a detector: 0 is the best one of each frame; or a point (x, y) of the frame that is inside it."""


class Choice(NamedTuple):
    """The view, the class and the look that the user chose."""

    view: str
    class_choice: str | None
    """A class as it was typed; None is the class with the highest score."""
    look: Look | None = None
    """None: the overlay's own."""
    box: Box | None = None
    """The detector's box to explain; None for none in particular."""

    @property
    def subject(self) -> tuple[str, str | None]:
        """What the network has to compute: the view and the class."""
        return self.view, self.class_choice


class Controls:
    """The view, the class, pause, snapshot and stop. All methods are thread-safe.

    An invalid change raises `FastcamError` with a one-line message and changes nothing.

    Args:
        views: The views that can be chosen, in the order of their buttons and number keys.
        view: The initial view; the first one by default.
        class_choice: The initial class; None means the class with the highest score.
        check_class: Called with a class name or index as typed; raises `FastcamError` if there is no
            such class.
        has_classes: Whether a class can be chosen at all.
        labels: The labels of the classes, for lists to choose from.
        look: The initial colours and opacity; None if they cannot be changed.
        colormaps: The colour maps that can be chosen.
        box: The initial box to explain.
        has_boxes: The model is a detector.

    Example:
        >>> controls = Controls(("overlay", "map"))
        >>> controls.set_view("map")
        >>> controls.view
        'map'
    """

    def __init__(
        self,
        views: Sequence[str],
        view: str | None = None,
        *,
        class_choice: str | None = None,
        check_class: Callable[[str], object] | None = None,
        has_classes: bool = True,
        labels: Sequence[str] = (),
        look: Look | None = None,
        colormaps: Sequence[str] = (),
        box: Box | None = None,
        has_boxes: bool = False,
    ) -> None:
        if not views:
            raise ControlError("there is no view to choose from")
        self.views = tuple(views)
        self.has_classes = has_classes
        self.labels = tuple(labels)
        self.colormaps = tuple(colormaps)
        self.has_boxes = has_boxes
        self.stop = threading.Event()
        self._changed = threading.Condition()
        self._version = 0
        self._paused = False
        self._snapshot = False
        self._keep = False
        self._check_class = check_class
        self._choice = Choice(self.views[0], None, look, box)
        if view is not None:
            self.set_view(view)
        self.set_class(class_choice)

    @property
    def view(self) -> str:
        """The view to draw."""
        return self._choice.view

    @property
    def class_choice(self) -> str | None:
        """The class that class maps are for, as it was typed; None is the class with the highest score."""
        return self._choice.class_choice

    @property
    def choice(self) -> Choice:
        """The view, the class and the look."""
        return self._choice

    @property
    def look(self) -> Look | None:
        """Colours and opacity; None if they cannot be changed."""
        return self._choice.look

    @property
    def paused(self) -> bool:
        """Whether the user wants a pause."""
        return self._paused

    @property
    def version(self) -> int:
        """A number that grows with every change; see `wait_change`."""
        return self._version

    def check_view(self, view: str) -> None:
        """Raise `ControlError` if there is no such view."""
        if view not in self.views:
            raise ControlError(f"no view {view!r}; one of {', '.join(self.views)}{closest(view, self.views)}")

    def check_class(self, choice: str | None) -> None:
        """Raise `FastcamError` if there is no such class; None and blank text mean the highest score."""
        if choice and choice.strip() and self._check_class is not None:
            self._check_class(choice.strip())

    def check_look(self, colormap: str | None = None, alpha: float | None = None) -> Look | None:
        """The look with these changes; raise `ControlError` if it is invalid."""
        look = self.look
        if colormap is None and alpha is None:
            return look
        if look is None:
            raise ControlError("colours and opacity cannot be changed here")
        if colormap is not None and colormap not in self.colormaps:
            raise ControlError(f"no colour map {colormap!r}; one of {', '.join(self.colormaps)}")
        if alpha is not None and not 0 <= alpha <= 1:
            raise ControlError(f"alpha is {alpha}, not between 0 and 1")
        return Look(colormap or look.colormap, look.alpha if alpha is None else float(alpha))

    def set_look(self, colormap: str | None = None, alpha: float | None = None) -> None:
        """Choose colours, opacity or both."""
        with self._changed:
            self._choose(look=self.check_look(colormap, alpha))

    def set_view(self, view: str) -> None:
        """Choose a view by its name."""
        self.check_view(view)
        self._choose(view=view)

    def set_class(self, choice: str | None) -> None:
        """Choose a class by name or index; None or blank text goes back to the highest score."""
        self.check_class(choice)
        self._choose(class_choice=(choice or "").strip() or None)

    def check_box(self, box: Box | None) -> None:
        """Raise `ControlError` if a box is chosen but the model has none."""
        if box is not None and not self.has_boxes:
            raise ControlError("no box can be chosen: the network is not a known detector")

    def set_box(self, box: Box | None) -> None:
        """Choose the box to explain, or none."""
        self.check_box(box)
        self._choose(box=box)

    def set_paused(self, paused: bool) -> None:
        """Pause or resume."""
        with self._changed:
            self._paused = paused
            self._notify()

    def toggle_paused(self) -> None:
        """Pause if running; resume if paused."""
        with self._changed:
            self._paused = not self._paused
            self._notify()

    def request_snapshot(self) -> None:
        """Ask the loop to save the picture on the screen."""
        with self._changed:
            self._snapshot = True
            self._notify()

    def take_snapshot_request(self) -> bool:
        """Whether a snapshot was requested since the last call. Clears the request."""
        with self._changed:
            asked, self._snapshot = self._snapshot, False
        return asked

    def request_keep(self) -> None:
        """Ask the loop to keep the frame on the screen as evidence."""
        with self._changed:
            self._keep = True
            self._notify()

    def take_keep_request(self) -> bool:
        """Whether keeping a frame was requested since the last call. Clears the request."""
        with self._changed:
            asked, self._keep = self._keep, False
        return asked

    def request_stop(self) -> None:
        """Stop the loop after the current frame. Also wakes `wait_change`."""
        self.stop.set()
        with self._changed:
            self._notify()

    def wait_change(self, version: int, timeout: float) -> int:
        """Wait for a change after `version`, a stop, or `timeout` seconds; return the current version."""
        with self._changed:
            self._changed.wait_for(lambda: self._version != version or self.stop.is_set(), timeout)
            return self._version

    def _choose(self, **changes: Any) -> None:
        with self._changed:
            self._choice = self._choice._replace(**changes)
            self._notify()

    def _notify(self) -> None:
        self._version += 1
        self._changed.notify_all()
