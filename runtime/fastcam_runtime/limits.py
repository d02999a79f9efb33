"""Limits on what a file may ask for, checked before any work is done.

A file may come from anybody. Each limit is far above what a real network needs, and low enough that a hostile
file ends with one line instead of filling the memory or never ending.
"""

from __future__ import annotations

import errno
import math
import os
import select
import stat
import time
from collections.abc import Sequence
from pathlib import Path

from .errors import ModelError

MAX_SIDE = 1 << 15
"""Height or width of an input: OpenCV resizes pictures of up to 32,767 pixels a side."""
MAX_PIXELS = 1 << 23
"""Pixels of all pictures of a batch: one 4K frame, or 167 pictures of 224×224. Twice as many took 3.4 GB in
`bench`, in a network of eight channels."""
MAX_BATCH = 4_096
"""Pictures in one run: servers use up to a few hundred."""
MAX_CHANNELS = 1_024
"""Channels of an input: hyperspectral cameras have a few hundred."""
ELEMENTS_PER_PIXEL = 4_096
"""Elements of one tensor inside a network for each pixel of its input. Convolutions at full size have 64 or
less, and attention at 1024×1024 has 256."""
LEAST_ELEMENTS = 1 << 24
"""Elements that one tensor may always have: class scores and constants do not grow with the picture."""
MAX_ELEMENTS = 1 << 30
"""Most elements of any tensor: 4 GB as float32."""
RUN_BYTES_PER_PIXEL = 2_048
"""Memory limit of one run per pixel of its input, besides the weights: ResNet-50 takes 700."""
LEAST_RUN_BYTES = 1_500_000_000
"""Memory that one run may always take: five times that of the largest image classifiers at 224×224."""
RUN_SECONDS = 300.0
"""Time limit for the first run of any network. Small boards take seconds; 100,000 nodes at their limits would
take days."""
LOOP_SECONDS = 10.0
"""Time limit for one run of a network with a Loop, which may be endless. The loops of detectors
take milliseconds."""
TRIAL_SECONDS = 12.0
"""Time limit for all trial runs of a network with a Loop in one command: an export takes about five."""
MAX_DIMENSION = 1 << 31
"""A dimension of a tap or a weight: kernels count elements with 32 bits."""
MAX_RANK = 16
"""Dimensions of the scores: a classifier has two, a segmentation four."""
MAX_NODES = 100_000
"""Nodes of a graph with its functions expanded: ten times the largest image classifier. Functions that call
functions grow exponentially."""
MAX_FIELDS = 4 * MAX_NODES
"""Fields of one message of a file, such as its graph: nodes, weights and shapes are one each. An empty field
takes two bytes of the file, and hundreds in memory."""
MAX_MESSAGES = 10 * MAX_NODES
"""Messages of a file in all: an attribute is one, and the shape of a tensor about six."""
MAX_MODEL = (1 << 31) - 1
"""Bytes of a model's file: Protocol Buffers hold no more, and larger networks have weights beside it."""
MAX_DEPTH = 32
"""Graphs inside graphs, and functions that call functions: exporters nest two or three."""
MAX_TAPS = 1_000
"""Scales: a network has about five."""
MAX_LABELS = 100_000
"""Classes: ImageNet-21k has 21,841."""
MAX_LABEL = 1_000
"""Characters of a label: ImageNet's longest has 121. Each frame's caption measures the text."""
MAX_NAME = 4_096
"""Characters of a tensor's name: the limit of a path, which names are often made from."""
MAX_METADATA = 16 << 20
"""Bytes of the metadata: 100,000 labels of an ordinary length are 3 MB. Empty lists take 20 times as much in
memory as in the file."""
MAX_LITERAL = 1 << 20
"""Characters of a Python literal, which takes 200 times as much in memory: ImageNet-21k has 650,000."""
MAX_PHOTO = 1 << 27
"""Pixels of a picture to explain: medium-format cameras have about 100 million. A file of 100 kB can hold a
thousand million, which take 3 GB, and as much again to draw on."""
MAX_PHOTO_BYTES = 8 * MAX_PHOTO
"""Bytes of a picture's file: 16 bits for each of four channels, not compressed."""
MAX_PHOTO_SIDE = 1 << 16
"""Height or width of a picture to explain: JPEG has 65,535, and a PNG with a million cannot be written."""
PHOTO_VARIABLES = {
    "OPENCV_IO_MAX_IMAGE_PIXELS": MAX_PHOTO,
    "OPENCV_IO_MAX_IMAGE_WIDTH": MAX_PHOTO_SIDE,
    "OPENCV_IO_MAX_IMAGE_HEIGHT": MAX_PHOTO_SIDE,
}
"""The variables by which OpenCV limits what it reads, and their values unless the user has set others."""
MAX_TEXT = 64 << 20
"""Bytes of a file of text beside a model: labels, a report, a configuration."""
PIPE_SECONDS = 10.0
"""How long a pipe, such as a shell's `<(…)`, may take to be written and closed. Nobody may ever open it."""


def limit_pictures() -> None:
    """Let OpenCV refuse a picture that is too large before it is decoded. It reads the variables when it is
    imported."""
    for variable, most in PHOTO_VARIABLES.items():
        os.environ.setdefault(variable, str(most))


def read_whole(path: Path, most: int = MAX_TEXT, *, pipes: bool = True) -> bytes:
    """The bytes of a file, or of a pipe if `pipes` are allowed, in bounded time and memory.

    Raises:
        OSError: It cannot be read, is a device, has more bytes than `most`, or is a pipe without an end.
    """
    # A pipe that nobody writes to would block in open().
    descriptor = os.open(path, os.O_RDONLY | getattr(os, "O_NONBLOCK", 0) | getattr(os, "O_BINARY", 0))
    with open(descriptor, "rb", buffering=0) as file:
        kind = os.fstat(descriptor).st_mode
        if not (stat.S_ISREG(kind) or (pipes and stat.S_ISFIFO(kind))):
            what = "a pipe" if stat.S_ISFIFO(kind) else "a device"
            raise OSError(errno.EINVAL, f"{what}, not a file", str(path))
        end = time.monotonic() + PIPE_SECONDS
        content = bytearray()
        while len(content) <= most:
            left = max(0.0, end - time.monotonic())
            if stat.S_ISFIFO(kind) and not select.select([file], [], [], left)[0]:
                raise OSError(errno.ETIMEDOUT, f"a pipe, still open after {PIPE_SECONDS:.0f} s", str(path))
            piece = file.read(1 << 20)
            if not piece:
                return bytes(content)
            content += piece
    raise OSError(errno.EFBIG, f"more than {most} bytes", str(path))


def check_picture(what: str, batch: int, height: int, width: int, channels: int = 3) -> None:
    """Refuse an input, `what` in the message, whose pictures are larger than any camera's.

    Raises:
        ModelError: A side, or the number of pixels, pictures or channels, is above its limit.
    """
    if max(height, width) > MAX_SIDE:
        raise ModelError(f"{what} is {height}×{width}: a side has at most {MAX_SIDE} pixels")
    if batch > MAX_BATCH:
        raise ModelError(f"{what} takes {batch} pictures at once: {MAX_BATCH} are the limit")
    if channels > MAX_CHANNELS:
        raise ModelError(f"{what} has {channels} channels: {MAX_CHANNELS} are the limit")
    if batch * height * width > MAX_PIXELS:
        each = f"{batch} pictures of {height}×{width}" if batch > 1 else f"{height}×{width}"
        raise ModelError(f"{what} is {each}: {MAX_PIXELS} pixels are the limit")


def check_elements(what: str, shape: Sequence[int], pixels: int) -> None:
    """Refuse a tensor that is too large to compute, in a network whose input has so many pixels.

    Raises:
        ModelError: It has too many elements.
    """
    most = min(MAX_ELEMENTS, max(LEAST_ELEMENTS, ELEMENTS_PER_PIXEL * pixels))
    if math.prod(shape) > most:
        raise ModelError(f"{what} is {'×'.join(map(str, shape))}: {most} elements are the limit here")


def run_bytes(pixels: int) -> int:
    """The memory that one run may take for an input of so many pixels."""
    return max(LEAST_RUN_BYTES, RUN_BYTES_PER_PIXEL * pixels)
