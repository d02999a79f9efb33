"""Every convention is read from a file that follows it, and every value says where it came from."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import onnx
import pytest
from fastcam_export import graft
from fastcam_export.api import export
from fastcam_runtime.cli.main import main
from fastcam_runtime.contract import METADATA_KEY, PREPROCESS, Metadata, Preprocess
from support.networks import network, small_cnn

NAMES = [f"thing {i}" for i in range(10)]


def with_metadata(**keys: str) -> onnx.ModelProto:
    model = small_cnn()
    for key, text in keys.items():
        model.metadata_props.add(key=key, value=text)
    return model


def said(model: onnx.ModelProto) -> dict[str, str]:
    return {entry.key: entry.value for entry in model.metadata_props}


def metadata(model: onnx.ModelProto, **options: Any) -> Metadata:
    return Metadata.from_json(said(graft(model, **options))[METADATA_KEY])


ULTRALYTICS = {
    "description": "Ultralytics YOLO11n-cls model trained on imagenet.yaml",
    "author": "Ultralytics",
    "date": "2025-09-22T13:32:39.309631+00:00",
    "version": "8.4.190",
    "license": "AGPL-3.0 License (https://ultralytics.com/license)",
    "docs": "https://docs.ultralytics.com",
    "stride": "1",
    "task": "classify",
    "head": "Classify",
    "batch": "1",
    "imgsz": "[64, 64]",
    "names": str(dict(enumerate(NAMES))),
    "args": "{'batch': 1, 'half': False, 'dynamic': False, 'simplify': True, 'opset': None, 'nms': False}",
    "channels": "3",
    "end2end": "False",
}
"""All keys that the exporter of Ultralytics 8.4 writes, each value as the text that it makes of it."""


def test_ultralytics_classifier() -> None:
    found = metadata(with_metadata(**ULTRALYTICS))
    assert (found.preprocess, found.resize) == (PREPROCESS["unit"], "crop")
    assert found.labels == tuple(NAMES)
    assert found.provenance.preprocess == "from Ultralytics' metadata (task classify)"
    assert found.provenance.labels == found.provenance.resize == found.provenance.preprocess


@pytest.mark.slow
@pytest.mark.parametrize(
    ("imgsz", "size"), [("[96, 128]", (96, 128)), ("320", (320, 320)), ("big", (224, 224))]
)
def test_ultralytics_size_where_the_network_leaves_it_free(
    imgsz: str, size: tuple[int, int], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    model = small_cnn("float[1,3,height,width] input")
    model.metadata_props.add(key="imgsz", value=imgsz)
    found = metadata(model).image
    assert (found.height, found.width) == size
    asked = metadata(model, input_shape=(1, 3, 64, 80)).image
    assert (asked.height, asked.width) == (64, 80)  # the user's word counts more
    onnx.save(model, tmp_path / "m.onnx")
    assert main(["inspect", str(tmp_path / "m.onnx")]) == 0
    where = "assumed: nothing in the file says" if imgsz == "big" else "from 'imgsz' in the file"
    assert f"frames are resized to {size[0]}×{size[1]}, {where}; set another" in capsys.readouterr().out


@pytest.mark.slow
@pytest.mark.parametrize(
    ("name", "said"),
    [
        ("preprocessor_config.json", {"size": {"height": 96, "width": 128}}),
        ("preprocessor_config.json", {"size": 256, "do_center_crop": True, "crop_size": [96, 128]}),
        ("config.json", {"pretrained_cfg": {"input_size": [3, 96, 128]}}),
    ],
)
def test_a_size_beside_the_file(name: str, said: dict[str, Any], tmp_path: Path) -> None:
    (tmp_path / name).write_text(json.dumps(said))
    onnx.save(small_cnn("float[1,3,height,width] input"), tmp_path / "m.onnx")
    found = export(tmp_path / "m.onnx", tmp_path / "out.onnx").metadata.image
    assert (found.height, found.width) == (96, 128)


def test_ultralytics_detector() -> None:
    keys = ULTRALYTICS | {"task": "detect", "stride": "32"}
    found = metadata(with_metadata(**keys))
    assert found.resize == "letterbox"
    assert found.preprocess == Preprocess("RGB", (0.0,) * 3, (255.0,) * 3, pad=114)


MODEL_API = {
    "model_info model_type": "Classification",
    "model_info labels": " ".join(name.replace(" ", "_") for name in NAMES),
    "model_info mean_values": "123.675 116.28 103.53",
    "model_info scale_values": "58.395 57.12 57.375",
    "model_info reverse_input_channels": "YES",
    "model_info resize_type": "fit_to_window_letterbox",
    "model_info pad_value": "114",
}
"""The keys of Model API's documentation on embedding parameters into ONNX files."""


def test_model_api() -> None:
    found = metadata(with_metadata(**MODEL_API))
    assert found.preprocess == Preprocess("RGB", (123.675, 116.28, 103.53), (58.395, 57.12, 57.375), pad=114)
    assert found.resize == "letterbox"
    assert found.labels[:2] == ("thing_0", "thing_1")
    assert found.provenance.preprocess == "from Model API's 'model_info' keys"


@pytest.mark.slow
@pytest.mark.parametrize(
    ("keys", "preprocess"),
    [
        (
            {"mean_values": "1 2 3", "scale_values": "4 5 6"},
            Preprocess("BGR", (1.0, 2.0, 3.0), (4.0, 5.0, 6.0)),
        ),
        ({"model_type": "Classification"}, Preprocess("BGR")),
        ({"reverse_input_channels": "True"}, Preprocess("RGB")),
        ({"reverse_input_channels": "NO"}, Preprocess("BGR")),
        ({"embedded_processing": "YES", "mean_values": "1 2 3"}, Preprocess("BGR")),
        ({"resize_type": "fit_to_window", "mean_values": ""}, Preprocess("BGR", pad=0, placement="corner")),
    ],
)
def test_model_api_defaults(keys: dict[str, str], preprocess: Preprocess) -> None:
    """What is not stated has the wrapper's default: BGR as it is, bars of 0. See its parameters."""
    keys = {"model_type": "Classification"} | keys
    found = metadata(with_metadata(**{f"model_info {key}": text for key, text in keys.items()}))
    assert found.preprocess == preprocess


def test_what_is_written_for_others_says_the_same() -> None:
    """The keys of a grafted file, put on a plain network, give the same preprocessing again."""
    first = graft(small_cnn(), preprocess="imagenet", resize="crop", labels=NAMES)
    keys = {key: text for key, text in said(first).items() if key != METADATA_KEY}
    assert eval(keys["names"]) == dict(enumerate(NAMES))
    found = metadata(with_metadata(**{k: v for k, v in keys.items() if k.startswith("model_info ")}))
    assert (found.preprocess, found.resize) == (PREPROCESS["imagenet"], "crop")
    assert found.labels == tuple(name.replace(" ", "_") for name in NAMES)
    assert keys["model_info model_type"] == "Classification"


def test_what_a_file_says_to_others_is_kept() -> None:
    model = with_metadata(**{"model_info model_type": "SSD", "names": "['a']"})
    assert said(graft(model))["model_info model_type"] == "SSD"
    assert said(graft(model, labels=NAMES))["names"] == "['a']"


def test_ultralytics_opens_what_is_fed_as_its_own_classifiers_are() -> None:
    keys = said(graft(small_cnn(), preprocess="unit", resize="crop", labels=NAMES))
    assert (keys["task"], keys["imgsz"], keys["stride"], keys["batch"]) == ("classify", "[64, 64]", "1", "1")
    assert "task" not in said(graft(small_cnn(), preprocess="imagenet", resize="crop", labels=NAMES))


def test_files_of_hugging_face_beside_the_model(tmp_path: Path) -> None:
    (tmp_path / "onnx").mkdir()
    onnx.save(small_cnn(), tmp_path / "onnx" / "model.onnx")
    processor = {
        "do_normalize": True, "do_rescale": True, "do_resize": True, "rescale_factor": 0.00392156862745098,
        "image_mean": [0.5, 0.5, 0.5], "image_std": [0.5, 0.5, 0.5], "size": {"height": 64, "width": 64},
    }  # fmt: skip
    (tmp_path / "preprocessor_config.json").write_text(json.dumps(processor))
    (tmp_path / "config.json").write_text(json.dumps({"id2label": {str(i): n for i, n in enumerate(NAMES)}}))
    exported = export(tmp_path / "onnx" / "model.onnx", tmp_path / "out.onnx").metadata
    np.testing.assert_allclose(exported.preprocess.mean, [127.5] * 3)
    np.testing.assert_allclose(exported.preprocess.std, [127.5] * 3)
    assert (exported.resize, exported.labels) == ("stretch", tuple(NAMES))
    assert exported.provenance.preprocess == "from preprocessor_config.json and config.json beside the file"


def test_timm_beside_the_model(tmp_path: Path) -> None:
    onnx.save(small_cnn(), tmp_path / "model.onnx")
    cfg = {"mean": [0.485, 0.456, 0.406], "std": [0.229, 0.224, 0.225], "crop_pct": 0.95}
    (tmp_path / "config.json").write_text(json.dumps({"architecture": "resnet18", "pretrained_cfg": cfg}))
    exported = export(tmp_path / "model.onnx", tmp_path / "out.onnx").metadata
    np.testing.assert_allclose(exported.preprocess.mean, PREPROCESS["imagenet"].mean)
    np.testing.assert_allclose(exported.preprocess.std, PREPROCESS["imagenet"].std)
    assert exported.resize == "crop"


@pytest.mark.slow
@pytest.mark.parametrize(
    ("pixels", "limits", "expected"),
    [
        ("Bgr8", "NominalRange_0_255", Preprocess("BGR")),
        ("Rgb8", "Normalized_0_1", PREPROCESS["unit"]),
        ("Rgb8", "Normalized_1_1", PREPROCESS["signed"]),
    ],
)
def test_onnx_keys_for_pictures(pixels: str, limits: str, expected: Preprocess) -> None:
    keys = {"Image.BitmapPixelFormat": pixels, "Image.NominalPixelRange": limits}
    assert metadata(with_metadata(**keys)).preprocess == expected


def test_paddle_ocr() -> None:
    found = metadata(with_metadata(character="a\nb\nc"))
    assert found.preprocess == Preprocess("BGR", (127.5,) * 3, (127.5,) * 3, placement="corner")
    assert (found.resize, found.labels) == ("letterbox", ())


def test_paddle_ocr_names_of_classes() -> None:
    """Its authors' classifiers and detectors list names under the same key: these are labels, no more."""
    found = metadata(with_metadata(character="\n".join(NAMES)))
    assert found.labels == tuple(NAMES)
    assert found.provenance.labels == "from 'character' in the file"
    assert found.provenance.preprocess.startswith("ImageNet's, assumed")


def test_paddle_ocr_reads_lines_of_text() -> None:
    model = small_cnn("float[1,3,height,width] input")
    model.metadata_props.add(key="character", value="\n".join("0123456789abc"))
    found = metadata(model).image
    assert (found.height, found.width) == (48, 320)


def normalising(before: str, **constants: np.ndarray) -> onnx.ModelProto:
    random = np.random.default_rng(0)
    return network(
        f"""
        {before}
        c1 = Conv <kernel_shape=[3,3], strides=[2,2], pads=[1,1,1,1]> (x, w1)
        a1 = Relu (c1)
        pooled = GlobalAveragePool (a1)
        flat = Flatten (pooled)
        logits = Gemm <transB=1> (flat, w2)
        """,
        w1=random.standard_normal((8, 3, 3, 3)).astype(np.float32),
        w2=random.standard_normal((10, 8)).astype(np.float32), **constants,
    )  # fmt: skip


def per_channel(*values: float) -> np.ndarray:
    return np.array(values, np.float32).reshape(1, 3, 1, 1)


@pytest.mark.slow
@pytest.mark.parametrize(
    ("before", "constants", "expected"),
    [
        (
            "y = Sub (input, m) x = Div (y, s)",
            {"m": per_channel(0.485, 0.456, 0.406), "s": per_channel(0.229, 0.224, 0.225)},
            PREPROCESS["unit"],
        ),
        (
            "y = Sub (input, m) x = Mul (y, s)",
            {"m": np.float32(127.5), "s": np.float32(1 / 127.5)},
            PREPROCESS["raw255"],
        ),
        ("x = Sub (input, m)", {"m": per_channel(103.939, 116.779, 123.68)}, Preprocess("BGR")),
        ("x = Mul (input, s)", {"s": np.float32(1 / 255)}, PREPROCESS["raw255"]),
        (
            "x = BatchNormalization (input, one, zero, mean, variance)",
            {
                "one": np.ones(3, np.float32),
                "zero": np.zeros(3, np.float32),
                "mean": np.array([124, 116, 104], np.float32),
                "variance": np.full(3, 3300, np.float32),
            },
            PREPROCESS["raw255"],
        ),
    ],
)
def test_a_preprocessing_inside_the_graph(before: str, constants: Any, expected: Preprocess) -> None:
    found = metadata(normalising(before, **constants))
    assert found.preprocess == expected
    assert found.provenance.preprocess.startswith("from the graph, which starts with ")


def test_a_guess_is_not_silent_and_the_user_is_not_overridden(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    onnx.save(small_cnn(), tmp_path / "plain.onnx")
    assert main(["export", str(tmp_path / "plain.onnx"), str(tmp_path / "out.onnx")]) == 0
    exported = capsys.readouterr().out
    assert (
        "preprocess  RGB (x − [123.675, 116.28, 103.53]) / [58.395, 57.12, 57.375]   ImageNet's, " in exported
    )
    assert "assumed: nothing in the file says" in exported
    lines = [line for line in exported.splitlines() if line.startswith(("preprocess", "resize", "labels"))]
    assert len(lines) == 3
    for file in ("plain.onnx", "out.onnx"):
        assert main(["inspect", str(tmp_path / file)]) == 0
        printed = capsys.readouterr().out.splitlines()
        assert [line for line in printed if line in lines] == lines

    mine = metadata(with_metadata(**ULTRALYTICS), preprocess="signed", resize="stretch", labels=NAMES[::-1])
    assert (mine.preprocess, mine.resize) == (PREPROCESS["signed"], "stretch")
    assert mine.labels == tuple(NAMES[::-1])
    assert mine.provenance.preprocess == "from --preprocess"


def test_labels_that_do_not_fit_are_named() -> None:
    found = metadata(with_metadata(names="['a', 'b']"))
    assert found.labels == ()
    assert found.provenance.labels == "none: 2 in 'names' in the file do not fit 10 classes"
