"""Evidence: keeps frames with their maps, the drawn picture, and how these were made."""

from __future__ import annotations

import io
import json
import logging
import queue
import shutil
import threading
import time
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import cv2
import numpy as np

from ..contract import Metadata
from ..errors import FastcamError, SinkError
from ..image import Image
from ..measure import system
from ..model.file import sha256
from ..sinks import Sink, Status
from ..sinks.json_lines import describe_frame
from ..sinks.kept_folder import KeptFolder
from ..sinks.leftovers import unfinished
from .keep_rules import Rule

logger = logging.getLogger(__name__)

BUTTON = "button"
"""The reason for a frame that a user requested."""
_WAITING = 4
"""Most frames in the write queue; more are not kept, so that a slow disk does not slow down the loop."""


@dataclass(frozen=True)
class Origin:
    """The facts that are the same for all frames of a run.

    Args:
        model: The model's file.
        metadata: The file's metadata.
        settings: The settings of the run, in JSON types.
        stills: The frames are photos: each is kept if a rule holds, without a minimum interval.
    """

    model: Path
    metadata: Metadata
    settings: Mapping[str, Any]
    stills: bool = False


@dataclass(frozen=True)
class _Item:
    picture: Image
    status: Status
    reason: str


class Evidence(Sink):
    """Keeps frames for which a rule holds, each in its own folder: frame, maps, overlay and a manifest.

    The first rule that holds is the reason. A separate thread writes the files. If that fails, it logs a
    warning; the loop continues.
    """

    def __init__(self, folder: KeptFolder, rules: Sequence[Rule], origin: Origin) -> None:
        self._folder = folder
        self._rules = rules
        self._origin = origin
        self._kept_at = [float("-inf")] * len(rules)
        self._items: queue.Queue[_Item | None] = queue.Queue(_WAITING)
        self._thread: threading.Thread | None = None
        self._about: dict[str, Any] = {}
        self.missed = 0
        """Frames that were not kept, because the write queue was full."""

    def write(self, picture: Image, status: Status) -> None:
        now = time.monotonic()
        holding = [rule.holds(status) for rule in self._rules]  # ask all: some remember the previous frame
        due = [
            holds and (self._origin.stills or now - at >= rule.gap)
            for rule, holds, at in zip(self._rules, holding, self._kept_at, strict=True)
        ]
        if any(due):
            self._kept_at = [now if is_due else at for is_due, at in zip(due, self._kept_at, strict=True)]
            self.keep(picture, status, self._rules[due.index(True)].text)

    def keep(self, picture: Image, status: Status, reason: str = BUTTON) -> None:
        """Keep a frame now: the drawn picture, and the status with the frame and its explanation."""
        if self._thread is None:
            self._thread = threading.Thread(target=self._write_all, name="fastcam keep", daemon=True)
            self._thread.start()
        item = _Item(picture.copy(), status, reason)
        try:
            # Photos come as fast as they are read, and none may be lost.
            self._items.put(item, block=self._origin.stills)
        except queue.Full:
            self.missed += 1
            logger.warning("frame %d was not kept: the disk is too slow", status.frame)

    def close(self) -> None:
        thread, self._thread = self._thread, None
        if thread is not None:
            self._items.put(None)
            thread.join()

    def _write_all(self) -> None:
        while (item := self._items.get()) is not None:
            try:
                self._write(item)
            except (FastcamError, OSError, cv2.error) as error:
                logger.warning("frame %d was not kept: %s", item.status.frame, error)

    def _write(self, item: _Item) -> None:
        contents = {
            "frame.png": _png(item.picture if item.status.image is None else item.status.image),
            "overlay.png": _png(item.picture),
            "maps.npz": _arrays(item.status),
        }
        manifest = {**self._describe(item), "files": list(contents)}
        contents["manifest.json"] = (json.dumps(manifest, indent=2, ensure_ascii=False) + "\n").encode(
            errors="replace"
        )
        name = self._folder.new_name()
        self._folder.make_room(len(contents), sum(map(len, contents.values())))
        part = unfinished(self._folder.path, name)
        try:
            part.mkdir()
            for file, content in contents.items():
                (part / file).write_bytes(content)
            part.rename(self._folder.path / name)
        except OSError as error:
            shutil.rmtree(part, ignore_errors=True)
            raise SinkError(f"{self._folder.path}: {error.strerror}") from error
        level = logging.INFO if item.reason == BUTTON else logging.DEBUG
        logger.log(
            level, "kept frame %d (%s) in %s", item.status.frame, item.reason, self._folder.path / name
        )

    def _describe(self, item: _Item) -> dict[str, Any]:
        if not self._about:
            self._about = _about(self._origin)
        status = item.status
        shown = {"view": status.view, "class": status.class_choice}
        return {
            "reason": item.reason,
            **describe_frame(status),
            **self._about,
            "settings": {**self._origin.settings, **shown},
        }


def _about(origin: Origin) -> dict[str, Any]:
    """The parts of a manifest that are the same for all frames; the SHA-256 of a large file takes a while."""
    metadata = origin.metadata
    return {
        "model": {
            "file": origin.model.name,
            "sha256": sha256(origin.model),
            "source_sha256": metadata.source_sha256,
            "statistic": metadata.statistic,
            "normalize": metadata.normalize,
            "approximation": metadata.approximation,
        },
        "taps": [asdict(tap) for tap in metadata.taps],
        "versions": system.versions(),
    }


def _png(picture: Image) -> bytes:
    return bytes(cv2.imencode(".png", picture)[1].tobytes())


def _arrays(status: Status) -> bytes:
    """The maps by output name and all scores, as NumPy's compressed archive."""
    content = io.BytesIO()
    explanation = status.explanation
    arrays = {} if explanation is None else {**explanation.maps, "scores": explanation.logits}
    np.savez_compressed(content, **arrays)  # type: ignore[arg-type]
    return content.getvalue()
