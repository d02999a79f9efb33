"""`fastcam bench`: the arithmetic against numpy, and whole runs."""

from __future__ import annotations

import hashlib
import json
from pathlib import Path

import cv2
import numpy as np
import onnx
import pytest
from fastcam_runtime import FastcamError, ModelError
from fastcam_runtime.cli import bench as cli_bench
from fastcam_runtime.cli.main import main
from fastcam_runtime.measure import paired as bench
from support.tiny_grafts import save_graft

OPTIONS = bench.BenchOptions(threads=1, provider="cpu", rounds=20)


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("bench")


@pytest.fixture(scope="module")
def graft(folder: Path) -> Path:
    return save_graft(folder / "graft.onnx", batch="n")


def variant(path: Path, samples: list[float]) -> bench.Variant:
    (made,) = bench.open_variants(path, None, OPTIONS)
    made.samples = made.cpu_samples = samples
    return made


@pytest.fixture(scope="module")
def plain(folder: Path) -> Path:
    return save_graft(folder / "plain.onnx", graft=False, batch="n")


def test_statistics_are_numpys(plain: Path) -> None:
    values = np.random.default_rng(0).gamma(2, 5, 200)
    statistics = variant(plain, values.tolist()).statistics()
    assert statistics == pytest.approx(
        {
            "avg": values.mean(),
            "p50": np.median(values),
            **{f"p{q}": np.percentile(values, q) for q in (90, 95, 99)},
            "min": values.min(),
            "max": values.max(),
        }
    )


def test_the_difference_is_paired() -> None:
    """A common drift, far larger than the difference, must not hide the difference."""
    rng = np.random.default_rng(0)
    drift = np.linspace(10, 50, 100)
    cost = rng.normal(0.5, 0.05, 100)
    difference = bench.Difference.between(drift.tolist(), (drift + cost).tolist())
    assert difference.median == pytest.approx(np.median(cost))
    assert difference.percent == pytest.approx(100 * np.median(cost) / 30)
    assert difference.interval[0] < difference.median < difference.interval[1]
    assert np.ptp(difference.interval) < np.ptp(difference.quartiles) < 0.1


def test_rounds_interleave_and_turn(plain: Path) -> None:
    order = []

    class Watched(bench.Variant):
        def run(self) -> None:
            order.append(self.name)
            super().run()

    variants = []
    for name in "ab":
        (made,) = bench.open_variants(plain, None, OPTIONS)
        variants.append(Watched(name, made.path, made.session, made.load_ms, made.feed, made.runner))
    bench.measure(variants, 20)
    counted = "".join(order[2 * bench.WARM_UP :])
    assert counted in ("abba" * 10, "baab" * 10)
    assert [len(v.samples) for v in variants] == [20, 20]


def test_the_plain_network_is_cut_out_of_a_grafted_file(graft: Path) -> None:
    plain, grafted = bench.open_variants(graft, None, OPTIONS)
    assert (plain.name, grafted.name) == ("plain", "grafted")
    assert [output.name for output in plain.session.get_outputs()] == ["logits"]
    np.testing.assert_array_equal(plain.feed["image"], grafted.feed["image"])


def test_a_baseline_may_name_its_input_otherwise(folder: Path, graft: Path) -> None:
    import onnx
    from support.tiny_grafts import make_graft

    model = make_graft(graft=False, batch="n")
    model.graph.input[0].name = "data"
    model.graph.node[0].input[0] = "data"
    onnx.save(model, folder / "renamed.onnx")
    plain, grafted = bench.open_variants(graft, folder / "renamed.onnx", OPTIONS)
    np.testing.assert_array_equal(plain.feed["data"], grafted.feed["image"])
    bench.measure([plain, grafted], 3)


def test_a_baseline_of_another_shape_is_refused(folder: Path, graft: Path) -> None:
    other = save_graft(folder / "other.onnx", size=(16, 16), graft=False)
    with pytest.raises(
        FastcamError, match=r"other\.onnx takes 1×3×16×16 tensor.float., .*graft\.onnx takes n×3×32×48"
    ):
        bench.open_variants(graft, other, OPTIONS)


def test_broken_files(tmp_path: Path, graft: Path) -> None:
    broken = tmp_path / "broken.onnx"
    broken.write_bytes(graft.read_bytes()[:500])
    with pytest.raises(ModelError, match=r"broken\.onnx"):
        bench.open_variants(broken, None, OPTIONS)
    with pytest.raises(ModelError, match="no such file"):
        bench.open_variants(graft, tmp_path / "none.onnx", OPTIONS)


@pytest.mark.parametrize("command", [["bench"], ["bench", "GRAFT", "--baseline"], ["run"]])
@pytest.mark.parametrize("suffix", [".jpg", ".png", ".bmp", ".txt"])
def test_a_file_that_is_no_model(
    graft: Path, tmp_path: Path, command: list[str], suffix: str, capsys: pytest.CaptureFixture[str]
) -> None:
    path = tmp_path / f"photo{suffix}"
    if suffix == ".txt":
        path.write_text("not even a photo")
    else:
        cv2.imwrite(str(path), np.full((20, 30, 3), 90, np.uint8))
    outputs = ["test://", "null://"] if command == ["run"] else []
    argv = [str(graft) if word == "GRAFT" else word for word in command]
    assert main([*argv, str(path), *outputs]) == 2
    assert capsys.readouterr().err == f"fastcam: error: {path}: not an ONNX model\n"


def test_a_model_that_is_cut_short_is_told_from_a_photo(graft: Path, tmp_path: Path) -> None:
    (tmp_path / "short.onnx").write_bytes(graft.read_bytes()[:500])
    with pytest.raises(ModelError, match=r"short\.onnx: not an ONNX model, or cut short"):
        bench.open_variants(tmp_path / "short.onnx", None, OPTIONS)


@pytest.mark.parametrize(("cost", "noise"), [(0.0, True), (0.5, False), (-0.5, False)])
def test_a_difference_within_the_noise_is_called_so(plain: Path, cost: float, noise: bool) -> None:
    pairs = np.random.default_rng(1).normal(cost, 0.1, 50)
    variants = [variant(plain, [10.0] * 50), variant(plain, (10 + pairs).tolist())]
    printed = cli_bench._text(bench.report(variants, OPTIONS))
    assert ("within the noise" in printed) == noise
    assert f"model minus baseline: {np.median(pairs):+.3f} ms" in printed


@pytest.mark.parametrize("command", ["bench", "inspect"])
def test_damaged_metadata_are_told_with_the_file(
    command: str, graft: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    model = onnx.load(graft)
    next(entry for entry in model.metadata_props if entry.key == "fastcam").value = "garbage"
    onnx.save(model, tmp_path / "damaged.onnx")
    assert main([command, str(tmp_path / "damaged.onnx")]) == 2
    error = capsys.readouterr().err
    assert error.startswith(f"fastcam: error: {tmp_path / 'damaged.onnx'}: the file's 'fastcam' metadata")


def test_a_bench_that_fails_makes_no_folder(tmp_path: Path) -> None:
    assert main(["bench", str(tmp_path / "none.onnx"), "--json", str(tmp_path / "new" / "b.json")]) == 2
    assert list(tmp_path.iterdir()) == []


def test_report_and_table(graft: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = tmp_path / "figures" / "bench.json"
    assert main(["bench", str(graft), "--threads", "1", "--rounds", "12", "--json", str(path)]) == 0
    report = json.loads(path.read_text())
    assert report["threads"] == 1
    assert report["provider"] == "CPUExecutionProvider"
    assert report["peak_rss_bytes"] > 10_000_000
    assert set(report["versions"]) >= {"onnxruntime", "opencv", "numpy", "python"}
    for entry in report["variants"]:
        assert entry["sha256"] == hashlib.sha256(graft.read_bytes()).hexdigest()
        assert len(entry["samples_ms"]) == 12
        assert entry["statistics_ms"]["p50"] == pytest.approx(np.median(entry["samples_ms"]))
        assert entry["load_ms"] > 0
    first, second = (np.array(entry["samples_ms"]) for entry in report["variants"])
    assert report["difference_ms"]["median"] == pytest.approx(np.median(second - first))
    printed = capsys.readouterr().out
    assert "p95" in printed
    assert "maps cost" in printed
    assert "1 thread," in printed
    assert "12 rounds after 10 to warm up" in printed
    assert f"plain: {graft}, without its maps" in printed
    assert f"grafted: {graft}, with its maps" in printed


def test_a_plain_file_is_measured_alone(plain: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["bench", str(plain), "--threads", "1", "--rounds", "6"]) == 0
    printed = capsys.readouterr().out
    assert "model" in printed
    assert "maps cost" not in printed


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["--rounds", "5"], "5 rounds: at least 6 are needed"),
        (["--provider", "abacus"], "provider 'abacus' is unknown; available: auto"),
        (["--json", "/dev/null/bench.json"], "/dev/null"),
        (["--threads", "-1"], "at least 1"),
    ],
)
def test_mistakes(
    graft: Path, arguments: list[str], message: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["bench", str(graft), *arguments]) == 2
    error = capsys.readouterr().err
    assert message in error
    assert error.count("\n") == 1


@pytest.mark.parametrize(
    ("batch", "head", "cost"),
    [("n", "ms  ", "per frame: "), (4, "ms per 4 frames  ", "per 4 frames in one run: ")],
)
def test_a_fixed_batch_is_told(
    batch: int | str, head: str, cost: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path = save_graft(tmp_path / "graft.onnx", batch=batch)
    assert main(["bench", str(path), "--rounds", "6", "--threads", "1"]) == 0
    printed = capsys.readouterr().out
    assert f"\n{head}" in printed
    assert f" %) {cost}" in printed
