"""The option `frame_input`: the size and kind of a camera's frames."""

from __future__ import annotations

import re

from fastcam_runtime.contract import FrameInput

from ..errors import GraftError

FRAME = "frame"
"""The name of the input."""
_FORM = re.compile(r"(\d+)[x×](\d+)(?:[x×](RGBA?))?", re.IGNORECASE)


def parse_frame(text: str) -> FrameInput:
    """`480x640` or `480x640xRGBA`: height, width and kind of a frame.

    Raises:
        GraftError: The text is neither.
    """
    match = _FORM.fullmatch(text.strip())
    if match is None or not int(match[1]) or not int(match[2]):
        raise GraftError(f"frame input {text!r}: HEIGHTxWIDTH or HEIGHTxWIDTHxRGBA is needed, e.g. 480x640")
    channels = 4 if (match[3] or "").upper() == "RGBA" else 3
    return FrameInput(FRAME, int(match[1]), int(match[2]), channels)
