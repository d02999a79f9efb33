"""A grafted file, and the sessions that run it with all or only some of its maps."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import onnxruntime as ort

from . import contract
from .branch import cut, is_saliency_output
from .errors import ModelError
from .session import describe, open_session, read_metadata

MAX_SESSIONS = 3
"""Sessions kept per model: each holds the weights once more."""


class Model:
    """A file made by `fastcam export`. A session with fewer maps is cut from it when it is first asked for.

    Args:
        path: The `.onnx` or `.ort` file.
        threads: Threads that share one operator; None for the default.
        provider: A name of `providers.NAMES`, or `auto`.
        native: Use the compiled SMOE kernel where it was built.
    """

    def __init__(
        self, path: Path, *, threads: int | None = None, provider: str = "auto", native: bool = True
    ) -> None:
        self.path = path
        self._threads = threads
        self._provider = provider
        self._native = native
        whole = open_session(path, threads=threads, provider=provider, native=native)
        self.metadata = read_metadata(whole, path)
        outputs = {output.name: output.shape for output in whole.get_outputs()}
        if self.metadata.scores not in outputs:
            raise ModelError(f"{path}: its scores output {self.metadata.scores!r} is not there")
        self.maps = tuple(sorted(filter(is_saliency_output, outputs), key=list(outputs).index))
        """The names of the saliency outputs, in the file's order."""
        self.words = tuple(word for word in contract.OUTPUTS if self._names_of(word))
        """The same as words of `contract.OUTPUTS`."""
        self.has_class_input = self.reads_class(whole)
        self.class_count = _class_count(outputs[self.metadata.scores], self.metadata.labels)
        image = next((i for i in whole.get_inputs() if i.name == self.metadata.image.name), None)
        if image is None:
            raise ModelError(f"{path}: its image input {self.metadata.image.name!r} is not there")
        self.image_type: str = image.type
        """The element type of the picture's input, as onnxruntime words it: `tensor(float)`."""
        self.batch: int | None = image.shape[0] if isinstance(image.shape[0], int) else None
        """The batch size; None where it is free."""
        self.runs_on = describe(whole, path)
        """One line about what runs it."""
        self._whole: ort.InferenceSession | None = whole
        self._sessions: dict[frozenset[str], ort.InferenceSession] = {}

    @property
    def can_be_cut(self) -> bool:
        """Whether maps that are not wanted cost nothing: only an ONNX file can be cut, an ORT file cannot."""
        return self.path.suffix.lower() != ".ort"

    def output_names(self, words: Sequence[str]) -> list[str]:
        """The outputs in the file that `words` of `contract.OUTPUTS` stand for.

        Raises:
            ModelError: The file lacks one; the message tells the command that adds it.
        """
        names: list[str] = []
        for word in words:
            found = self._names_of(word)
            if not found:
                raise ModelError(self.lacks(word))
            names += found
        return names

    def lacks(self, *words: str) -> str:
        """The message for outputs that are not in the file."""
        unknown = [word for word in words if word not in contract.OUTPUTS]
        if unknown:
            return f"no output {unknown[0]!r}; one of {', '.join(contract.OUTPUTS)}"
        every = ",".join(word for word in contract.OUTPUTS if word in (*self.words, *words))
        has = ", ".join(self.words) or "none"
        again = f"export the original again with: --outputs {every}"
        return f"{self.path} has no {words[0]} (it has: {has}); {again}"

    def session(self, words: Sequence[str]) -> ort.InferenceSession:
        """A session that computes the maps of `words`, and no others where the file can be cut."""
        key = frozenset(self.output_names(words) if self.can_be_cut else self.maps)
        session = self._sessions.pop(key, None)
        if session is None:
            if self._whole is not None and key == frozenset(self.maps):
                session = self._whole
            self._whole = None  # opened to read the file; whoever needs less should not pay for it
            while len(self._sessions) >= MAX_SESSIONS:
                del self._sessions[next(iter(self._sessions))]
            session = session or self._open_cut(key)
        self._sessions[key] = session  # the last used is the last to go
        return session

    @staticmethod
    def reads_class(session: ort.InferenceSession) -> bool:
        """Whether the session has the input `saliency_class`."""
        inputs = [*session.get_inputs(), *session.get_overridable_initializers()]
        return any(value.name == contract.CLASS_INPUT for value in inputs)

    def _open_cut(self, keep: frozenset[str]) -> ort.InferenceSession:
        if keep == frozenset(self.maps):
            data = None
        else:
            try:
                data = cut(self.path.read_bytes(), keep)
            except ModelError as error:
                raise ModelError(f"{self.path}: {error}") from error
            except OSError as error:
                raise ModelError(f"{self.path}: cannot be read: {error.strerror}") from error
        return open_session(
            self.path, data=data, threads=self._threads, provider=self._provider, native=self._native
        )

    def _names_of(self, word: str) -> list[str]:
        if word == "scales":
            return [name for name in self.maps if name.startswith(contract.SCALE_PREFIX)]
        return [name for name in contract.output_names((word,), 0) if name in self.maps]


def _class_count(shape: Sequence[int | str | None], labels: Sequence[str]) -> int | None:
    """The classes of a scores output N×C or N×C×1×1; the number of labels where the file leaves C free."""
    sizes = shape[1:]
    count = 1
    for size in sizes:
        if not isinstance(size, int):
            return len(labels) or None
        count *= size
    return count if sizes else len(labels) or None
