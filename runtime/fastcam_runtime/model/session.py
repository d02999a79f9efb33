"""Open onnxruntime sessions; every failure becomes an error message of one line."""

from __future__ import annotations

import logging
import os
from collections.abc import Collection, Sequence
from pathlib import Path
from typing import Any

import onnxruntime as ort

from .. import native
from ..contract import METADATA_KEY, Metadata
from ..errors import ModelError, first_line
from ..text import count
from . import device, providers
from .file import Summary, is_ort, map_model, summarize_file
from .kernels import describe_kernels
from .pruning import cut_file

logger = logging.getLogger(__name__)

MAX_DEFAULT_THREADS = 4
WEIGHTS_FOLDER = "session.model_external_initializers_file_folder_path"
"""The session option with the folder of the external weights, for a model that is given as bytes."""

_FINDS_WEIGHTS = (1, 21)
"""The first release of onnxruntime that supports this option for weights on the CPU."""
_THREADS_PER_CORE = 8
"""Most threads per core; more are a typing error: threads synchronise many times per run."""


def default_threads() -> int:
    """The physical cores this process may use, four at most: more rarely helps a network at batch 1."""
    try:
        cpus = os.sched_getaffinity(0)
    except AttributeError:  # only Linux has it
        cpus = set(range(os.cpu_count() or 1))
    cores = set()
    for cpu in cpus:
        siblings = Path(f"/sys/devices/system/cpu/cpu{cpu}/topology/thread_siblings_list")
        try:
            cores.add(siblings.read_text())
        except OSError:
            cores.add(str(cpu))
    return max(1, min(MAX_DEFAULT_THREADS, len(cores)))


def open_session(
    path: Path,
    *,
    data: bytes | None = None,
    threads: int | None = None,
    provider: str = "auto",
    compiled: bool = True,
    profile: Path | None = None,
    optimized: Path | None = None,
) -> ort.InferenceSession:
    """A session for the file at `path`, or for `data` pruned from it (external weights are beside `path`).

    An accelerator that fails to start is replaced by the CPU: `session.get_providers()[0]` says what runs.

    Args:
        path: The `.onnx` or `.ort` file.
        data: The bytes of a model pruned from that file.
        threads: Threads that share one operator; None for `default_threads()`.
        provider: A name of `providers.NAMES`, or `auto`.
        compiled: Use the compiled kernels if they were built.
        profile: The path of the session's profile; onnxruntime adds the date and a suffix.
        optimized: Where onnxruntime saves the model as it optimised it for the CPU.

    Raises:
        ModelError: The file is missing, unreadable or not a model that onnxruntime can run.
        FastcamError: The provider is not available.
    """
    _check_threads(threads)
    chosen = list(providers.choose(provider))
    map_model(path).close()  # a missing or unreadable file gets our message
    model = str(path) if data is None else data
    if chosen != [providers.CPU]:
        session = _start_accelerator(model, _options(path, data, threads, profile), chosen)
        device.check(path, metadata_of(path, session), compiled=compiled, provider_is_cpu=False)
        if session is not None:
            return session
        logger.warning("%s did not start; the CPU runs instead", providers.short_name(chosen[0]))
    options = _options(path, data, threads, profile)
    if optimized is not None:
        options.optimized_model_filepath = str(optimized)
    if compiled:
        native.register(options)
    try:
        session = start_session(model, options)
    except Exception as error:  # onnxruntime raises a dozen types, some of them plain RuntimeError
        # A file that is not a model, or is for another device, is refused with a clearer message.
        device.check(path, metadata_of(path, None), compiled=compiled, provider_is_cpu=True)
        _refuse_without_weights(path, data)
        raise ModelError(f"{path}: onnxruntime cannot run it: {first_line(error)}") from error
    device.check(path, metadata_of(path, session), compiled=compiled, provider_is_cpu=True)
    return session


def quiet_options() -> ort.SessionOptions:
    """Options for a session that logs nothing: failures are raised, and the log would only repeat them."""
    options = ort.SessionOptions()
    options.log_severity_level = 4
    return options


def start_session(
    model: str | bytes, options: ort.SessionOptions, chosen: Sequence[str] = (providers.CPU,)
) -> ort.InferenceSession:
    """A session whose inputs and outputs have readable names; the first provider is preferred.

    Raises:
        Exception: Any error of onnxruntime, or a text in the model is not UTF-8.
    """
    try:
        # The fallback of its Python part would print four lines and try the same file once more.
        session = ort.InferenceSession(model, options, providers=list(chosen), enable_fallback=0)
        for value in (*session.get_inputs(), *session.get_outputs(), *session.get_overridable_initializers()):
            _ = value.name, value.shape
    except UnicodeDecodeError as error:  # in a name, or in the text of another error
        raise ValueError("a text in it is not UTF-8") from error
    return session


def open_cut(
    path: Path,
    maps: Collection[str] | None = None,
    *,
    threads: int | None = None,
    provider: str = "auto",
    compiled: bool = True,
) -> ort.InferenceSession:
    """A session that computes only these saliency outputs of a file; None for all. See `open_session`."""
    data = None if maps is None else cut_file(path, maps)
    return open_session(path, data=data, threads=threads, provider=provider, compiled=compiled)


def metadata_of(path: Path, session: ort.InferenceSession | None) -> dict[str, str]:
    """The metadata of a file, read from the file itself if no session could be opened.

    Raises:
        ModelError: It is an ORT file, and a text in its metadata is not UTF-8.
    """
    known = None if session is None else _session_metadata(session)
    if known is not None:
        return known
    if not is_ort(path):
        return summarize_file(path).metadata
    if session is not None:
        raise ModelError(f"{path}: a text in its metadata is not UTF-8")
    return {}


def _session_metadata(session: ort.InferenceSession) -> dict[str, str] | None:
    """The metadata as onnxruntime tells it; None if it cannot, because a text is not UTF-8."""
    try:
        return dict(session.get_modelmeta().custom_metadata_map)
    except UnicodeDecodeError:
        return None


def _options(path: Path, data: bytes | None, threads: int | None, profile: Path | None) -> ort.SessionOptions:
    options = quiet_options()
    options.intra_op_num_threads = default_threads() if threads is None else threads
    options.inter_op_num_threads = 1
    if profile is not None:
        options.enable_profiling = True
        options.profile_file_prefix = str(profile)
    if data is not None:
        options.add_session_config_entry(WEIGHTS_FOLDER, str(path.resolve().parent))
    return options


def _start_accelerator(
    model: str | bytes, options: ort.SessionOptions, chosen: list[str]
) -> ort.InferenceSession | None:
    """A session on the first provider; None if it does not start."""
    try:
        session = start_session(model, options, chosen)
    except Exception:  # of a dozen types; if the model is at fault, the CPU will refuse it too
        return None
    # onnxruntime leaves out a provider whose libraries are missing, and runs on the others.
    return session if session.get_providers()[0] == chosen[0] else None


def _refuse_without_weights(path: Path, data: bytes | None) -> None:
    """Refuse a file whose external weights onnxruntime cannot find."""
    if is_ort(path):
        return
    file = summarize_file(path)
    missing = file.missing_weights(path)
    if missing:
        raise ModelError(f"{path} keeps weights in {missing[0]}, which is not beside it; copy it there too")
    version = tuple(map(int, ort.__version__.split(".")[:2]))
    if file.weights and data is not None and version < _FINDS_WEIGHTS:
        raise ModelError(
            f"{path} keeps weights in {file.weights[0]}; onnxruntime {ort.__version__} cannot find them for "
            f"a part of the file, releases from {'.'.join(map(str, _FINDS_WEIGHTS))} on do"
        )


def _check_threads(threads: int | None) -> None:
    """Refuse anything but a number of threads from 1 to 8 per core."""
    if threads is None:
        return
    if not isinstance(threads, int):
        raise ModelError(f"threads is {threads!r}, not a whole number")
    if threads < 1:
        raise ModelError(f"{threads} threads: at least 1 is needed")
    cores = os.cpu_count() or 1
    if threads > _THREADS_PER_CORE * cores:
        raise ModelError(f"{threads} threads: at most {_THREADS_PER_CORE} for each of {cores} cores")


def describe(session: ort.InferenceSession, path: Path, file: Summary, *, compiled: bool) -> str:
    """One line: which file runs where, on how many threads, and what computes its maps."""
    options: Any = session.get_session_options()
    provider = providers.short_name(session.get_providers()[0])
    threads = count_threads(options.intra_op_num_threads)
    return f"{path.name} on {provider}, {threads}, {describe_form(session, file, compiled=compiled)}"


def describe_form(session: ort.InferenceSession, file: Summary, *, compiled: bool) -> str:
    """What computes the maps of a file in this session, and whether it was prepared for this device."""
    kernels = describe_kernels(file, compiled=compiled, on_cpu=session.get_providers()[0] == providers.CPU)
    text = (_session_metadata(session) or file.metadata).get(METADATA_KEY)
    prepared = text is not None and Metadata.from_json(text).prepared
    return f"{kernels}, prepared for this device" if prepared else kernels


def count_threads(threads: int) -> str:
    """`1 thread`, `2 threads`."""
    return count(threads, "thread")
