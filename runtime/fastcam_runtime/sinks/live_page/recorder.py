"""The page's record button: writes videos to a folder with limits."""

from __future__ import annotations

import logging
import time
from pathlib import Path

from ...errors import SinkError
from ...image import Image
from ..atomic import beside
from ..base import Status
from ..kept_folder import Kept, KeptFolder
from ..video import VideoFile, prepare_recording

logger = logging.getLogger(__name__)

SUFFIX = ".mp4"
_CHECK_EVERY = 15
"""Pictures between two checks of the recording's size."""
_LIST_SECONDS = 1.0
_SHARE = 0.9
"""A recording ends at this share of the folder's limit: the encoder's buffers come on top."""


class Recorder:
    """Records what the page shows.

    `start` and `stop` may be called from any thread; `write`, `refresh` and `close` only from the loop's. If
    a recording fails, it ends, and `error` says why: the loop continues. `real_time` is that of `VideoFile`.
    """

    def __init__(self, folder: KeptFolder, fps: float, *, real_time: bool) -> None:
        self.folder = folder
        self.error = ""
        """Why the last recording ended by itself; empty if it did not."""
        self._fps = fps
        self._real_time = real_time
        self._wanted = False
        self._video: VideoFile | None = None
        self._path = Path()
        self._pictures = 0
        self._started = 0.0
        self._listed: tuple[float, list[Kept]] = (float("-inf"), [])
        prepare_recording(SUFFIX, fps, real_time=real_time)

    @property
    def recording(self) -> bool:
        """Whether the button is pressed, or a video is still being finished."""
        return self._wanted or self._video is not None

    @property
    def seconds(self) -> float:
        """The length of the current recording; 0 if there is none."""
        return time.monotonic() - self._started if self._video is not None and self._pictures else 0.0

    def start(self) -> None:
        """Record from the next picture on."""
        self.error = ""
        self._wanted = True

    def stop(self) -> None:
        """Finish the recording at the next picture, or during a pause."""
        self._wanted = False

    def recordings(self) -> list[Kept]:
        """The finished recordings, the latest first."""
        return [kept for kept in reversed(self._list()) if kept.path.suffix == SUFFIX]

    @property
    def frames_kept(self) -> int:
        """How many frames were kept as evidence."""
        return sum(kept.path.suffix == "" for kept in self._list())

    def _list(self) -> list[Kept]:
        """The folder's entries, cached for a second: every viewer of the page asks twice a second."""
        now = time.monotonic()
        if now - self._listed[0] > _LIST_SECONDS:
            self._listed = now, self.folder.kept()
        return self._listed[1]

    def find(self, name: str) -> Path | None:
        """The path of a finished recording; None if there is none of this name."""
        return next((kept.path for kept in self.recordings() if kept.name == name), None)

    def write(self, picture: Image, status: Status) -> None:
        """Record a picture if the button is pressed."""
        self.refresh()
        if not self._wanted:
            return
        try:
            if self._video is None:
                self._open()
            assert self._video is not None
            self._video.write(picture, status)
            if not self._pictures:  # not counted: starting an encoder takes a while
                self._started = time.monotonic()
            self._pictures += 1
            if self._pictures % _CHECK_EVERY == 0:
                self._keep_within_limits()
        except SinkError as error:
            self._fail(str(error))

    def refresh(self) -> None:
        """Finish the recording if the button was pressed again."""
        if not self._wanted and self._video is not None:
            self.close()

    def close(self) -> None:
        """Finish the recording, if there is one."""
        self._wanted = False
        if self._video is None:
            return
        try:
            self._video.close()
            size = self._path.stat().st_size
            self.folder.make_room(0, 0)
            logger.info("recorded %s, %.1f MB", self._path, size / 1e6)
        except (SinkError, OSError) as error:
            self.error = str(error)
            logger.warning("no recording: %s", error)
        finally:
            self._listed = float("-inf"), []
            self._video = None

    def _open(self) -> None:
        self._path = self.folder.path / f"{self.folder.new_name()}{SUFFIX}"
        self.folder.make_room(1, 0)
        self._video = VideoFile(self._path, self._fps, real_time=self._real_time)
        self._pictures = 0

    def _keep_within_limits(self) -> None:
        """Make room for the growing file; end it if it alone reaches the limit."""
        part = beside(self._path)
        size = part.stat().st_size if part.exists() else 0
        if size > _SHARE * self.folder.bytes:
            self._fail(f"the recording ended at the limit of {self.folder.bytes / 1e6:g} MB")
        else:
            self.folder.make_room(1, size)

    def _fail(self, why: str) -> None:
        logger.warning("%s", why)
        self.close()
        self.error = self.error or why
