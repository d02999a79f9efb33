"""Class maps of the grafted file: outputs, the class input, batches, real weights and real photos."""

from __future__ import annotations

from pathlib import Path

import cv2
import fastcam_models
import numpy as np
import onnx
import onnxruntime as ort
import pytest
from fastcam_export import GraftError, export, graft
from fastcam_runtime import Explainer, native
from fastcam_runtime.sources.test_clip import PHOTOS
from support.networks import network, small_cnn
from support.oracle import method
from support.shared_data import shared

CLASS_MAPS = ["saliency_map", "cam", "fastcam", "nonclass"]


def session(model: onnx.ModelProto, *, compiled: bool = False) -> ort.InferenceSession:
    options = ort.SessionOptions()
    options.log_severity_level = 3
    if compiled and not native.register(options):
        pytest.skip(native.status())
    return ort.InferenceSession(model.SerializeToString(), options, providers=["CPUExecutionProvider"])


def pictures(count: int) -> np.ndarray:
    return np.random.default_rng(3).standard_normal((count, 3, 64, 64)).astype(np.float32)


@pytest.fixture(scope="module")
def batched() -> ort.InferenceSession:
    return session(graft(small_cnn("float[N,3,64,64] input"), outputs=CLASS_MAPS))


def run(model: ort.InferenceSession, x: np.ndarray, *classes: int) -> dict[str, np.ndarray]:
    names = [output.name for output in model.get_outputs()]
    feeds = {"input": x} | ({"saliency_class": np.array(classes, np.int64)} if classes else {})
    return dict(zip(names, model.run(names, feeds), strict=True))


def test_products_are_not_renormalised(batched: ort.InferenceSession) -> None:
    result = run(batched, pictures(2))
    combined, cam = result["saliency_map"], result["saliency_cam"]
    assert cam.min(axis=(1, 2)) == pytest.approx(0)
    assert cam.max(axis=(1, 2)) == pytest.approx(1)
    np.testing.assert_allclose(result["saliency_fastcam"], combined * cam, atol=1e-6)
    np.testing.assert_allclose(result["saliency_nonclass"], combined * (1 - cam), atol=1e-6)


def test_the_class_need_not_be_fed_and_defaults_to_the_best(batched: ort.InferenceSession) -> None:
    assert [i.name for i in batched.get_inputs()] == ["input"]
    x = pictures(3)
    default = run(batched, x)
    best = default["logits"].argmax(axis=1)
    for feeds in ((-1, -1, -1), tuple(best)):
        np.testing.assert_array_equal(run(batched, x, *feeds)["saliency_cam"], default["saliency_cam"])


@pytest.mark.slow
@pytest.mark.parametrize("shape", ["float[1,3,64,64] input", "float[N,3,64,64] input"])
def test_a_required_class_is_an_input_like_any_other(shape: str) -> None:
    required = session(graft(small_cnn(shape), outputs=CLASS_MAPS, class_input="required"))
    optional = session(graft(small_cnn(shape), outputs=CLASS_MAPS))
    assert [value.name for value in required.get_inputs()] == ["input", "saliency_class"]
    assert not required.get_overridable_initializers()
    for index in (-1, 4):
        expected = run(optional, pictures(1), index)
        np.testing.assert_array_equal(
            run(required, pictures(1), index)["saliency_cam"], expected["saliency_cam"]
        )
    with pytest.raises(ValueError, match="saliency_class"):
        run(required, pictures(1))


def test_each_image_of_a_batch_has_its_own_class(batched: ort.InferenceSession) -> None:
    x = pictures(3)
    together = run(batched, x, 2, -1, 7)["saliency_cam"]
    for i, index in enumerate((2, -1, 7)):
        np.testing.assert_allclose(
            together[i], run(batched, x[i : i + 1], index)["saliency_cam"][0], atol=1e-5
        )


@pytest.mark.slow
@pytest.mark.parametrize("compiled", [False, True])
@pytest.mark.parametrize(
    "shape", ["float[1,3,64,64] input", "float[N,3,64,64] input", "float[N,3,H,W] input"]
)
@pytest.mark.parametrize(("method", "epsilon"), [("gradcam++", 0.0), ("gradcam++", 1e-7), ("gradcam", 0.0)])
def test_one_image_for_any_number_of_classes(method: str, epsilon: float, shape: str, compiled: bool) -> None:
    model = graft(small_cnn(shape), outputs=CLASS_MAPS, cam=method, cam_epsilon=epsilon)
    one = session(model, compiled=compiled)
    x = pictures(1)
    together = run(one, x, 2, -1, 7)
    assert len(together["saliency_map"]) == len(together["logits"]) == 1
    for i, index in enumerate((2, -1, 7)):
        alone = run(one, x, index)
        for name in ("saliency_cam", "saliency_fastcam", "saliency_nonclass"):
            assert together[name].shape == (3, 64, 64)
            np.testing.assert_allclose(together[name][i], alone[name][0], atol=1e-6, err_msg=name)


@pytest.mark.slow
@pytest.mark.parametrize("batch", ["1", "2", "N"])
def test_several_classes_in_one_call_are_those_of_several_calls(batch: str, tmp_path: Path) -> None:
    path = tmp_path / "grafted.onnx"
    onnx.save(graft(small_cnn(f"float[{batch},3,64,64] input"), outputs=CLASS_MAPS), path)
    explain = Explainer(path, threads=1)
    frame = np.random.default_rng(5).integers(0, 255, (64, 64, 3), np.uint8)
    for explanation, index in zip(explain.explain(frame, [3, 8, 0]), (3, 8, 0), strict=True):
        alone = explain.explain(frame, [index])[0]
        assert explanation.index == index
        for name, expected in alone.maps.items():
            np.testing.assert_allclose(explanation.maps[name], expected, atol=1e-6, err_msg=name)


@pytest.mark.slow
@pytest.mark.parametrize("outputs", [["cam"], ["fastcam"], ["nonclass"]])
def test_only_what_is_asked_for_is_added(outputs: list[str]) -> None:
    grafted = graft(small_cnn(), outputs=outputs)
    assert [o.name for o in grafted.graph.output] == ["logits", f"saliency_{outputs[0]}"]
    calls = {node.op_type for node in grafted.graph.node if node.domain == "fastcam"}
    assert ("SmoeScale" in calls) == (outputs != ["cam"])


def test_a_fixed_batch() -> None:
    model = session(graft(small_cnn("float[3,3,64,64] input"), outputs=["cam"]))
    x = pictures(3)
    free = session(graft(small_cnn("float[N,3,64,64] input"), outputs=["cam"]))
    for classes in ((), (4, -1, 9)):
        np.testing.assert_allclose(
            run(model, x, *classes)["saliency_cam"], run(free, x, *classes)["saliency_cam"], atol=1e-6
        )


def test_free_sizes() -> None:
    model = session(graft(small_cnn("float[N,3,H,W] input"), outputs=["cam"]))
    for shape in ((1, 3, 48, 80), (2, 3, 65, 33)):
        x = np.random.default_rng(0).standard_normal(shape).astype(np.float32)
        cam = run(model, x)["saliency_cam"]
        assert cam.shape == (shape[0], *shape[2:])
        assert np.isfinite(cam).all()


def attention_pool(picture: str, *, hidden: bool) -> onnx.ModelProto:
    """Features weighted by their softmax over the pixels, which are flattened as torch's older exporter does:
    to a shape computed at run time, where ONNX's shape inference fails; or to a constant shape."""
    random = np.random.default_rng(7)
    shape = "s = Shape (a) c = Slice (s, first, second) t = Concat <axis=0> (c, rest)"
    return network(
        f"""
        x = Conv <kernel_shape=[3,3], strides=[4,4], pads=[1,1,1,1]> (input, w)
        a = Relu (x)
        {shape if hidden else "t = Constant <value_ints=[0,0,-1]> ()"}
        pixels = Reshape (a, t)
        attention = Softmax <axis=-1> (pixels)
        weighted = Mul (pixels, attention)
        sum = ReduceSum <keepdims=0> (weighted, rest)
        logits = Gemm <transB=1> (sum, w2)
        """,
        inputs=f"float[{picture}] input", opset=13,
        w=random.standard_normal((16, 3, 3, 3)).astype(np.float32),
        w2=random.standard_normal((10, 16)).astype(np.float32),
        first=np.array([0]), second=np.array([2]), rest=np.array([-1]),
    )  # fmt: skip


@pytest.mark.slow
@pytest.mark.parametrize("picture", ["2,3,64,64", "N,3,64,64", "N,3,H,W"])
def test_a_head_whose_shapes_are_hidden_from_inference(picture: str) -> None:
    """The shapes are observed in one run. Free dimensions may have any size later."""
    hidden = session(graft(attention_pool(picture, hidden=True), outputs=["cam"]))
    plain = session(graft(attention_pool(picture, hidden=False), outputs=["cam"]))
    sizes = {"2": [(2, 3, 64, 64)], "N": [(1, 3, 64, 64), (3, 3, 64, 64)]}[picture[0]]
    for size in [*sizes, *([(2, 3, 40, 96)] if "H" in picture else [])]:
        x = np.random.default_rng(1).standard_normal(size).astype(np.float32)
        classes = range(3, 3 + len(x))
        expected = run(plain, x, *classes)["saliency_cam"]
        assert expected.max(axis=(1, 2)) == pytest.approx(1)
        np.testing.assert_allclose(run(hidden, x, *classes)["saliency_cam"], expected, atol=1e-5)


@pytest.mark.slow
@pytest.mark.parametrize("picture", ["2,3,64,64", "N,3,64,64"])
def test_hidden_shapes_that_are_not_what_they_look_like(picture: str) -> None:
    """A pool and a linear layer, but each class uses only one half of the channels: it has no row of its own
    in the layer. Where the batch is free, all that is known of what lies between is that it has two axes."""
    computed = """
        s = Shape (pooled) n = Slice (s, i0, i1) c = Slice (s, i1, i2) half = Div (c, i2)
        t = Concat <axis=0> (rest, half) u = Concat <axis=0> (n, rest)
        """
    constant = "t = Constant <value_ints=[-1,8]> () u = Constant <value_ints=[-1,10]> ()"
    random = np.random.default_rng(7)
    weights = {name: random.uniform(size=shape).astype(np.float32)
               for name, shape in {"w": (16, 3, 3, 3), "w8": (8, 5)}.items()}  # fmt: skip
    x, maps = pictures(2), []
    for shapes in (computed, constant):
        model = network(
            f"""
            x = Conv <kernel_shape=[3,3], strides=[4,4], pads=[1,1,1,1]> (input, w)
            a = Relu (x)
            pooled = GlobalAveragePool (a)
            {shapes}
            halves = Reshape (pooled, t)
            each = MatMul (halves, w8)
            both = Reshape (each, u)
            logits = Softmax (both)
            """,
            inputs=f"float[{picture}] input", opset=13, **weights,
            i0=np.array([0]), i1=np.array([1]), i2=np.array([2]), rest=np.array([-1]),
        )  # fmt: skip
        maps.append(run(session(graft(model, outputs=["cam"])), x, 1, 8)["saliency_cam"])
    assert maps[1].max(axis=(1, 2)) == pytest.approx(1)
    np.testing.assert_allclose(maps[0], maps[1], atol=1e-5)


@pytest.mark.slow
@pytest.mark.parametrize("hidden", [True, False])
@pytest.mark.parametrize("picture", ["1,3,64,64", "N,3,64,64", "N,3,H,W"])
def test_other_heads_take_one_class_per_image(picture: str, hidden: bool) -> None:
    """Three classes for one image are an error, not a map of their sum; one class is broadcast."""
    model = session(graft(attention_pool(picture, hidden=hidden), outputs=["cam"]))
    with pytest.raises(Exception, match=r"saliency_class|SelectClass"):
        run(model, pictures(1), 1, 2, 3)
    if picture.startswith("N"):
        x = pictures(3)
        np.testing.assert_array_equal(
            run(model, x, 4)["saliency_cam"], run(model, x, 4, 4, 4)["saliency_cam"]
        )
        with pytest.raises(Exception, match="SelectClass"):
            run(model, x, 1, 2)


def test_a_head_with_an_unknown_operator_names_it_and_what_still_works() -> None:
    model = small_cnn()
    model.graph.node[-1].output[0] = "raw"
    model.graph.node.append(onnx.helper.make_node("CumSum", ["raw", "axis"], ["logits"], name="odd one"))
    model.graph.initializer.append(onnx.numpy_helper.from_array(np.array(1), "axis"))
    with pytest.raises(GraftError, match=r"CumSum.*saliency_map|saliency_map.*CumSum"):
        graft(model, outputs=["cam"])
    assert graft(model, outputs=["saliency_map"])


@pytest.mark.slow
@pytest.mark.parametrize(
    ("head", "shape"),
    [
        ("logits = Conv (a, w5)", "has a value for each of 5×32×32"),
        ("p = GlobalAveragePool (a) logits = Squeeze (p)", "is 16"),
        ("p = GlobalAveragePool (a) f = Flatten (p) logits = Transpose (f)", "has a value for each of 16×1"),
    ],
    ids=["segmentation", "no batch", "classes first"],
)
def test_scores_that_are_not_one_per_class(head: str, shape: str) -> None:
    model = network(
        f"""
        c = Conv <kernel_shape=[3,3], strides=[2,2], pads=[1,1,1,1]> (input, w)
        a = Relu (c)
        {head}
        """,
        output="float logits",
        w=np.ones((16, 3, 3, 3), np.float32), w5=np.ones((5, 16, 1, 1), np.float32),
    )  # fmt: skip
    graft(model)  # the map itself needs no classes
    with pytest.raises(GraftError, match=rf"no class map: 'logits' {shape}, not one score per class"):
        graft(model, outputs=["cam"])


def test_the_number_of_the_best_class_is_no_score() -> None:
    model = network(
        """
        c = Conv <kernel_shape=[3,3], strides=[2,2], pads=[1,1,1,1]> (input, w)
        a = Relu (c)
        p = GlobalAveragePool (a)
        f = Flatten (p)
        best = ArgMax <axis=1, keepdims=0> (f)
        """,
        output="int64[1] best",
        w=np.ones((16, 3, 3, 3), np.float32),
    )
    with pytest.raises(GraftError, match="no class map: 'best' is one value per picture, not one score per"):
        graft(model, outputs=["cam"])


@pytest.mark.slow
def test_the_shipped_network_equals_autograd() -> None:
    """Real weights, a real photo: Grad-CAM and Grad-CAM++ of torch's own backward pass in float64."""
    torch = pytest.importorskip("torch")
    from fastcam_models import build
    from support import cam_harness

    try:
        network = build.load(build.RECIPES["efficientnet-lite0"])
    except FileNotFoundError as error:
        pytest.skip(str(error))
    exported = build.build("efficientnet-lite0", half=False)
    rgb = cv2.resize(cv2.imread(str(PHOTOS / "chelsea.jpg")), (224, 224))[..., ::-1]
    x = ((rgb.astype(np.float32) - 127) / 128).transpose(2, 0, 1)[None]

    network = network.double().eval()
    features = []
    network.head.register_forward_hook(lambda _m, _i, output: features.append(output.detach().numpy()))
    with torch.no_grad():
        scores = network(torch.tensor(x, dtype=torch.float64)).numpy()[0]
    (a,) = features

    def head(values):  # type: ignore[no-untyped-def]
        return network.classifier(values.mean(dim=(2, 3)))

    for name in ("gradcam++", "gradcam"):
        grafted = session(graft(exported, outputs=["cam"], cam=name))
        for index in (int(scores.argmax()), 967, 0, 500):
            g = cam_harness.autograd(head, a, np.array([index]))
            # Min–max comes after the interpolation, so the textbook's map is upsampled first.
            expected = cam_harness.normalise(method.bilinear(cam_harness.textbook_cam(a, g, name), 224, 224))
            np.testing.assert_allclose(run(grafted, x, index)["saliency_cam"], expected, atol=1e-4)


DOG, CAT = (75, 0, 165, 140), (45, 118, 190, 224)
"""Left, top, right, bottom of the two animals in the picture, drawn by hand."""


@pytest.mark.slow
@pytest.mark.parametrize("cam", ["gradcam++", "gradcam"])
@pytest.mark.parametrize("model", ["mobilenet_v2", "efficientnet-lite0"])
def test_the_maps_of_two_classes_point_at_two_objects(model: str, cam: str, tmp_path: Path) -> None:
    shipped = model == "efficientnet-lite0"
    source = fastcam_models.default_model() if shipped else shared(f"models/{model}.onnx")
    labels = None if shipped else shared("imagenet_labels.txt").read_text().splitlines()
    export(source, tmp_path / "m.onnx", outputs=["cam", "fastcam"], cam=cam, labels=labels)
    explain = Explainer(tmp_path / "m.onnx", threads=1)
    frame = cv2.imread(str(shared("photos/extra_cat_dog.png")))
    dog, cat = explain.explain(frame, classes=["boxer", "tiger cat"])
    for explanation, own, other in ((dog, DOG, CAT), (cat, CAT, DOG)):
        weight = explanation.maps["saliency_cam"]
        assert inside(np.unravel_index(np.argmax(weight), weight.shape), own)
        # Grad-CAM++ uses only evidence for a class; Grad-CAM also evidence against it.
        if cam == "gradcam":
            assert mass(weight, own) > 1.5 * mass(weight, other)
            fine = explanation.maps["saliency_fastcam"]
            assert inside(np.unravel_index(np.argmax(fine), fine.shape), own)


def inside(peak: tuple[np.intp, ...], box: tuple[int, int, int, int]) -> bool:
    y, x = peak
    return bool(box[0] <= x < box[2] and box[1] <= y < box[3])


def mass(weight: np.ndarray, box: tuple[int, int, int, int]) -> float:
    left, top, right, bottom = box
    return float(weight[top:bottom, left:right].mean())
