"""The built-in clip: a virtual camera pans over two photos, a cat and a cup of espresso."""

from __future__ import annotations

import re
from dataclasses import dataclass
from pathlib import Path
from urllib.parse import parse_qsl

import cv2
import numpy as np

from ..errors import SourceError, closest
from ..image import Image
from .base import SourceKind, SourceOptions
from .ordered import OrderedSource

PHOTOS = Path(__file__).parent / "clip"
DEFAULT_SIZE = (640, 480)
DEFAULT_FPS = 30.0
DEFAULT_FRAMES = 300

_ENDLESS_ROUND = 10.0
"""Seconds in which an endless clip shows each photo once."""

_FADE = 0.12
"""Fraction of a shot during which it is faded in over the previous one."""

_WINDOW = 0.93
"""Size of the crop, relative to the largest crop of the photo with the frame's aspect ratio."""

_KEYS = ("size", "fps", "frames")


@dataclass(frozen=True)
class PhotoCrop:
    """The part of a photo that a frame shows. The photo is resized once for all frames."""

    photo: str
    left: int
    top: int
    """Position in the resized photo; the size is the frame's."""
    scale: tuple[float, float]
    """Pixels of the resized photo per pixel of the original, horizontally and vertically."""
    opacity: float = 1.0
    """Below 1 while one photo is faded into the next."""


@dataclass(frozen=True)
class _Shot:
    """A crop that moves linearly over a photo; positions are 0…1 of the available range, x and y."""

    photo: str
    start: tuple[float, float]
    end: tuple[float, float]

    def place(self, along: float) -> tuple[float, float]:
        """The position of the crop at 0…1 of the shot."""
        (x, y), (to_x, to_y) = self.start, self.end
        return x + (to_x - x) * along, y + (to_y - y) * along


_SHOTS = (
    _Shot("chelsea.jpg", (0.0, 0.3), (1.0, 1.0)),
    _Shot("coffee.jpg", (1.0, 0.1), (0.0, 0.8)),
)


@dataclass(frozen=True)
class _Photo:
    """A photo, resized so that a crop has the frame's size."""

    enlarged: Image
    scale: tuple[float, float]

    @classmethod
    def load(cls, name: str, frame: tuple[int, int]) -> _Photo:
        path = PHOTOS / name
        photo = cv2.imdecode(np.fromfile(path, np.uint8), cv2.IMREAD_COLOR) if path.is_file() else None
        if photo is None:
            raise SourceError(f"{path}: a photo of the built-in clip is missing; install fastcam-edge again")
        height, width = photo.shape[:2]
        pixel = _WINDOW * min(width / frame[0], height / frame[1])
        size = (max(frame[0], round(width / pixel)), max(frame[1], round(height / pixel)))
        # Average when shrinking: single pixels would flicker.
        interpolation = cv2.INTER_AREA if pixel > 1 else cv2.INTER_LINEAR
        enlarged = np.asarray(cv2.resize(photo, size, interpolation=interpolation), np.uint8)
        enlarged.flags.writeable = False  # frames are views of this array
        return cls(enlarged, (size[0] / width, size[1] / height))


class TestClip(OrderedSource):
    """`test://?size=640x480&fps=30&frames=300`: each photo for half of the frames, the second one faded in.

    The same index gives the same pixels. `frames=0` never ends; then, and in a loop, each photo is faded in
    over the previous one.

    Outside of the fades a frame is a read-only slice of the resized photo and costs almost nothing, so a
    benchmark on this clip measures the loop and not the source.
    """

    __test__ = False  # not a test class for pytest, despite its name

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
        options: The settings of any source; its size overrides `size`.
        size: Width and height of the frames.
        fps: The declared frame rate; frames are delivered at it only if `options` are paced.
        frames: Number of frames; 0 for an endless clip.
        name: Its name in messages.
        """
        options = options or SourceOptions()
        self.size = options.size or size
        SourceOptions(size=self.size, fps=fps)  # validates the ranges
        super().__init__(name, options, fps=fps)
        self._round = frames or max(1, round(_ENDLESS_ROUND * fps))
        self._end = frames or None
        self._position = 0
        self._photos = {shot.photo: _Photo.load(shot.photo, self.size) for shot in _SHOTS}

    @classmethod
    def from_uri(cls, uri: str, options: SourceOptions) -> TestClip:
        """Open a `test://` URI.

        Raises:
            SourceError: An unknown setting, or an invalid value.
        """
        place, _, settings = uri.removeprefix("test://").partition("?")
        if place.strip("/"):
            raise SourceError(f"{uri}: settings follow a question mark, as in test://?size=640x480&fps=30")
        query = dict(parse_qsl(settings, keep_blank_values=True))
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

    def crops(self, index: int) -> list[PhotoCrop]:
        """What frame `index` shows: one crop; during a fade also one of the previous photo."""
        number, along = self._shot(index)
        if number == 0 or along >= _FADE:
            return [self._crop(number, along)]
        opacity = _smoothstep(along / _FADE)
        return [self._crop(number, along, opacity), self._crop(number - 1, along + 1, 1 - opacity)]

    def render(self, index: int) -> Image:
        """Frame `index`, before flipping; past the end the clip continues as in a loop."""
        crops = self.crops(index)
        pictures = [self._photograph(crop) for crop in crops]
        if len(pictures) == 1:
            return pictures[0]
        mixed = cv2.addWeighted(pictures[0], crops[0].opacity, pictures[1], crops[1].opacity, 0)
        return np.asarray(mixed, np.uint8)

    def _next(self) -> Image | None:
        if self._position == self._end:
            return None
        image = self.render(self._position)
        self._position += 1
        return image

    def _rewind(self) -> None:
        # Continue instead of jumping back, so that the first photo is faded in over the last.
        self._end = self._position + self._round

    def _shot(self, index: int) -> tuple[int, float]:
        """The number of a frame's shot, and the position of the frame's middle in it, 0…1."""
        number, along = divmod((index + 0.5) * len(_SHOTS) / self._round, 1)
        return int(number), along

    def _crop(self, number: int, along: float, opacity: float = 1.0) -> PhotoCrop:
        """The crop of shot `number`; `along` goes to 1 + _FADE: it still moves while it fades out."""
        shot = _SHOTS[number % len(_SHOTS)]
        x, y = shot.place(along / (1 + _FADE))
        photo = self._photos[shot.photo]
        height, width = photo.enlarged.shape[:2]
        left, top = round((width - self.size[0]) * x), round((height - self.size[1]) * y)
        return PhotoCrop(shot.photo, left, top, photo.scale, opacity)

    def _photograph(self, crop: PhotoCrop) -> Image:
        width, height = self.size
        return self._photos[crop.photo].enlarged[crop.top :, crop.left :][:height, :width]


TEST_CLIP = SourceKind(
    {"test://": "the built-in clip; options as in test://?size=640x480&fps=30&frames=100"},
    TestClip.from_uri,
    schemes=("test",),
)


def _matched(uri: str, query: dict[str, str], key: str, pattern: str, example: str) -> re.Match[str] | None:
    """The value of `key`, matched with `pattern`; None if it is not given."""
    if key not in query:
        return None
    match = re.fullmatch(pattern, query[key])
    if match is None:
        raise SourceError(f"{uri}: {key} is {query[key]!r}, not a value {example}")
    return match


def _smoothstep(x: float) -> float:
    return x * x * (3 - 2 * x)
