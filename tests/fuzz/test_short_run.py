"""A short run of every target, with the same files each time; `make fuzz` is the long run."""

from __future__ import annotations

import importlib.util
import subprocess
import sys
from collections.abc import Callable, Sequence
from pathlib import Path
from random import Random

import pytest
from support.paths import ROOT

from fuzz import seeds
from fuzz.mutate import mutate_bytes, mutate_json, mutate_model
from fuzz.pool import TROUBLES, run_cases
from fuzz.targets import TARGETS
from fuzz.worker import complaint

Mutation = Callable[[bytes, Random], bytes]

CORPORA: dict[str, tuple[Callable[[], Sequence[bytes]], Mutation, int]] = {
    "models": (seeds.plain_models, mutate_model, 30),
    "metadata": (
        lambda: [text.encode() for text in seeds.metadata_texts()],
        lambda data, random: mutate_json(data.decode(), random).encode(),
        300,
    ),
    "ort": (seeds.ort_models, mutate_bytes, 30),
    "http": (lambda: seeds.HTTP_REQUESTS, mutate_bytes, 2_000),
    "uris": (lambda: [uri.encode() for uri in seeds.URIS], mutate_bytes, 2_000),
}


@pytest.mark.slow
@pytest.mark.parametrize("name", CORPORA)
def test_a_target(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """For any input, only errors that a user may see are raised."""
    monkeypatch.setattr("fastcam_runtime.model.watching.LOOP_SECONDS", 0.3)
    corpus, mutation, count = CORPORA[name]
    random = Random(name)
    for data in corpus():
        TARGETS[name](data)
    for _ in range(count):
        TARGETS[name](mutation(random.choice(corpus()), random))


@pytest.mark.parametrize(
    ("code", "said", "found"),
    [
        (0, "1 scale\n", ""),
        (2, "note: a\nfastcam: error: b\n", ""),
        (2, "libpng warning\nfastcam: error: b\n", "more than one line"),
        (2, "", "not one error"),
        (1, "Traceback (most recent call last):\n", "traceback"),
        (2, "fastcam: error: KeyError: please report it\n", "traceback"),
        (-6, "", "exit code -6"),
        (0, "\x1b[31m", "control characters"),
    ],
)
def test_what_counts_as_trouble(code: int, said: str, found: str) -> None:
    told = complaint(code, said)
    assert told.startswith(found)
    assert bool(told) == bool(found)


@pytest.mark.slow
def test_the_commands(tmp_path: Path) -> None:
    """Two workers, real commands: no traceback, no abort, no run that is too long or too large."""
    cases = [*(("models", number) for number in range(12)), *(("metadata", number) for number in range(4))]
    figures = run_cases(cases, 1, tmp_path)
    assert figures.counts["cases"] == 16
    assert figures.counts["runs"] == 64
    assert {kind: figures.counts[kind] for kind in TROUBLES} == dict.fromkeys(TROUBLES, 0), figures.troubles


def test_a_run_that_cannot_go_on_is_no_success(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("sys.executable", "/nowhere/python")
    with pytest.raises(FileNotFoundError, match="nowhere"):
        run_cases([("models", 0), ("models", 1)], 2)


@pytest.mark.slow
@pytest.mark.skipif(importlib.util.find_spec("atheris") is None, reason="atheris is not installed")
def test_a_short_run_guided_by_coverage() -> None:
    command = [sys.executable, "-m", "fuzz.coverage_guided", "http", "-runs=2000"]
    done = subprocess.run(command, cwd=ROOT / "tests", capture_output=True, text=True, timeout=120)
    assert done.returncode == 0, done.stderr[-2000:]
