"""`fastcam run` on real files."""

from __future__ import annotations

import json
import os
import re
import shutil
from pathlib import Path
from typing import Any

import cv2
import numpy as np
import pytest
from fastcam_runtime import Explanation, Geometry, SinkError
from fastcam_runtime.cli.main import main
from fastcam_runtime.detect.detections import Detection
from fastcam_runtime.draw.caption import row_height
from fastcam_runtime.sinks import Status
from fastcam_runtime.sinks.json_lines import DETECT, JsonLines, describe_frame
from support.shared_data import shared
from support.tiny_grafts import LABELS, save_graft
from support.videos import frames_of, rate_of


@pytest.mark.slow
def test_video_in_video_out(
    graft: Path, clip: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    out, figures = tmp_path / "out.mp4", tmp_path / "figures.json"
    arguments = [
        "--view",
        "map",
        "--colormap",
        "gray",
        "--no-caption",
        "--smooth",
        "0",
        "--threads",
        "1",
        "--json",
        str(figures),
    ]
    assert main(["run", str(graft), str(clip), str(out), *arguments]) == 0
    frames, fps = frames_of(out), rate_of(out)
    assert len(frames) == 30
    assert fps == pytest.approx(12.5)
    for i, frame in enumerate(frames):
        columns = np.nonzero(frame[60, :, 0] > 140)[0]
        assert abs(columns.min() - 4 * i) <= 4
        assert abs(columns.max() - (4 * i + 39)) <= 4
    report = json.loads(figures.read_text())
    assert (report["frames"], report["dropped"], report["skipped"]) == (30, 0, 0)
    assert set(report["latency_ms"]) >= {"capture", "preprocess", "inference", "overlay", "sink"}
    assert all({"p50", "p90", "p99", "max"} <= set(stage) for stage in report["latency_ms"].values())
    assert report["rss_start_bytes"] > 10_000_000
    assert report["rss_end_bytes"] > 10_000_000
    printed = capsys.readouterr().out
    assert "30 frames" in printed
    assert "p99" in printed


@pytest.mark.slow
def test_a_real_clip(graft: Path, tmp_path: Path) -> None:
    out = tmp_path / "out.mp4"
    clip = shared("video/bottles.mp4")
    assert main(["run", str(graft), str(clip), str(out), "--frames", "20", "--size", "320x180"]) == 0
    frames = frames_of(out)
    assert len(frames) == 20
    assert frames[0].shape == (180 + row_height(180, 320), 320, 3)  # the caption is below


def test_several_outputs_and_a_photo(graft: Path, tmp_path: Path) -> None:
    photo, one, folder = tmp_path / "photo.png", tmp_path / "one.png", tmp_path / "many"
    cv2.imwrite(str(photo), np.full((50, 70, 3), (0, 200, 0), np.uint8))
    assert main(["run", str(graft), str(photo), str(one), f"{folder}/", "null://", "--class", "blu"]) == 0
    assert cv2.imread(str(one)).shape == (50 + row_height(50, 70), 70, 3)  # the caption is below
    assert [path.name for path in folder.iterdir()] == ["photo.jpg"]


def test_pictures_keep_their_names_in_a_folder(graft: Path, tmp_path: Path, clip: Path) -> None:
    for name in ("one/cat.png", "one/dog.bmp", "one/Cup of tea.jpg", "two/cat.png"):
        (tmp_path / name).parent.mkdir(exist_ok=True)
        cv2.imwrite(str(tmp_path / name), np.full((40, 60, 3), 90, np.uint8))
    (tmp_path / "one" / "broken.png").write_bytes(b"not a picture")

    def written(source: object, output: str) -> list[str]:
        out = tmp_path / "out"
        assert main(["run", str(graft), str(source), f"{out}/{output}", "--frames", "9"]) == 0
        names = sorted(path.name for path in out.iterdir())
        shutil.rmtree(out)
        return names

    assert written(tmp_path / "one", "") == ["Cup of tea.jpg", "cat.jpg", "dog.jpg"]
    assert written(tmp_path / "*" / "cat.png", "") == ["cat-1.jpg", "cat.jpg"]
    assert written(tmp_path / "one", "%02d.png") == ["00.png", "01.png", "02.png"]
    assert written(clip, "") == [f"{number:06d}.jpg" for number in range(9)]


def test_lines_tell_the_class_of_every_picture(
    graft: Path, tmp_path: Path, clip: Path, capfdbinary: pytest.CaptureFixture[bytes]
) -> None:
    colours = {"a/cup.png": (255, 0, 0), "a/cup.bmp": (0, 0, 255), "b/cup.png": (0, 255, 0)}
    for name, colour in colours.items():
        (tmp_path / name).parent.mkdir(exist_ok=True)
        cv2.imwrite(str(tmp_path / name), np.full((48, 64, 3), colour, np.uint8))
    figures = tmp_path / "figures.json"

    def told(source: object, *options: str, model: Path = graft) -> list[dict[str, Any]]:
        report = ["--jsonl", "-", "--json", str(figures), "--threads", "1"]
        assert main(["run", str(model), str(source), "null://", *report, *options]) == 0
        # Only lines of JSON go to standard output.
        return [json.loads(line) for line in capfdbinary.readouterr().out.splitlines()]

    photos = told(tmp_path / "[ab]" / "*")
    assert all(photo["score"] > 0.99 for photo in photos)
    assert [[photo[key] for key in ("frame", "file", "class", "label")] for photo in photos] == [
        [0, f"{tmp_path}/a/cup.bmp", 0, "red"],
        [1, f"{tmp_path}/a/cup.png", 2, "blue"],
        [2, f"{tmp_path}/b/cup.png", 1, "green"],
    ]
    assert json.loads(figures.read_text())["classes"] == {"red": 1, "blue": 1, "green": 1}
    assert [sorted(each["label"] for each in photo["top"]) for photo in photos] == [sorted(LABELS)] * 3
    assert [photo["top"][0]["class"] for photo in photos] == [0, 2, 1]
    # Independent of the explained class.
    with_classes = save_graft(tmp_path / "classes.onnx", outputs=("saliency_map", "cam"))
    chosen = told(tmp_path / "[ab]" / "*", "--class", "red", model=with_classes)
    assert [photo["label"] for photo in chosen] == ["red", "blue", "green"]
    assert [photo["explained"] for photo in chosen] == ["red"] * 3
    video = told(clip, "--fps", "5", "--frames", "4")
    assert [frame["frame"] for frame in video] == [0, 3, 5, 8]  # of the file
    assert [frame.get("cold", False) for frame in video] == [True, False, False, False]
    assert all(re.fullmatch(r"20\d\d-\d\d-\d\dT[\d:]{8}\.\d{3}Z", frame["time"]) for frame in video)
    assert set(video[0]["latency_ms"]) == {"capture", "preprocess", "inference", "overlay"}


def test_lines_are_appended_and_tell_where_the_map_is_strong(graft: Path, tmp_path: Path) -> None:
    photo = np.zeros((64, 96, 3), np.uint8)
    photo[8:24, 50:62] = 255  # twice the size of the network's input
    cv2.imwrite(str(tmp_path / "photo.png"), photo)
    lines = tmp_path / "new" / "lines.jsonl"
    run = ["run", str(graft), str(tmp_path / "photo.png"), "null://", "--jsonl", str(lines), "--threads", "1"]
    for view in ("map", "lovi", "scales"):
        assert main([*run, "--view", view]) == 0
    found = [json.loads(line)["regions"] for line in lines.read_text().splitlines()]
    assert found == [[{"box": [50, 8, 12, 16], "share": 1.0}], None, None]


def test_lines_leave_no_half_line_on_a_full_disk(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = tmp_path / "lines.jsonl"
    path.write_text('{"frame": 0}\n')
    sink = JsonLines(str(path))
    real = os.write
    monkeypatch.setattr(os, "write", lambda where, data: real(where, data[:10]))
    with pytest.raises(SinkError, match=r"lines\.jsonl: the disk is full"):
        sink.write(np.zeros((4, 4, 3), np.uint8), Status(1, time=1.0))
    sink.close()
    assert path.read_text() == '{"frame": 0}\n'


def test_a_photo_is_not_drawn_with_the_map_of_another(graft: Path, tmp_path: Path) -> None:
    """`--every` and `--smooth` apply only to consecutive frames."""
    (tmp_path / "photos").mkdir()
    for i in range(3):
        photo = np.zeros((48, 64, 3), np.uint8)
        photo[:, 20 * i : 20 * i + 20] = 255
        cv2.imwrite(str(tmp_path / "photos" / f"{i}.png"), photo)
    for name, options in (("plain", []), ("other", ["--every", "2", "--smooth", "0.9"])):
        output = f"{tmp_path / name}/%d.png"
        drawn = ["run", str(graft), str(tmp_path / "photos"), output, "--no-caption", "--threads", "1"]
        assert main([*drawn, *options]) == 0
    for i in range(3):
        plain, other = (cv2.imread(str(tmp_path / name / f"{i}.png")) for name in ("plain", "other"))
        np.testing.assert_array_equal(other, plain)


@pytest.mark.slow
@pytest.mark.parametrize("option", [("--every", "30"), ("--smooth", "0.99")])
def test_every_and_smooth(graft: Path, clip: Path, tmp_path: Path, option: tuple[str, str]) -> None:
    """Each shows (nearly) the map of the first frame on the last one, although the square has moved."""
    maps = {}
    for name, options in (("each", ("--smooth", "0")), ("held", option)):
        out = tmp_path / f"{name}.avi"
        arguments = [graft, clip, out, "--view", "map", "--no-caption", "--colormap", "gray", *options]
        assert main(["run", *map(str, arguments)]) == 0
        maps[name] = np.array([frame[..., 0] for frame in frames_of(out)], np.float32)
    assert len(maps["held"]) == len(maps["each"]) == 30
    assert np.abs(maps["each"][-1] - maps["each"][0]).mean() > 30
    assert np.abs(maps["held"][-1] - maps["held"][0]).mean() < 15


def test_a_video_is_smoothed_unless_told_otherwise(graft: Path, clip: Path, tmp_path: Path) -> None:
    changes = {}
    for name, options in (("plain", ["--smooth", "0"]), ("default", []), ("same", ["--smooth", "0.7"])):
        out = tmp_path / f"{name}.avi"
        arguments = [graft, clip, out, "--view", "map", "--no-caption", "--colormap", "gray", *options]
        assert main(["run", *map(str, arguments)]) == 0
        maps = np.array([frame[..., 0] for frame in frames_of(out)], np.float32)
        changes[name] = np.abs(np.diff(maps, axis=0)).mean()
    assert changes["default"] == changes["same"] < changes["plain"]


def test_a_recording_at_a_lower_rate_plays_as_fast(graft: Path, clip: Path, tmp_path: Path) -> None:
    out = tmp_path / "out.avi"
    assert main(["run", str(graft), str(clip), str(out), "--fps", "5", "--threads", "1"]) == 0
    frames, fps = frames_of(out), rate_of(out)
    assert (len(frames), fps) == (12, 5)  # 30 at 12.5 a second are 2.4 seconds


@pytest.mark.slow
@pytest.mark.parametrize(("options", "rate"), [([], 1), (["--fps", "4"], 4)])
def test_photos_are_recorded_to_be_looked_at(
    graft: Path, tmp_path: Path, options: list[str], rate: int
) -> None:
    (tmp_path / "in").mkdir()
    for number in range(3):
        cv2.imwrite(str(tmp_path / "in" / f"{number}.png"), np.full((48, 64, 3), 80 * number, np.uint8))
    out = tmp_path / "out.mp4"
    assert main(["run", str(graft), str(tmp_path / "in"), str(out), "--threads", "1", *options]) == 0
    frames, fps = frames_of(out), rate_of(out)
    assert (len(frames), fps) == (3, rate)


def test_pictures_of_different_sizes(graft: Path, tmp_path: Path) -> None:
    (tmp_path / "in").mkdir()
    sizes = [(40, 60), (70, 30), (40, 60), (33, 47)]
    for i, (height, width) in enumerate(sizes):
        picture = np.full((height, width, 3), 60 * i, np.uint8)
        cv2.imwrite(str(tmp_path / "in" / f"{i}.png"), picture)
    out = tmp_path / "out"
    assert main(["run", str(graft), str(tmp_path / "in"), f"{out}/", "--every", "2", "--smooth", "0.5"]) == 0
    pictures = [cv2.imread(str(path)) for path in sorted(out.iterdir())]
    with_caption = [(height + row_height(height, width), width) for height, width in sizes]
    assert [picture.shape[:2] for picture in pictures] == with_caption


def test_a_name_that_is_no_utf8(graft: Path, tmp_path: Path) -> None:
    photo = os.fsencode(tmp_path) + b"/bad\xff.png"
    picture = cv2.imencode(".png", np.full((48, 64, 3), 90, np.uint8))[1].tobytes()
    try:
        Path(os.fsdecode(photo)).write_bytes(picture)
    except OSError:
        pytest.skip("this file system takes UTF-8 names only")
    figures = tmp_path / "figures.json"
    assert main(["run", str(graft), os.fsdecode(photo), "null://", "--json", str(figures)]) == 0
    assert json.loads(figures.read_text())["input"].endswith("bad?.png")


@pytest.mark.slow
def test_outputs_may_stand_behind_options(graft: Path, clip: Path, tmp_path: Path) -> None:
    first, second = tmp_path / "a.mp4", tmp_path / "b.mp4"
    arguments = [str(clip), str(first), "--view", "map", str(second), "--threads", "1"]
    assert main(["run", str(graft), *arguments]) == 0
    assert [len(frames_of(path)) for path in (first, second)] == [30, 30]


def test_a_label_is_printed_as_one_plain_line(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    labels = tuple(f"\x1b[31m{'long ' * 40}\n{i}" for i in range(8))
    path = save_graft(tmp_path / "graft.onnx", labels=labels)
    photo = tmp_path / "photo.png"
    cv2.imwrite(str(photo), np.full((40, 40, 3), 90, np.uint8))
    assert main(["run", str(path), str(photo), "null://", "--threads", "1"]) == 0
    (line,) = capsys.readouterr().out.splitlines()
    assert line.isprintable()
    assert "…" in line
    assert len(line) < 200


def test_a_network_that_tells_no_class(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = save_graft(tmp_path / "graft.onnx", head="places", outputs=("saliency_map",))
    photo = tmp_path / "photo.png"
    cv2.imwrite(str(photo), np.full((40, 40, 3), 90, np.uint8))
    assert main(["run", str(path), str(photo), str(tmp_path / "out.png"), "--threads", "1"]) == 0
    assert re.fullmatch(r".*out\.png: \d+ ms \(first run\)\n", capsys.readouterr().out)


def test_lines_tell_what_a_detector_found() -> None:
    found = Detection((10.0, 20.0, 40.5, 30.0), "dog", 0.75, 16, 3)
    geometry = Geometry.lay((48, 64), (32, 32), "stretch")
    explanation = Explanation(np.zeros(3), None, "", None, {}, {DETECT: 1.0}, geometry, detections=(found,))
    status = Status(0, top=explanation.top(), explanation=explanation)
    line = describe_frame(status)
    assert line["detections"] == [
        {
            "box": [10.0, 20.0, 40.5, 30.0],
            "class": 16,
            "label": "dog",
            "score": 0.75,
            "row": 3,
            "energy": None,
        }
    ]
    assert (line["label"], line["regions"]) == ("dog", None)
    assert "detections" not in describe_frame(Status(0))
