"""The interface of all encoders."""

from __future__ import annotations

from abc import ABC, abstractmethod

from ...image import Image


class Encoder(ABC):
    """Writes pictures of one size into a file: call `write` for each, then `close`."""

    codec: str
    """What is written, in words, e.g. `H.264 (libx264)`."""

    @abstractmethod
    def write(self, picture: Image) -> None:
        """Add one picture.

        Raises:
            SinkError: It cannot be written. `close` still finishes what was written before.
        """

    @abstractmethod
    def close(self) -> bool:
        """Finish the file. Returns whether it can be played."""
