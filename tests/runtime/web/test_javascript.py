"""The JavaScript against the Python runtime: the same file and picture must give the same result."""

from __future__ import annotations

import json
from pathlib import Path

import cv2
import numpy as np
import pytest
from fastcam_models import default_model
from fastcam_runtime import Explainer, contract
from fastcam_runtime.classes import probability
from fastcam_runtime.contract import ImageInput, Preprocess
from fastcam_runtime.draw import colormaps
from fastcam_runtime.limits import MAX_DEPTH, MAX_FIELDS, MAX_PIXELS
from fastcam_runtime.model.file import summarize
from fastcam_runtime.model.protobuf import text_field
from fastcam_runtime.model.pruning import cut
from fastcam_runtime.preprocess import Preprocessor
from fastcam_runtime.web.assets import asset_folder
from support.node import LOAD_MODEL, ort_web, run_node
from support.tiny_grafts import make_graft, save_graft

PREPROCESS = """
const { Preprocessor } = await web("image/preprocess.js");
const made = new Preprocessor(given.metadata, given.type);
const { tensor } = made.run({ data: bytes(given.frame), width: given.width, height: given.height });
writeFileSync(given.out, new Uint8Array(tensor.buffer));
return made.geometry;
"""


def noise(height: int, width: int) -> np.ndarray:
    return np.random.default_rng(height * width).integers(0, 256, (height, width, 3), dtype=np.uint8)


def save_rgba(frame: np.ndarray, path: Path) -> str:
    path.write_bytes(cv2.cvtColor(frame, cv2.COLOR_BGR2RGBA).tobytes())
    return str(path)


@pytest.mark.slow
@pytest.mark.parametrize("size", [(480, 640), (720, 1280), (212, 500), (100, 130), (32, 48)])
@pytest.mark.parametrize("resize", contract.RESIZE)
def test_preprocessing_equals_opencv_bit_by_bit(size: tuple[int, int], resize: str, tmp_path: Path) -> None:
    image = ImageInput("image", "NCHW", 3, 112, 96)
    check_preprocessing(noise(*size), image, contract.PREPROCESS["imagenet"], resize, "float32", tmp_path)


@pytest.mark.parametrize("placement", ["centre", "corner"])
def test_letterbox_bars_of_a_given_gray(placement: str, tmp_path: Path) -> None:
    image = ImageInput("image", "NCHW", 3, 112, 96)
    order = Preprocess("BGR", (0.0, 1.0, 2.0), (1.0, 2.0, 3.0), 114, placement)
    check_preprocessing(noise(90, 320), image, order, "letterbox", "float32", tmp_path)


@pytest.mark.slow
@pytest.mark.parametrize("dtype", ["float16", "uint8"])
@pytest.mark.parametrize("layout", ["NCHW", "NHWC"])
def test_preprocessing_in_every_layout_and_type(dtype: str, layout: str, tmp_path: Path) -> None:
    order = (
        Preprocess("BGR", (103.5, 116.0, 123.7), (57.0, 58.0, 1.5))
        if dtype == "float16"
        else Preprocess("GRAY", (0.0,), (1.0,))
    )
    image = ImageInput("image", layout, len(order.mean), 64, 80)
    check_preprocessing(noise(240, 320), image, order, "crop", dtype, tmp_path)


def check_preprocessing(
    frame: np.ndarray, image: ImageInput, preprocess: Preprocess, resize: str, dtype: str, folder: Path
) -> None:
    metadata = {"image": vars(image), "preprocess": vars(preprocess), "resize": resize}
    geometry = run_node(
        PREPROCESS,
        metadata=metadata,
        type=dtype,
        frame=save_rgba(frame, folder / "frame"),
        width=frame.shape[1],
        height=frame.shape[0],
        out=str(folder / "tensor"),
    )
    wanted, laid = Preprocessor(image, preprocess, resize, dtype)(frame)
    found = np.fromfile(folder / "tensor", dtype).reshape(wanted.shape)
    np.testing.assert_array_equal(found, wanted)
    assert geometry["seen"] == vars(laid.seen)
    assert geometry["placed"] == vars(laid.placed)


def test_half_floats_go_there_and_back() -> None:
    values = [0.0, -0.0, 1.0, -2.5, 65504.0, 6.1e-5, 5.96e-8, 3e-8, 0.1, 1000.5, 2049.0, 1e9]
    body = """
    const { toHalf, fromHalf } = await web("image/preprocess.js");
    return given.values.map((value) => [toHalf(value), String(fromHalf(toHalf(value)))]);
    """
    with np.errstate(over="ignore"):
        halves = np.array(values).astype(np.float16)
    found = run_node(body, values=values)
    np.testing.assert_array_equal([bits for bits, _ in found], halves.view(np.uint16))
    np.testing.assert_array_equal([float(text.replace("Infinity", "inf")) for _, text in found], halves)


def test_probabilities_and_best_classes() -> None:
    scores = np.random.default_rng(1).normal(0, 4, 50)
    body = """
    const { best, probabilities } = await web("classes.js");
    return best(probabilities(given.scores, "logits"), given.labels, 5);
    """
    found = run_node(body, scores=scores.tolist(), labels=[f"class {i}" for i in range(50)])
    order = np.argsort(-scores)[:5]
    assert [item["index"] for item in found] == order.tolist()
    assert [item["label"] for item in found] == [f"class {i}" for i in order]
    for item in found:
        assert item["score"] == pytest.approx(probability(scores, item["index"], "logits"), rel=1e-5)


def test_class_is_found_by_label_index_and_part() -> None:
    labels = ["tabby", "tiger cat", "Egyptian cat", "catamaran", "tiger"]
    body = """
    const { candidates, findClass } = await web("classes.js");
    const find = (text) => {
      try { return findClass(text, given.labels, 5); } catch (error) { return error.message; }
    };
    const cars = ["scar", "racing car", "cart", "a car wash", "red cart", "scar car", "Car"];
    const ranked = candidates("car", cars);
    return { found: given.texts.map(find), candidates: candidates("cat", given.labels), ranked };
    """
    found = run_node(body, labels=labels, texts=["tabby", "EGYPT", "3", "tiger", "cat", "dog", "9"])
    assert found["ranked"] == [6, 1, 3, 5, 2, 4, 0]
    assert found["found"][:4] == [0, 2, 3, 4]
    assert found["found"][4].startswith("class “cat” could be tiger cat (1), Egyptian cat (2), catamaran (3)")
    assert found["found"][5:] == ["no class “dog”", "no class 9; the file has 0…4"]
    assert found["candidates"] == [1, 2, 3]


@pytest.mark.parametrize("keep", [(), ("saliency_map",), ("saliency_cam", "saliency_lovi")])
def test_cut_is_that_of_the_runtime_without_the_default_class(keep: tuple[str, ...], tmp_path: Path) -> None:
    path = save_graft(tmp_path / "model.onnx")
    body = """
    const { cut } = await web("model/cut.js");
    writeFileSync(given.out, cut(bytes(given.path), given.keep));
    """
    run_node(f"{body} return null;", path=str(path), keep=list(keep), out=str(tmp_path / "cut.onnx"))
    import onnx

    found, wanted = onnx.load(tmp_path / "cut.onnx"), onnx.load_from_string(cut(path.read_bytes(), keep))
    defaults = [tensor for tensor in wanted.graph.initializer if tensor.name == contract.CLASS_INPUT]
    assert len(defaults) == ("saliency_cam" in keep)
    for tensor in defaults:
        wanted.graph.initializer.remove(tensor)
    assert found == wanted
    onnx.checker.check_model(found)


def test_summary_reads_what_the_runtime_reads(tmp_path: Path) -> None:
    model = make_graft(batch="N")
    (tmp_path / "model.onnx").write_bytes(model.SerializeToString())
    body = """
    const { readMetadata, summarize } = await web("model/onnx.js");
    const file = summarize(bytes(given.path));
    const outputs = file.outputs.map(({ name }) => name);
    return { inputs: file.inputs, outputs, metadata: readMetadata(file), quantized: file.quantized };
    """
    found = run_node(body, path=str(tmp_path / "model.onnx"))
    file = summarize(model.SerializeToString())
    assert found["outputs"] == list(file.outputs)
    assert found["inputs"][0] == {"name": "image", "type": "float32", "shape": [None, 3, 32, 48]}
    assert found["metadata"]["labels"] == ["red", "green", "blue"]
    assert found["quantized"] is file.quantized is False


@pytest.mark.slow
@pytest.mark.parametrize(
    "content", [b"", b"\x08", b"\x89PNG\r\n\x1a\n" * 9, b"\x08\x07:\xff\xff\xff\xff\xff\x7f"]
)
def test_damaged_file_is_refused(content: bytes, tmp_path: Path) -> None:
    (tmp_path / "model").write_bytes(content)
    body = """
    const { summarize } = await web("model/onnx.js");
    try { summarize(bytes(given.path)); return "taken"; } catch (error) { return error.message; }
    """
    assert run_node(body, path=str(tmp_path / "model")).startswith("not an ONNX model")


def _nested(depth: int) -> bytes:
    """A model whose only node holds a graph that holds a node that holds a graph…"""
    graph = b""
    for _ in range(depth):
        graph = text_field(1, text_field(5, text_field(6, graph)))
    return text_field(7, graph)


@pytest.mark.slow
def test_limits_on_what_a_model_may_ask_for(tmp_path: Path) -> None:
    """Without them, 20 MB of empty fields filled 4 GB, and deep graphs the stack."""
    empty = b"\x0a\0" * (MAX_FIELDS + 1)
    many = text_field(7, b"".join(text_field(12, text_field(1, f"n{i}")) for i in range(200_000)))
    models = {"empty": text_field(7, empty), "top": empty, "deep": _nested(3000), "many": many}
    for name, content in models.items():
        (tmp_path / name).write_bytes(content)
    body = """
    const { summarize } = await web("model/onnx.js"), { cut } = await web("model/cut.js");
    return given.paths.map((path) => {
      try {
        summarize(bytes(path));
        cut(bytes(path), []);
        return "taken";
      } catch (error) {
        return error.message;
      }
    });
    """
    paths = [str(tmp_path / name) for name in models]
    fields = f"a part of the model has more than {MAX_FIELDS} fields"
    deep = f"the model nests graphs more than {MAX_DEPTH} deep"
    assert run_node(body, paths=paths) == [fields, fields, deep, "taken"]


@pytest.mark.parametrize(
    "change", [None, [], {"image": None}, {"labels": [1]}, {"preprocess": {"mean": "a"}}]
)
def test_damaged_metadata_are_refused(change: object) -> None:
    whole = json.loads(make_graft().metadata_props[0].value)
    given = {**whole, **change} if isinstance(change, dict) else change
    body = """
    const { readMetadata } = await web("model/onnx.js");
    const read = (text) => {
      try {
        return readMetadata({ metadata: new Map([["fastcam", text]]) }).version;
      } catch (error) {
        return error.message;
      }
    };
    return [read(given.whole), read(given.text), read("{")];
    """
    damaged = "the metadata “fastcam” of the file are damaged"
    assert run_node(body, whole=json.dumps(whole), text=json.dumps(given)) == [1, damaged, damaged]


def test_a_picture_that_fills_the_memory_is_refused() -> None:
    body = """
    const { Preprocessor, MAX_PIXELS } = await web("image/preprocess.js");
    const image = { layout: "NCHW", channels: 3, height: 5000, width: 5000 };
    try { new Preprocessor({ image }, "float32"); } catch (error) { return [MAX_PIXELS, error.message]; }
    """
    message = f"the image input is 1 × 5000×5000: {MAX_PIXELS} pixels are the limit"
    assert run_node(body) == [MAX_PIXELS, message]


@pytest.mark.slow
def test_node_opens_a_path_and_takes_short_names(tmp_path: Path) -> None:
    path = save_graft(tmp_path / "model.onnx")
    body = """
    const ort = await import("file://" + given.ort + "/ort.wasm.min.mjs");
    ort.env.wasm.numThreads = 1;
    const { load } = await web("fastcam.js");
    const said = (promise) => promise.then(() => "done", (error) => error.message);
    const model = await load(given.model, { ort });
    const other = await load(new URL("file://" + given.model), { ort });
    const picture = { data: new Uint8Array(4 * 48 * 32).map((_, i) => i % 251), width: 48, height: 32 };
    const { maps } = await model.explain(picture, { outputs: ["cam", "map"] });
    return {
      maps: Object.keys(maps), labels: other.labels,
      refused: [
        await said(model.explain(picture, { outputs: ["kam"] })), await said(model.explain("photo.jpg")),
        await said(load(given.model)), await said(load("nothere.onnx", { ort })),
      ],
    };
    """
    found = run_node(body, ort=str(ort_web()), model=str(path))
    assert found["maps"] == ["saliency_cam", "saliency_map"]
    assert found["labels"] == ["red", "green", "blue"]
    no_map, no_picture, no_runtime, no_file = found["refused"]
    assert no_map.startswith("no map “kam”; there are: saliency_map, ")
    assert no_picture.endswith("not a string")
    assert 'with ort from "onnxruntime-web"' in no_runtime
    assert "nothere.onnx" in no_file


EXPLAIN = (
    LOAD_MODEL
    + """\
const results = [];
for (const choice of given.classes) {
  const { maps, index, label, score, top } = await model.explain(picture, { class: choice });
  results.push({ index, label, score, top });
  for (const name in maps) writeFileSync(`${given.out}-${results.length}-${name}`, maps[name].data);
}
await model.release();
return results;
"""
)


@pytest.mark.slow
def test_explain_in_node_equals_python(tmp_path: Path) -> None:
    pytest.importorskip("onnx_ir")
    import onnx
    from fastcam_export import graft

    model = tmp_path / "model.onnx"
    onnx.save(graft(default_model(), outputs=("saliency_map", "lovi", "cam", "fastcam")), model)
    frame = cv2.imread(str(Path(colormaps.__file__).parents[1] / "sources" / "clip" / "chelsea.jpg"))
    classes = [None, "tabby"]
    results = run_node(
        EXPLAIN,
        ort=str(ort_web()),
        model=str(model),
        frame=save_rgba(frame, tmp_path / "frame"),
        width=frame.shape[1],
        height=frame.shape[0],
        classes=classes,
        out=str(tmp_path / "out"),
    )
    explain = Explainer(model, compiled=False)
    for number, (choice, result) in enumerate(zip(classes, results, strict=True), start=1):
        wanted = explain.explain(frame, choice)[0]
        assert (result["index"], result["label"]) == (wanted.index, wanted.label)
        assert result["score"] == pytest.approx(wanted.score, rel=1e-3)
        for name, saliency in wanted.maps.items():
            found = np.fromfile(tmp_path / f"out-{number}-{name}", saliency.dtype).reshape(saliency.shape)
            atol = 2 if saliency.dtype == np.uint8 else 1e-3
            np.testing.assert_allclose(found.astype(float), saliency.astype(float), atol=atol, rtol=0)


def test_types_name_what_the_module_exports() -> None:
    declared = {
        line.split()[2].split("(")[0].split("<")[0].rstrip(":")
        for line in (asset_folder() / "fastcam.d.ts").read_text("utf-8").splitlines()
        if line.startswith(("export function", "export const", "export class"))
    }
    assert set(run_node('return Object.keys(await web("fastcam.js"));')) == declared
