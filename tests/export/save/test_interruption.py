"""Ctrl-C, SIGTERM and SIGHUP in `fastcam tune` and `fastcam export`: real processes, real signals."""

from __future__ import annotations

import os
import signal
import tempfile
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import fastcam_models
import numpy as np
import onnx
import pytest
from fastcam_export import export
from fastcam_export.save import interruption
from fastcam_export.save.interruption import interrupted_once, temporary_folder
from support.networks import small_cnn
from support.processes import fastcam, started, terminal_signals
from support.running import picture, run

SIGNALS = [(signal.SIGINT, 130), (signal.SIGTERM, 143), (signal.SIGHUP, 129)]


@pytest.fixture(autouse=True)
def _as_from_a_terminal() -> Iterator[None]:
    with terminal_signals():
        yield


def interrupt(arguments: list[str], folder: Path, number: int, begun: Callable[[], bool]) -> tuple[int, str]:
    """Start `fastcam`, with its temporary files in `folder`, and stop it once it has begun.

    Returns:
        The exit code, and what was printed on stderr.
    """
    with fastcam(*arguments, environment={"TMPDIR": str(folder)}) as process:
        end = time.monotonic() + 60
        while not begun():
            assert process.poll() is None, "ended too early"
            assert time.monotonic() < end, "did not begin"
            time.sleep(0.005)
        for _ in range(3):  # an impatient person
            process.send_signal(number)
        _, errors = process.communicate(timeout=20)
    return process.returncode, errors


@pytest.mark.slow
def test_a_closed_terminal_does_not_end_what_nohup_protects(tmp_path: Path) -> None:
    plain, out = tmp_path / "plain.onnx", tmp_path / "out.onnx"
    onnx.save(small_cnn(), plain)
    program = (
        "import os, signal, sys; import fastcam_export.api as api; write = api._write\n"
        "api._write = lambda *a: os.kill(os.getpid(), signal.SIGHUP) or write(*a)\n"
        "from fastcam_runtime.cli.main import main; sys.exit(main(sys.argv[1:]))"
    )
    for ignored, code in ((signal.SIGHUP, 0), (None, 129)):
        with started("-c", program, "export", plain, out, ignored=ignored) as process:
            _, errors = process.communicate(timeout=60)
        assert process.returncode == code, errors


@pytest.mark.slow
@pytest.mark.parametrize(("number", "code"), SIGNALS)
def test_tune(tmp_path: Path, number: int, code: int) -> None:
    model, folder, out = tmp_path / "plain.onnx", tmp_path / "temporary", tmp_path / "tuned.onnx"
    onnx.save(small_cnn(), model)
    folder.mkdir()
    arguments = ["tune", str(model), "--budget", "5%", "--rounds", "1000000", "--threads", "1"]
    returned, errors = interrupt(
        [*arguments, "--out", str(out)], folder, number, lambda: any(folder.glob("fastcam-tune-*/form.onnx"))
    )
    assert returned == code, errors
    assert "Traceback" not in errors
    # Importing onnxruntime leaves a file `.ses` there.
    assert [path.name for path in folder.iterdir() if "fastcam" in path.name] == []
    assert sorted(path.name for path in tmp_path.iterdir()) == ["plain.onnx", "temporary"]


@pytest.mark.slow
@pytest.mark.parametrize(("number", "code"), SIGNALS)
def test_export(tmp_path: Path, number: int, code: int) -> None:
    folder = tmp_path / "folder"
    folder.mkdir()
    out = folder / "out.onnx"
    out.write_text("the good one")
    returned, errors = interrupt(
        ["export", str(fastcam_models.default_model()), str(out)],
        tmp_path,
        number,
        lambda: any(folder.glob(".fastcam-*")),
    )
    assert returned == code, errors
    assert "Traceback" not in errors
    assert [path.name for path in folder.iterdir()] == ["out.onnx"]
    assert out.read_text() == "the good one"


IN_PROCESS = [(signal.SIGINT, KeyboardInterrupt), (signal.SIGTERM, SystemExit)]


@pytest.mark.parametrize(("number", "expected"), IN_PROCESS)
def test_a_folder_that_is_just_being_made(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, number: int, expected: type[BaseException]
) -> None:
    make = tempfile.mkdtemp

    def interrupted(*arguments: Any, **options: Any) -> str:
        folder = make(*arguments, **options)
        signal.raise_signal(number)
        return folder

    monkeypatch.setattr(tempfile, "mkdtemp", interrupted)
    with pytest.raises(expected), interrupted_once(), temporary_folder("a-", tmp_path):
        pytest.fail("went on")
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize(("number", "expected"), IN_PROCESS)
def test_a_folder_that_is_just_being_removed(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, number: int, expected: type[BaseException]
) -> None:
    """The removal is not interrupted: otherwise it would close a file twice and fail."""
    close = os.close
    raised = []

    def interrupted(descriptor: int) -> None:
        close(descriptor)
        if not raised:
            raised.append(number)
            signal.raise_signal(number)

    with pytest.raises(expected), interrupted_once(), temporary_folder("a-", tmp_path):
        monkeypatch.setattr(os, "close", interrupted)
    assert raised
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("expected", [KeyboardInterrupt, SystemExit])
def test_a_signal_before_the_removal_began(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, expected: type[BaseException]
) -> None:
    remove, calls = interruption._remove, []

    def interrupted(folder: str) -> None:
        calls.append(folder)
        if len(calls) == 1:
            raise expected
        remove(folder)

    monkeypatch.setattr(interruption, "_remove", interrupted)
    with pytest.raises(expected), interrupted_once(), temporary_folder("a-", tmp_path):
        pass
    assert len(calls) == 2
    assert list(tmp_path.iterdir()) == []


@pytest.mark.slow
@pytest.mark.parametrize(("number", "expected"), IN_PROCESS)
def test_weights_that_are_there_before_their_model(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, number: int, expected: type[BaseException]
) -> None:
    """An earlier export is replaced as a whole: its model is never beside the weights of the new one."""
    (tmp_path / "folder").mkdir()
    target = tmp_path / "folder" / "out.onnx"
    for name, channels in {"earlier": (8, 12, 16), "new": (16, 8, 12)}.items():
        onnx.save(
            small_cnn(channels=channels), tmp_path / f"{name}.onnx",
            save_as_external_data=True, location=f"{name}.data", size_threshold=100,
        )  # fmt: skip
    export(tmp_path / "earlier.onnx", target)
    replace, moved = os.replace, []

    def interrupted(place: Path, new_place: Path) -> None:
        replace(place, new_place)
        moved.append(new_place.name)
        if len(moved) == 1:
            signal.raise_signal(number)

    monkeypatch.setattr(os, "replace", interrupted)
    with pytest.raises(expected), interrupted_once():
        export(tmp_path / "new.onnx", target)
    assert moved == ["out.onnx.data.1", "out.onnx"]
    assert sorted(path.name for path in target.parent.iterdir()) == ["out.onnx", "out.onnx.data.1"]
    x = picture(1, 3, 64, 64)
    expected_scores = run(tmp_path / "new.onnx", input=x)["logits"]
    np.testing.assert_array_equal(run(target, input=x)["logits"], expected_scores)


_COMPUTES = """
import ctypes, os, signal, sys, threading, time
from fastcam_export.save import interruption

results, seconds, *delays = map(float, sys.argv[1:])
interruption._PATIENCE, interruption._TWICE = 0.4, 0.2

def send():
    for delay in delays:
        time.sleep(delay)
        os.kill(os.getpid(), signal.SIGINT)

with interruption.interrupted_once(), interruption.waiting_for_results(lambda: results):
    try:
        threading.Thread(target=send, daemon=True).start()
        signal.pthread_sigmask(signal.SIG_BLOCK, [signal.SIGINT])  # else it would end usleep
        ctypes.CDLL(None).usleep(int(seconds * 1e6))
        time.sleep(60)
    except KeyboardInterrupt:
        interruption.keep_results()
        print("the results so far")
"""


@pytest.mark.slow
@pytest.mark.parametrize(
    ("arguments", "code", "printed", "told"),
    [
        ((1, 1.5, 0.2), 0, True, True),
        ((1, 1.5, 0.2, 0.0), 0, True, True),  # as `timeout` sends it
        ((1, 30, 0.2, 0.5), 130, False, True),
        ((0, 30, 0.2), 130, False, False),
    ],
    ids=["waits", "twice at once", "again", "nothing to wait for"],
)
def test_a_long_run_is_waited_for_if_there_are_results(
    arguments: tuple[float, ...], code: int, printed: bool, told: bool
) -> None:
    with started("-c", _COMPUTES, *arguments) as process:
        output, errors = process.communicate(timeout=20)
    assert process.returncode == code, errors
    assert ("the results so far" in output) == printed
    assert ("Ctrl-C again ends at once" in errors) == told
