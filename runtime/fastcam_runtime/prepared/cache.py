"""Open a grafted file in its fastest form: made at the first start, then taken from the cache."""

from __future__ import annotations

import functools
import hashlib
import logging
import time
from collections.abc import Collection
from pathlib import Path

import onnxruntime as ort

from .. import native
from ..contract import METADATA_KEY, Metadata
from ..errors import ModelError
from ..model import device, providers
from ..model.file import Summary, is_ort, sha256, summarize_file
from ..model.pruning import cut_file
from ..model.session import open_cut, open_session
from ..model.watching import has_loop
from . import store
from .fingerprint import content_hash
from .preparing import NothingToPrepareError, find_difference, lay_out, optimize

logger = logging.getLogger(__name__)

FASTER = 0.8
"""If nothing can be prepared, the optimised model is kept if it opens in this share of the time."""
PREPARED, OPTIMISED = "prepared", "optimised"


def open_cached(
    path: Path,
    maps: Collection[str] | None = None,
    *,
    threads: int | None = None,
    provider: str = "auto",
    compiled: bool = True,
) -> ort.InferenceSession:
    """A session with the maps of a grafted file, as `open_cut` opens it, but from the cache.

    The first time, the file is prepared for this device, compared with the ordinary file and cached. If that
    fails for any reason, the ordinary file is opened. Only sessions on the CPU are cached.

    Args:
        path: The `.onnx` or `.ort` file.
        maps: The saliency outputs to compute; None for all.
        threads: Threads that share one operator; None for the default.
        provider: A name of `providers.NAMES`, or `auto`.
        compiled: Use the compiled kernels if they were built.

    Raises:
        ModelError: The file is missing, unreadable or not a model that onnxruntime can run.
        FastcamError: The provider is not available.
    """
    ordinary = functools.partial(open_cut, path, maps, threads=threads, provider=provider, compiled=compiled)
    if is_ort(path) or list(providers.choose(provider)) != [providers.CPU]:
        return ordinary()
    cache = store.Store()
    try:
        key = _key(content_hash(path, cache.notes), maps, compiled=compiled)
        entry = cache.find(key)
    except OSError:  # of the model itself: the ordinary path reports it
        return ordinary()
    if entry is not None and entry.bytes:
        try:
            return open_session(cache.model(key), threads=threads, provider="cpu", compiled=compiled)
        except ModelError:
            cache.discard(key)
    elif entry is not None:
        return ordinary()
    file = summarize_file(path)
    text = file.metadata.get(METADATA_KEY)
    if text is None or _size(path, file) > store.LIMIT:
        return ordinary()
    metadata = Metadata.of_file(path, text)
    if metadata.prepared or metadata.frame is not None or has_loop(path):
        return ordinary()
    try:
        return _make(cache, key, path, maps, metadata, threads=threads, compiled=compiled)
    except (OSError, ModelError) as error:
        logger.info("%s was not prepared for this device: %s", path.name, error)
        return ordinary()


def _key(content: str, maps: Collection[str] | None, *, compiled: bool) -> str:
    """The name of an entry: everything that the form of a file depends on."""
    library = native.library_path()
    parts = (
        content,
        device.package_version(),
        device.here(),
        device.processor(),
        _library_hash(library) if compiled and library is not None and native.usable() else "",
        "all" if maps is None else " ".join(sorted(maps)),
    )
    return hashlib.sha256("\n".join(parts).encode()).hexdigest()[:40]


@functools.cache
def _library_hash(path: Path) -> str:
    return sha256(path)


def _size(path: Path, file: Summary) -> int:
    return sum((path.parent / name).stat().st_size for name in (path.name, *file.weights))


def _make(
    cache: store.Store,
    key: str,
    path: Path,
    maps: Collection[str] | None,
    metadata: Metadata,
    *,
    threads: int | None,
    compiled: bool,
) -> ort.InferenceSession:
    """Make the entry, and return the fastest of the sessions that were opened for it.

    Raises:
        ModelError: The file cannot be run or saved.
        OSError: The disk is full or cannot be written.
    """
    started = time.perf_counter()
    data = None if maps is None else cut_file(path, maps)
    with cache.draft() as model:
        session = optimize(path, model, data=data, threads=threads, compiled=compiled)
        try:
            if not (compiled and native.usable()):
                raise NothingToPrepareError("no compiled kernels")
            session, form = lay_out(session, model, metadata, path.parent, threads=threads).session, PREPARED
        except NothingToPrepareError:
            faster = _opens_faster(session, model, path, data, metadata, threads, compiled=compiled)
            session, form = (faster, OPTIMISED) if faster is not None else (session, "nothing to gain")
        except ModelError as error:
            form = str(error)
        if form not in (PREPARED, OPTIMISED):
            model.unlink(missing_ok=True)
        outputs = "all maps" if maps is None else ", ".join(sorted(maps)) or "no maps"
        try:
            cache.publish(model, key, str(path.resolve()), outputs, form)
        except OSError as error:
            logger.info("%s: nothing kept for the next start: %s", path.name, error.strerror)
            return session
    if form == PREPARED:
        logger.info(
            "%s: prepared for this device in %.1f s; the next start finds it in %s",
            path.name,
            time.perf_counter() - started,
            cache.folder,
        )
    return session


def _opens_faster(
    ordinary: ort.InferenceSession,
    optimised: Path,
    path: Path,
    data: bytes | None,
    metadata: Metadata,
    threads: int | None,
    *,
    compiled: bool,
) -> ort.InferenceSession | None:
    """A session for the model that onnxruntime saved, if it is the same and opens clearly faster."""
    try:
        started = time.process_time()
        session = open_session(optimised, threads=threads, provider="cpu", compiled=compiled)
        seconds = time.process_time() - started
        if find_difference(ordinary, session, metadata, loops=has_loop(optimised)):
            return None
    except ModelError:
        return None
    started = time.process_time()
    open_session(path, data=data, threads=threads, provider="cpu", compiled=compiled)
    return session if seconds < FASTER * (time.process_time() - started) else None
