"""Save the picture that is on the screen."""

from __future__ import annotations

import logging
import time
from pathlib import Path

import cv2

from ..errors import FastcamError
from ..image import Array
from ..sinks.atomic import write_whole

logger = logging.getLogger(__name__)


def save_snapshot(picture: Array, folder: Path | None = None) -> Path | None:
    """Save a picture as `fastcam-DATE-TIME.png` in `folder` (the current one by default).

    A snapshot that cannot be saved is reported to the log and stops nothing; None is returned.
    """
    moment = time.time()
    stamp = time.strftime("%Y%m%d-%H%M%S", time.localtime(moment))
    path = (folder or Path()) / f"fastcam-{stamp}-{int(moment % 1 * 1000):03d}.png"
    try:
        path = Path.cwd() / path
        write_whole(path, cv2.imencode(".png", picture)[1].tobytes())
    except (FastcamError, OSError) as error:
        logger.warning("no snapshot: %s", error)
        return None
    logger.info("snapshot: %s", path)
    return path
