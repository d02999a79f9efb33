"""The built-in clip: a camera that pans and zooms over two photos, a cat and a cup of espresso."""

from __future__ import annotations

import math
import re
from dataclasses import dataclass
from pathlib import Path
from urllib.parse import parse_qsl, urlsplit

import cv2
import numpy as np

from ..errors import SourceError, closest
from .base import Image, SourceOptions
from .ordered import OrderedSource

PHOTOS = Path(__file__).parent / "clip"
DEFAULT_SIZE = (640, 480)
DEFAULT_FPS = 30.0
DEFAULT_FRAMES = 300

_ENDLESS_ROUND = 10.0
"""Seconds in which an endless clip shows every photo once."""

_FADE = 0.12
"""The part of a shot in which it is faded in over the one before."""

_KEYS = ("size", "fps", "frames")


@dataclass(frozen=True)
class Span:
    """One axis of a view: `length` pixels of the photo from `start` on, resized to `resized` pixels, of which
    the frame shows `size` from `offset` on.

    Edges lie on whole pixels of the resized photo: a resize is three times as fast as a warp to any place.
    """

    start: int
    length: int
    resized: int
    offset: int
    size: int

    @classmethod
    def near(cls, first: float, length: float, size: int, limit: int) -> Span:
        """The span nearest to `length` pixels from `first` on, of a photo with `limit` pixels."""
        # Half a pixel on either side has its part in the frame's outermost pixels.
        start, end = max(0, math.floor(first - 0.5)), min(limit, math.ceil(first + length + 0.5))
        scale = size / length
        resized = max(size, round((end - start) * scale))
        offset = min(round((first - start) * scale), resized - size)
        return cls(start, end - start, resized, offset, size)

    @property
    def read(self) -> slice:
        """The pixels of the photo."""
        return slice(self.start, self.start + self.length)

    @property
    def shown(self) -> slice:
        """Those of the resized ones that the frame shows."""
        return slice(self.offset, self.offset + self.size)

    @property
    def first(self) -> float:
        """Where the frame begins, in the photo's pixels."""
        return self.start + self.offset * self.length / self.resized

    @property
    def extent(self) -> float:
        """How many of the photo's pixels the frame shows."""
        return self.size * self.length / self.resized


@dataclass(frozen=True)
class View:
    """What the camera sees: a window of a photo."""

    photo: str
    across: Span
    down: Span
    opacity: float = 1.0
    """Below 1 while one photo is faded into the next."""


@dataclass(frozen=True)
class _Camera:
    """A window of the frame's shape: its part of the largest that fits, its place in the room left over."""

    x: float
    y: float
    zoom: float

    def towards(self, other: _Camera, along: float) -> _Camera:
        def mix(a: float, b: float) -> float:
            return a + (b - a) * along

        return _Camera(mix(self.x, other.x), mix(self.y, other.y), mix(self.zoom, other.zoom))


@dataclass(frozen=True)
class _Shot:
    photo: str
    start: _Camera
    end: _Camera


_SHOTS = (
    # In towards the cat's eyes and nose; then from close above the cup out to the whole table.
    _Shot("chelsea.jpg", _Camera(0.0, 0.5, 1.0), _Camera(0.65, 0.65, 0.64)),
    _Shot("coffee.jpg", _Camera(0.75, 0.1, 0.66), _Camera(0.0, 0.5, 1.0)),
)


class TestClip(OrderedSource):
    """`test://?size=640x480&fps=30&frames=300`: each photo for half of the frames, the second one faded in.

    The same index gives the same pixels. `frames=0` never ends; both then, and in a loop, every photo is
    faded in over the one before.
    """

    __test__ = False  # not a class of tests, whatever its name

    def __init__(
        self,
        options: SourceOptions | None = None,
        *,
        size: tuple[int, int] = DEFAULT_SIZE,
        fps: float = DEFAULT_FPS,
        frames: int = DEFAULT_FRAMES,
        name: str = "test://",
    ) -> None:
        """Args:
        options: What is asked of any source; its size takes the place of `size`.
        size: Width and height of the frames.
        fps: The rate that the clip declares; its pace is the reader's unless `options` has a rate.
        frames: How many; 0 for no end.
        name: What error messages call it.
        """
        options = options or SourceOptions()
        self.size = options.size or size
        SourceOptions(size=self.size, fps=fps)  # refuses what is out of range
        super().__init__(name, options, fps=fps)
        self._round = frames or max(1, round(_ENDLESS_ROUND * fps))
        self._end = frames or None
        self._position = 0
        self._photos = {shot.photo: _load(shot.photo) for shot in _SHOTS}

    @classmethod
    def from_uri(cls, uri: str, options: SourceOptions) -> TestClip:
        """Open a `test://` URI.

        Raises:
            SourceError: an unknown key, or a value that is not of its form.
        """
        parts = urlsplit(uri)
        if parts.netloc or parts.path.strip("/"):
            raise SourceError(f"{uri}: settings follow a question mark, as in test://?size=640x480&fps=30")
        query = dict(parse_qsl(parts.query, keep_blank_values=True))
        for key in query:
            if key not in _KEYS:
                raise SourceError(
                    f"{uri}: no setting {key!r}; there are {', '.join(_KEYS)}{closest(key, _KEYS)}"
                )
        size = _matched(uri, query, "size", r"(\d{1,5})x(\d{1,5})", "such as 640x480")
        fps = _matched(uri, query, "fps", r"(\d{1,4}(?:\.\d+)?)", "such as 30 or 29.97")
        frames = _matched(uri, query, "frames", r"(\d{1,9})", "such as 300, or 0 for no end")
        return cls(
            options,
            size=(int(size[1]), int(size[2])) if size else DEFAULT_SIZE,
            fps=float(fps[1]) if fps else DEFAULT_FPS,
            frames=int(frames[1]) if frames else DEFAULT_FRAMES,
            name=uri,
        )

    def views(self, index: int) -> list[View]:
        """What frame `index` shows: a photo; while it is faded in, then also the one before."""
        number, along = self._shot(index)
        if number == 0 or along >= _FADE:
            return [self._window(number, along)]
        opacity = _smoothstep(along / _FADE)
        return [self._window(number, along, opacity), self._window(number - 1, along + 1, 1 - opacity)]

    def render(self, index: int) -> Image:
        """Frame `index`, before any flip. Any index from 0 on: past the end the clip goes on as in a loop."""
        views = self.views(index)
        pictures = [self._photograph(view) for view in views]
        if len(pictures) == 1:
            return pictures[0]
        mixed = cv2.addWeighted(pictures[0], views[0].opacity, pictures[1], views[1].opacity, 0)
        return np.asarray(mixed, np.uint8)

    def _next(self) -> Image | None:
        if self._position == self._end:
            return None
        image = self.render(self._position)
        self._position += 1
        return image

    def _rewind(self) -> None:
        # Goes on instead of jumping back, so that the first photo is faded in over the last.
        self._end = self._position + self._round

    def _shot(self, index: int) -> tuple[int, float]:
        """The number of the shot that a frame is in, and how far along it the frame's middle is, 0…1."""
        number, along = divmod((index + 0.5) * len(_SHOTS) / self._round, 1)
        return int(number), along

    def _window(self, number: int, along: float, opacity: float = 1.0) -> View:
        """The view of shot `number`; `along` goes to 1 + _FADE: the camera moves on while it is faded out."""
        shot = _SHOTS[number % len(_SHOTS)]
        camera = shot.start.towards(shot.end, along / (1 + _FADE))
        down, across = self._photos[shot.photo].shape[:2]
        scale = camera.zoom * min(across / self.size[0], down / self.size[1])
        width, height = self.size[0] * scale, self.size[1] * scale
        return View(
            shot.photo,
            Span.near((across - width) * camera.x, width, self.size[0], across),
            Span.near((down - height) * camera.y, height, self.size[1], down),
            opacity,
        )

    def _photograph(self, view: View) -> Image:
        """The window of the photo at the frame's size: a part of a picture that is a little larger."""
        across, down = view.across, view.down
        window = self._photos[view.photo][down.read, across.read]
        # Smaller than the window it is an average: single pixels would flicker.
        interpolation = cv2.INTER_AREA if across.resized < across.length else cv2.INTER_LINEAR
        image = np.asarray(
            cv2.resize(window, (across.resized, down.resized), interpolation=interpolation), np.uint8
        )
        return image[down.shown, across.shown]


def _load(name: str) -> Image:
    path = PHOTOS / name
    photo = cv2.imdecode(np.fromfile(path, np.uint8), cv2.IMREAD_COLOR) if path.is_file() else None
    if photo is None:
        raise SourceError(f"{path}: a photo of the built-in clip is missing; install fastcam-edge again")
    return np.asarray(photo, np.uint8)


def _matched(uri: str, query: dict[str, str], key: str, pattern: str, example: str) -> re.Match[str] | None:
    """The value of `key` matched with `pattern`, None where it is not given."""
    if key not in query:
        return None
    match = re.fullmatch(pattern, query[key])
    if match is None:
        raise SourceError(f"{uri}: {key} is {query[key]!r}, not a value {example}")
    return match


def _smoothstep(x: float) -> float:
    return x * x * (3 - 2 * x)
