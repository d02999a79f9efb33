"""`fastcam run` as a process: signals, pages, and memory."""

from __future__ import annotations

import http.client
import json
import re
import shutil
import signal
import ssl
import subprocess
import sys
import time
import urllib.request
from pathlib import Path

import cv2
import numpy as np
import pytest
from support.processes import fastcam, started
from support.videos import frames_of
from support.waiting import until


@pytest.mark.slow
@pytest.mark.parametrize(
    ("number", "times"), [(signal.SIGTERM, 1), (signal.SIGINT, 1), (signal.SIGHUP, 1), (signal.SIGTERM, 300)]
)
def test_a_signal_while_recording_leaves_a_video_that_plays(
    graft: Path, tmp_path: Path, number: int, times: int
) -> None:
    out, figures = tmp_path / "out.mp4", tmp_path / "figures.json"
    source = "test://?size=320x240&fps=50"
    with fastcam(
        "run", graft, source, out, "--fps", "50", "--loop", "--json", figures, "--threads", "1"
    ) as process:
        until(lambda: any(path.stat().st_size > 5000 for path in tmp_path.glob("*.mp4")) or part_of(tmp_path))
        for _ in range(times):
            process.send_signal(number)
        printed, errors = process.communicate(timeout=20)
    assert process.returncode == 0, errors
    assert "Traceback" not in errors
    frames = frames_of(out)
    assert len(frames) == json.loads(figures.read_text())["frames"] > 0
    assert f"{len(frames)} frames" in printed
    assert sorted(path.name for path in tmp_path.iterdir()) == ["figures.json", "out.mp4"]


def part_of(folder: Path) -> bool:
    """Whether a recording has begun, under any name."""
    return any(path.stat().st_size > 5000 for path in folder.glob(".*.mp4"))


@pytest.mark.slow
def test_a_second_ctrl_c_quits_at_once(graft: Path) -> None:
    program = f"""
import sys, time
import fastcam_runtime.sinks.null as null
from fastcam_runtime.cli.main import main
def close(self):
    print("closing", flush=True)
    time.sleep(60)
null.NullSink.close = close
null.NullSink.write = lambda self, picture, status: print("writing", flush=True)
sys.exit(main(["run", {str(graft)!r}, "test://", "null://", "--loop", "--fps", "20"]))
"""
    with started("-c", program) as process:
        assert process.stdout is not None
        assert process.stdout.readline() == "writing\n"
        process.send_signal(signal.SIGINT)
        while process.stdout.readline() != "closing\n":
            pass
        process.send_signal(signal.SIGINT)
        assert process.wait(timeout=10) == -signal.SIGINT


@pytest.mark.slow
def test_the_live_page_of_a_run_can_be_opened(graft: Path) -> None:
    import urllib.request

    with fastcam(
        "run", graft, "test://", "http://127.0.0.1:0", "--loop", "--fps", "20", "--threads", "1"
    ) as process:
        assert process.stderr is not None
        url = next(word for line in process.stderr for word in line.split() if word.startswith("http://127"))
        with urllib.request.urlopen(url.rstrip(".,;"), timeout=10) as answer:
            assert answer.status == 200
        process.send_signal(signal.SIGTERM)
        process.communicate(timeout=20)
    assert process.returncode == 0


@pytest.mark.slow
def test_a_photo_stays_until_it_is_closed(graft: Path, tmp_path: Path) -> None:
    import urllib.request

    cv2.imwrite(str(tmp_path / "photo.png"), np.full((48, 64, 3), 90, np.uint8))
    with fastcam("run", graft, tmp_path / "photo.png", "http://127.0.0.1:0", "--threads", "1") as process:
        assert process.stderr is not None
        told = []
        for line in process.stderr:
            told.append(line)
            if "stays until" in line:
                break
        url = next(word for line in told for word in line.split() if word.startswith("http://127"))
        time.sleep(2)
        assert process.poll() is None
        with urllib.request.urlopen(url.rstrip(".,;") + "snapshot.jpg", timeout=10) as answer:
            assert answer.status == 200
        process.send_signal(signal.SIGTERM)
        printed, _ = process.communicate(timeout=20)
    assert process.returncode == 0
    assert "photo.png: " in printed
    assert told[-1].endswith("stays until you press Ctrl-C here\n")  # a page has no key for it


@pytest.mark.slow
def test_memory_does_not_grow(graft: Path) -> None:
    """A short soak; benchmarks/endurance/soak.py has the long one."""
    program = f"""
from fastcam_runtime import Explainer
from fastcam_runtime.measure import system
from fastcam_runtime.live.controls import Controls
from fastcam_runtime.live.loop import Loop, LoopOptions
from fastcam_runtime.sinks import Sink
from fastcam_runtime.sources import open_source

class Watch(Sink):
    seen = 0
    rss = []
    def write(self, picture, status):
        self.seen += 1
        if self.seen % 500 == 0:
            self.rss.append(system.rss_bytes())

sink = Watch()
source = open_source("test://?size=160x120", loop=True)
explainer = Explainer({str(graft)!r}, threads=1, outputs=["saliency_map"])
Loop(explainer, source, [sink], Controls(("overlay",)), None, LoopOptions(smooth=0.5, frames=3000)).run()
print(max(sink.rss[1:]) - sink.rss[0])
"""
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, timeout=120)
    assert done.returncode == 0, done.stderr
    assert int(done.stdout) < 5_000_000


@pytest.mark.slow
def test_a_running_page_is_watched_by_programs(graft: Path, tmp_path: Path) -> None:
    """Health, metrics and lines of JSON while the loop runs; evidence and a recording when it has ended."""
    kept = tmp_path / "kept"
    keep = ["--keep-in", kept, "--keep-when", "every 0.2s"]
    options = ["--loop", "--threads", "1", "--jsonl", "-", *keep]
    with fastcam("run", graft, "test://?fps=20", "http://127.0.0.1:0", *options) as process:
        assert process.stderr is not None
        assert process.stdout is not None
        address = next(
            match[1]
            for line in process.stderr
            if (match := re.search(r"live page at http://([\d.:]+)/", line))
        )
        lines = [json.loads(process.stdout.readline()) for _ in range(5)]
        assert [line["frame"] for line in lines] == [0, 1, 2, 3, 4]

        def get(path: str, body: str | None = None) -> str:
            connection = http.client.HTTPConnection(address, timeout=20)
            headers = {"Content-Type": "application/json"} if body else {}
            connection.request("POST" if body else "GET", path, body, headers)
            text = connection.getresponse().read().decode()
            connection.close()
            return text

        assert get("/healthz") == "ok\n"

        def frames() -> int:
            return int(re.findall(r"^fastcam_frames_total (\d+)$", get("/metrics"), re.MULTILINE)[0])

        until(lambda: frames() >= 5)  # a frame is counted after its line is written
        get("/control", '{"recording": true}')
        until(lambda: any(kept.glob(".*.mp4")))
        until(lambda: json.loads(get("/status"))["recorder"]["seconds"] > 0.5)
        process.send_signal(signal.SIGTERM)
        printed, errors = process.communicate(timeout=20)
    assert process.returncode == 0, errors
    assert all(json.loads(line) for line in printed.splitlines())  # only JSON on standard output
    assert "end to end" in errors
    (recording,) = kept.glob("*.mp4")
    assert len(frames_of(recording)) > 5
    assert json.loads(next(kept.glob("*/manifest.json")).read_text())["reason"] == "every 0.2s"
    assert not list(kept.glob(".*"))


@pytest.mark.slow
def test_a_page_with_a_token_from_a_file_by_https(graft: Path, tmp_path: Path) -> None:
    if shutil.which("openssl") is None:
        pytest.skip("no openssl to make a certificate with")
    (tmp_path / "token").write_text("0123456789abcdef\nnot this\n")
    options = ["--loop", "--threads", "1", "--token-file", tmp_path / "token", "--https"]
    cache = {"XDG_CACHE_HOME": str(tmp_path)}
    with fastcam("run", graft, "test://", "http://127.0.0.1:0", *options, environment=cache) as process:
        assert process.stderr is not None
        told = []
        for line in process.stderr:
            told.append(line)
            if "live page at" in line:
                break
        url = next(word for word in told[-1].split() if word.startswith("https://127"))
        trusting = ssl.create_default_context(cafile=str(next(tmp_path.rglob("*.crt"))))
        with urllib.request.urlopen(f"{url}status?token=0123456789abcdef", context=trusting) as answer:
            assert answer.status == 200
        process.send_signal(signal.SIGTERM)
        process.communicate(timeout=20)
    assert process.returncode == 0
    assert any("the certificate is self-signed" in line for line in told)
