"""Files prepared at the first start: the same maps; only the speed depends on the cache."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from pathlib import Path

import numpy as np
import onnx
import pytest
from fastcam_export import export
from fastcam_runtime import Explainer, native
from fastcam_runtime.cli.main import main
from fastcam_runtime.model import device
from fastcam_runtime.model.grafted import Model
from fastcam_runtime.prepared import store as store_module
from fastcam_runtime.prepared.cache import open_cached
from fastcam_runtime.prepared.store import Store
from support.networks import small_cnn

pytestmark = pytest.mark.skipif(native.library_path() is None, reason=native.status())

EVERYTHING = ["saliency_map", "scales", "lovi", "cam", "fastcam", "nonclass"]
FRAME = np.random.default_rng(3).integers(0, 256, (50, 70, 3), np.uint8)
WITHOUT_ONNX = """
import sys
sys.modules["onnx"] = None
import numpy as np
from fastcam_runtime import Explainer
from fastcam_runtime.cli.main import main
frame, out, model = sys.argv[1:4]
if sys.argv[4:]:
    import resource
    resource.setrlimit(resource.RLIMIT_FSIZE, (int(sys.argv[4]), resource.RLIM_INFINITY))
explanation = Explainer(model, threads=1)(np.load(frame))
assert main(["run", model, "test://?frames=2", "null://", "--threads", "1"]) == 0
if sys.argv[4:]:
    resource.setrlimit(resource.RLIMIT_FSIZE, (resource.RLIM_INFINITY, resource.RLIM_INFINITY))
np.save(out, explanation.maps["saliency_map"])
"""
"""A device: no package onnx. A fourth argument limits the size of files, as a full disk does."""


@pytest.fixture
def store(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Store:
    """The cache of a new user."""
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    return Store()


@pytest.fixture(scope="module")
def exported(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return grafted(tmp_path_factory.mktemp("exported") / "model.onnx")


@pytest.fixture
def model(exported: Path, tmp_path: Path) -> Path:
    return Path(shutil.copy(exported, tmp_path))


def grafted(
    path: Path, *, channels: tuple[int, ...] = (16, 32, 48), outputs: list[str] | None = None
) -> Path:
    export(small_cnn(channels=channels), path, outputs=outputs or ["saliency_map"])
    return path


def expected(path: Path) -> dict[str, np.ndarray]:
    """The maps of the ordinary file, in standard operators."""
    return dict(Explainer(path, threads=1, compiled=False, cache=False)(FRAME).maps)


def assert_right(path: Path) -> Explainer:
    """Explain a frame as a user does, and compare with the ordinary file."""
    explainer = Explainer(path, threads=1)
    found = explainer(FRAME).maps
    for name, values in expected(path).items():
        if values.dtype == np.uint8:
            assert np.abs(found[name].astype(int) - values).max() <= 1, name
        else:
            np.testing.assert_allclose(found[name], values, atol=1e-5, err_msg=name)
    return explainer


def keys(store: Store) -> list[str]:
    """The entries; checks that there are no partial ones."""
    names = sorted(path.name for path in store.folder.iterdir()) if store.folder.exists() else []
    assert not [name for name in names if name.startswith(".")]
    return [name for name in names if name != "hashes"]


def blocks_are_kept() -> bool:
    """Whether onnxruntime lays out activations in blocks of channels on this processor."""
    return device.block() is not None


def run_device(tmp_path: Path, model: Path, *limit: str) -> np.ndarray:
    np.save(tmp_path / "frame.npy", FRAME)
    words = [str(tmp_path / "frame.npy"), str(tmp_path / "map.npy"), str(model), *limit]
    done = subprocess.run([sys.executable, "-c", WITHOUT_ONNX, *words], capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    assert "Traceback" not in done.stderr
    return np.load(tmp_path / "map.npy")


def test_the_first_start_makes_it_and_the_second_uses_it(model: Path, store: Store) -> None:
    assert not store.folder.exists()
    first = assert_right(model)
    (key,) = keys(store)
    made = store.model(key).stat() if store.model(key).exists() else None
    second = assert_right(model)
    assert keys(store) == [key]
    assert (store.model(key).stat() if made else None) == made
    if blocks_are_kept():
        assert made is not None
        for explainer in (first, second):
            assert explainer.model.describe().endswith("prepared for this device")
    assert "prepared for" not in Explainer(model, cache=False).model.describe()


@pytest.mark.slow
def test_all_outputs_are_those_of_the_ordinary_file(tmp_path: Path, store: Store) -> None:
    model = grafted(tmp_path / "all.onnx", outputs=EVERYTHING)
    for _ in range(2):
        explainer = assert_right(model)
        by_class = explainer.explain(FRAME, classes=[7])[0].maps["saliency_cam"]
        ordinary = Explainer(model, threads=1, compiled=False, cache=False).explain(FRAME, classes=[7])[0]
        np.testing.assert_allclose(by_class, ordinary.maps["saliency_cam"], atol=1e-5)


@pytest.mark.slow
def test_each_choice_of_maps_has_its_entry(tmp_path: Path, store: Store) -> None:
    model = grafted(tmp_path / "all.onnx", outputs=EVERYTHING)
    whole = expected(model)
    for outputs, name in (["cam"], "saliency_cam"), (["saliency_map"], "saliency_map"):
        for _ in range(2):
            found = Explainer(model, threads=1, outputs=outputs)(FRAME).maps
            assert list(found) == [name]
            np.testing.assert_allclose(found[name], whole[name], atol=1e-5)
    assert len(keys(store)) == 2


@pytest.mark.slow
def test_a_device_without_onnx_makes_it(model: Path, store: Store, tmp_path: Path) -> None:
    found = run_device(tmp_path, model)
    np.testing.assert_allclose(found, expected(model)["saliency_map"], atol=1e-5)
    assert len(keys(store)) == 1


@pytest.mark.slow
@pytest.mark.parametrize("damage", ["bytes", "short", "note", "gone"])
def test_a_damaged_entry_is_discarded(model: Path, store: Store, damage: str) -> None:
    if not blocks_are_kept():
        pytest.skip("onnxruntime keeps activations in planes on this processor")
    assert_right(model)
    (key,) = keys(store)
    file = store.model(key)
    content = file.read_bytes()
    if damage == "bytes":
        file.write_bytes(content[:2000] + bytes(500) + content[2500:])
    elif damage == "short":
        file.write_bytes(content[: len(content) // 2])
    elif damage == "note":
        (file.parent / "entry.json").write_text('{"source": 3')
    else:
        file.unlink()
    assert_right(model)
    assert keys(store) == [key]
    assert Store().find(key) is not None
    assert onnx.load(file).graph.node


def test_what_onnxruntime_cannot_open_is_made_again(model: Path, store: Store) -> None:
    assert_right(model)
    (key,) = keys(store)
    file = store.model(key)
    file.write_bytes(b"\x08\x07no model")
    with store.draft() as draft:
        draft.write_bytes(b"\x08\x07no model")
        store.discard(key)
        store.publish(draft, key, str(model), "all maps", "prepared")
    assert store.find(key) is not None
    assert_right(model)
    assert keys(store) == [key]
    assert file.read_bytes() != b"\x08\x07no model"


def test_a_copied_cache_is_still_good(model: Path, store: Store) -> None:
    assert_right(model)
    (key,) = keys(store)
    file = store.model(key)
    if file.exists():
        content = file.read_bytes()
        file.unlink()
        file.write_bytes(content)  # the same content in another file
        assert store.find(key) is not None


def test_a_changed_file_has_another_entry(model: Path, store: Store) -> None:
    assert_right(model)
    before = keys(store)
    times, content = model.stat(), model.read_bytes()
    proto = onnx.load_from_string(content)
    for tensor in proto.graph.initializer:
        if len(tensor.dims) == 4:
            values = onnx.numpy_helper.to_array(tensor)
            tensor.CopyFrom(onnx.numpy_helper.from_array(-values, tensor.name))
    onnx.save(proto, model)
    assert model.stat().st_size == times.st_size
    os.utime(model, ns=(times.st_atime_ns, times.st_mtime_ns))
    assert_right(model)
    assert len(keys(store)) == len(before) + 1


@pytest.mark.parametrize(
    ("name", "other"),
    [("package_version", "0.0.1"), ("here", "onnxruntime 1.2.3 on z80"), ("processor", "Z80")],
)
def test_another_device_or_release_has_another_entry(
    model: Path, store: Store, name: str, other: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    with monkeypatch.context() as patch:
        patch.setattr(device, name, lambda: other)
        open_cached(model, threads=1, provider="cpu")
    (foreign,) = keys(store)
    assert_right(model)
    assert set(keys(store)) > {foreign}


def test_nothing_is_kept_on_request(model: Path, store: Store) -> None:
    Explainer(model, threads=1, cache=False)(FRAME)
    assert main(["run", str(model), "test://?frames=1", "null://", "--no-cache"]) == 0
    assert main(["bench", str(model), "--rounds", "6", "--no-cache"]) == 0
    Model(model).session(["saliency_map"])
    assert not store.folder.exists()


def test_without_kernels_maps_are_the_same(model: Path, store: Store) -> None:
    for _ in range(2):
        found = Explainer(model, threads=1, compiled=False)(FRAME).maps["saliency_map"]
        np.testing.assert_array_equal(found, expected(model)["saliency_map"])
    assert len(keys(store)) == 1


def test_where_nothing_can_be_prepared_the_start_is_the_same_or_faster(tmp_path: Path, store: Store) -> None:
    model = grafted(tmp_path / "odd.onnx", channels=(12, 20, 36))  # no whole blocks
    for _ in range(2):
        assert_right(model)
    ((_, entry, _),) = store.entries()
    assert (entry.form, bool(entry.bytes)) in (("optimised", True), ("nothing to gain", False))


def test_a_folder_that_cannot_be_written_changes_nothing(
    model: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "file").write_text("no folder")
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "file"))
    assert_right(model)
    assert main(["run", str(model), "test://?frames=1", "null://"]) == 0
    assert (tmp_path / "file").read_text() == "no folder"


@pytest.mark.slow
def test_a_full_disk_changes_nothing(model: Path, store: Store, tmp_path: Path) -> None:
    found = run_device(tmp_path, model, "2000")
    np.testing.assert_allclose(found, expected(model)["saliency_map"], atol=1e-5)
    assert keys(store) == []


@pytest.mark.slow
def test_size_is_bounded(tmp_path: Path, store: Store, monkeypatch: pytest.MonkeyPatch) -> None:
    if not blocks_are_kept():
        pytest.skip("onnxruntime keeps activations in planes on this processor")
    models = [
        grafted(tmp_path / f"{n}.onnx", channels=channels)
        for n, channels in enumerate([(32, 48, 64), (16, 32, 48), (16, 32, 64)])
    ]
    for model in models[:2]:
        open_cached(model, threads=1, provider="cpu")
    first, second = keys(store)
    oldest = next(key for key, entry, _ in store.entries() if entry.source == str(models[0]))
    os.utime(store.folder / oldest / "entry.json", (1, 1))
    whole = sum(entry.bytes for _, entry, _ in store.entries())
    monkeypatch.setattr(store_module, "LIMIT", whole + 1000)
    open_cached(models[2], threads=1, provider="cpu")
    assert len(keys(store)) == 2
    assert oldest not in keys(store)
    assert sum(entry.bytes for _, entry, _ in store.entries()) <= store_module.LIMIT
    monkeypatch.setattr(store_module, "LIMIT", 1000)
    before = keys(store)
    assert_right(models[0])  # larger than everything that may be kept
    assert keys(store) == before
    assert {first, second} != set(before)


@pytest.mark.slow
def test_starts_at_the_same_time(model: Path, store: Store, tmp_path: Path) -> None:
    np.save(tmp_path / "frame.npy", FRAME)
    starts = [
        subprocess.Popen(
            [
                sys.executable,
                "-c",
                WITHOUT_ONNX,
                str(tmp_path / "frame.npy"),
                str(tmp_path / f"{n}.npy"),
                str(model),
            ],
            stderr=subprocess.PIPE,
            text=True,
        )
        for n in range(3)
    ]
    for n, start in enumerate(starts):
        _, errors = start.communicate(timeout=120)
        assert start.returncode == 0, errors
        np.testing.assert_allclose(np.load(tmp_path / f"{n}.npy"), expected(model)["saliency_map"], atol=1e-5)
    assert len(keys(store)) == 1


def test_external_weights_are_part_of_the_key(tmp_path: Path, store: Store) -> None:
    source, model = tmp_path / "source.onnx", tmp_path / "model.onnx"
    onnx.save(
        small_cnn(channels=(16, 32, 48)),
        source,
        save_as_external_data=True,
        location="weights.bin",
        size_threshold=0,
    )
    export(source, model)
    assert_right(model)
    before = keys(store)
    (weights,) = tmp_path.glob("model.onnx.*")
    values = np.fromfile(weights, np.float32)
    (-values).tofile(weights)
    assert_right(model)
    assert len(keys(store)) == len(before) + 1


def test_the_command_lists_and_clears(model: Path, store: Store, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["cache", "list"]) == 0
    assert capsys.readouterr().out.strip() == f"{store.folder}: 0 files, 0.0 MB of at most 512 MB"
    open_cached(model, threads=1, provider="cpu")
    assert main(["cache", "list"]) == 0
    assert str(model) in capsys.readouterr().out
    assert main(["cache", "clear"]) == 0
    assert capsys.readouterr().out.startswith("removed 1 file, ")
    assert store.entries() == []
    assert main(["cache"]) == 2
    assert main(["cache", "empty"]) == 2


def test_bench_measures_what_runs_by_default(
    model: Path, store: Store, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["bench", str(model), "--rounds", "6", "--threads", "1"]) == 0
    assert ("prepared for this device" in capsys.readouterr().out) == blocks_are_kept()
    assert len(keys(store)) == 1
