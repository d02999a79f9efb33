"""A grafted file, and the sessions that run it with all or only some of its maps."""

from __future__ import annotations

import ctypes
import threading
import time
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from weakref import WeakKeyDictionary

import onnxruntime as ort

from .. import contract
from ..errors import ModelError, ort_errors_as
from ..image import Array
from ..preprocess import IMAGE_TYPES
from ..text import count
from .feeds import companions, is_companion
from .file import Summary, is_ort, summarize_file
from .ort_format import summarize_ort
from .pruning import is_saliency_output
from .session import describe, open_cut
from .watching import Runner

MAX_SESSIONS = 3
"""Most open sessions per model: each has its own copy of the weights."""


@dataclass(frozen=True)
class ClassInput:
    """How a session takes the class of its maps: the input `saliency_class`."""

    there: bool
    """False if no class map is computed, or if a tool turned the input into a constant."""
    any_classes: bool
    """One run explains one image for any number of classes."""
    box: bool = False
    """Class maps are of one box of a detector: the input `saliency_box`."""

    @classmethod
    def of(cls, session: ort.InferenceSession) -> ClassInput:
        """Read it from the inputs of a session, with or without a default value."""
        inputs = [*session.get_inputs(), *session.get_overridable_initializers()]
        shapes = [value.shape for value in inputs if value.name == contract.CLASS_INPUT]
        box = any(value.name == contract.BOX_INPUT for value in inputs)
        return cls(bool(shapes), [contract.CLASSES] in shapes, box)


class Model:
    """A file made by `fastcam export`. Sessions are opened on first use.

    Args:
        path: The `.onnx` or `.ort` file.
        threads: Threads that share one operator; None for the default.
        provider: A name of `providers.NAMES`, or `auto`.
        compiled: Use the compiled kernels where they were built.
        opener: How a session is opened: `open_cut`, or one that keeps what it made for the next start.

    Raises:
        ModelError: The file is missing, damaged, or was never grafted.
    """

    def __init__(
        self,
        path: Path,
        *,
        threads: int | None = None,
        provider: str = "auto",
        compiled: bool = True,
        opener: Callable[..., ort.InferenceSession] = open_cut,
    ) -> None:
        self.path = path
        self._threads = threads
        self._provider = provider
        self._compiled = compiled
        self._opener = opener
        self.can_be_cut = not is_ort(path)
        """Whether unused maps cost nothing: an ONNX file can be pruned, an ORT file cannot."""
        self._sessions: dict[frozenset[str], ort.InferenceSession] = {}
        self._used: dict[frozenset[str], float] = {}
        """When each session was used last."""
        self._lock = threading.Lock()
        self._run = Runner(str(path), path)
        self._class_inputs: WeakKeyDictionary[ort.InferenceSession, ClassInput] = WeakKeyDictionary()
        self._companions: WeakKeyDictionary[ort.InferenceSession, list[ort.NodeArg]] = WeakKeyDictionary()
        self._file = self._look()
        outputs = self._file.outputs
        text = self._file.metadata.get(contract.METADATA_KEY)
        if text is None:
            raise ModelError(f"{path} has no saliency maps yet; add them with: fastcam export {path}")
        self.metadata = contract.Metadata.of_file(path, text)
        if self.metadata.frame is not None:
            raise ModelError(f"{path} preprocesses frames itself; export it without --frame-input")
        self.maps = tuple(filter(is_saliency_output, outputs))
        """The names of the saliency outputs, in the file's order."""
        self._names = _by_word(self.maps)
        self.words = tuple(self._names)
        """The saliency outputs as names of `contract.OUTPUTS`."""
        if self.metadata.scores not in outputs:
            raise ModelError(f"{path}: its scores output {self.metadata.scores!r} is not there")

    @property
    def has_class_maps(self) -> bool:
        """Whether a class can be chosen."""
        return bool(set(self.words) & set(contract.CLASS_OUTPUTS))

    def output_names(self, words: Sequence[str]) -> list[str]:
        """The outputs in the file for `words`, names of `contract.OUTPUTS`.

        Raises:
            ModelError: The file lacks one; the message has the option that adds it.
        """
        names: list[str] = []
        for word in words:
            if word not in self._names:
                if word not in contract.OUTPUTS:
                    raise ModelError(f"no output {word!r}; one of {', '.join(contract.OUTPUTS)}")
                raise ModelError(self.lacks(word, word))
            names += self._names[word]
        return names

    def lacks(self, what: str, *words: str) -> str:
        """The message for something that is not in the file, with the option that adds `words`."""
        every = ",".join(known for known in contract.OUTPUTS if known in (*self.words, *words))
        has = ", ".join(self.words) or "none"
        return f"{self.path} has no {what} (it has {has}); export it again with --outputs {every}"

    def session(self, words: Sequence[str]) -> ort.InferenceSession:
        """A session that computes the maps of `words`, and no others if the file can be pruned.

        Raises:
            ModelError: The file lacks one of them, or onnxruntime cannot run it.
        """
        names = self.output_names(words)
        key = frozenset(names if self.can_be_cut else self.maps)
        with self._lock:
            session = self._sessions.pop(key, None)
            if session is None:
                while len(self._sessions) >= MAX_SESSIONS:
                    del self._sessions[next(iter(self._sessions))]
                session = self._open(None if key == frozenset(self.maps) else key)
                release_memory()
            self._sessions[key] = session  # at the end: the least recently used is closed first
            self._used[key] = time.monotonic()
        return session

    def close_idle(self, seconds: float) -> None:
        """Close sessions that were idle for so long, except the last used one. Thread-safe.

        Each session has its own copy of the weights, so sessions of unused views waste memory.
        """
        if len(self._sessions) < 2 or not self._lock.acquire(blocking=False):  # one is being opened
            return
        try:
            *others, _ = self._sessions
            idle = [key for key in others if time.monotonic() - self._used.get(key, 0.0) > seconds]
            for key in idle:
                del self._sessions[key]
        finally:
            self._lock.release()
        if idle:
            release_memory()

    def run(
        self, session: ort.InferenceSession, names: Sequence[str], feed: Mapping[str, Array]
    ) -> list[Array]:
        """The outputs `names` of one of the sessions.

        Raises:
            ModelError: onnxruntime failed, or the run took too much memory or too long; see `limits`.
        """
        if session not in self._companions:
            known = [info for info in session.get_inputs() if is_companion(info.name, info.shape)]
            self._companions[session] = known
        if others := self._companions[session]:
            image = self.metadata.image
            feed = {**feed, **companions(others, image.height, image.width, len(feed[image.name]))}
        with ort_errors_as(ModelError, "onnxruntime failed on a frame"):
            return self._run(session, names, feed)

    def image_input(self, session: ort.InferenceSession) -> ort.NodeArg:
        """The input for the picture.

        Raises:
            ModelError: It is not there, or of a type or rank that no frame is turned into; or there are
                inputs that nothing can fill. Inputs with a default value are not among them.
        """
        name = self.metadata.image.name
        image = next((value for value in session.get_inputs() if value.name == name), None)
        if image is None or image.type not in IMAGE_TYPES:
            found = (
                "is not there"
                if image is None
                else f"takes {image.type}, not one of {', '.join(IMAGE_TYPES)}"
            )
            raise ModelError(f"{self.path}: its image input {name!r} {found}")
        if len(image.shape) not in (0, 4):  # without dimensions: the file does not tell them
            raise ModelError(
                f"{self.path}: its image input {name!r} has {count(len(image.shape), 'dimension')}; "
                "pictures have 4"
            )
        known = (name, *contract.CHOICE_INPUTS)
        others = [
            repr(value.name)
            for value in session.get_inputs()
            if value.name not in known and not is_companion(value.name, value.shape)
        ]
        if others:
            raise ModelError(
                f"{self.path}: needs {', '.join(others)}, but only the picture {name!r} can be fed; "
                "run it in a program of your own"
            )
        return image

    def class_input(self, session: ort.InferenceSession) -> ClassInput:
        """How a session of this model takes the class; looked up once per session."""
        if session not in self._class_inputs:
            self._class_inputs[session] = ClassInput.of(session)
        return self._class_inputs[session]

    def describe(self) -> str:
        """One line about what runs where, once a session is open, and whether the maps are approximate."""
        text = describe(next(iter(self._sessions.values())), self.path, self._file, compiled=self._compiled)
        left_out = self.metadata.approximation
        return f"{text}, approximate maps: {left_out}" if left_out else text

    def _look(self) -> Summary:
        """The summary of the file."""
        if self.can_be_cut:
            return summarize_file(self.path)
        session = self._open()
        file = summarize_ort(self.path, session)
        self._sessions[frozenset(filter(is_saliency_output, file.outputs))] = session
        return file

    def _open(self, maps: frozenset[str] | None = None) -> ort.InferenceSession:
        """A session for these maps, or for all."""
        return self._opener(
            self.path, maps, threads=self._threads, provider=self._provider, compiled=self._compiled
        )


def _by_word(maps: Sequence[str]) -> dict[str, list[str]]:
    """The outputs of the file by name of `contract.OUTPUTS`."""
    scales = [name for name in maps if name.startswith(contract.SCALE_PREFIX)]
    found = {
        word: scales if word == "scales" else [n for n in contract.output_names((word,), 0) if n in maps]
        for word in contract.OUTPUTS
    }
    return {word: names for word, names in found.items() if names}


def release_memory() -> None:
    """Return freed memory to the system: glibc keeps most of the memory of a closed session.

    A no-op with any other C library.
    """
    with suppress(OSError, TypeError, AttributeError):
        ctypes.CDLL(None).malloc_trim(0)
