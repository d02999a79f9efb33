"""Nodes and inputs that no exporter writes: the compiled kernels refuse them, or compute the right result.

No kernel may read or write out of bounds: test_build.py runs this again under the sanitizers.
"""

from __future__ import annotations

import itertools
from threading import Thread

import numpy as np
import pytest
from fastcam_runtime import native
from fastcam_runtime.model.device import block as native_block
from support.compiled import compiled_session, feed, node_model

pytestmark = pytest.mark.skipif(native.library_path() is None, reason=native.status())

PLANES = ("SmoeScale", "SmoeScaleRelu", "SmoeScale12")
BLOCKED = ("SmoeScaleBlocked", "SmoeScaleBlockedRelu")
HERE = native_block() or 8
MAPS = ("GaussNormalize", "GaussNormalizeDynamic", "MinMax")
PRODUCTS = ("FastCam", "NonClass")
FIXED = ("CombineScales", "Upsample", "Lovi")
FREE = tuple(name + "Dynamic" for name in FIXED)

NO_BLOCK = "fastcam: SmoeScaleBlocked needs the attribute block, 8 or 16"
NO_EPSILON = "fastcam: SMOE Scale needs the attribute epsilon, a number above 0"
NO_ACTIVATIONS = r"fastcam: SMOE Scale takes \[N,C,H,W\] with 1 to 2\^24 channels"
NO_TYPE = "fastcam: an input has an unexpected element type"
TOO_MANY = "fastcam: an input has too many dimensions"
NO_MAP = "fastcam: GaussNormalize and MinMax take a map of three dimensions"
NO_PAIR = r"fastcam: FastCam and NonClass take maps \[N,H,W\] of one size"
NO_LAYER = r"fastcam: a map to interpolate is not \[N,h,w\], sides of 1 to 2\^24, with the same N"
NO_SIZE = r"fastcam: maps are interpolated to sides of 0 to 2\^24 pixels"
NOT_ENOUGH = "fastcam: inputs of the interpolation are missing"


def floats(*shape: int) -> np.ndarray:
    return np.random.default_rng(0).random(shape, np.float32)


def compute(operator: str, *inputs: np.ndarray, **attributes: object) -> np.ndarray:
    return feed(compiled_session(node_model(operator, *inputs, **attributes)), *inputs)


def refused(message: str, operator: str, *inputs: np.ndarray, **attributes: object) -> None:
    with pytest.raises(Exception, match=message) as caught:
        compute(operator, *inputs, **attributes)
    assert str(caught.value).count("fastcam:") == 1


def smoe_attributes(operator: str) -> dict[str, object]:
    return {"epsilon": 1e-6, **({"block": HERE} if operator in BLOCKED else {})}


BLOCKS = [{}, *({"block": block} for block in (0, 1, 4, 24, -8, 2**32 + 8, 2**63 - 1, 8.0, [8, 8], "8"))]


@pytest.mark.parametrize("operator", BLOCKED)
@pytest.mark.parametrize("attributes", BLOCKS, ids=str)
def test_blocks_without_a_size_are_refused(operator: str, attributes: dict[str, object]) -> None:
    refused(NO_BLOCK, operator, floats(1, 16, 64, 64), epsilon=1e-6, **attributes)


@pytest.mark.parametrize("operator", PLANES)
@pytest.mark.parametrize("attributes", [*BLOCKS, {"block": 8}, {"block": 16}], ids=str)
def test_planes_stay_planes_whatever_a_node_says_of_blocks(
    operator: str, attributes: dict[str, object]
) -> None:
    x = floats(2, 17, 70, 70)
    np.testing.assert_array_equal(
        compute(operator, x, epsilon=1e-6, **attributes), compute(operator, x, epsilon=1e-6)
    )


@pytest.mark.parametrize("operator", [*PLANES, *BLOCKED])
@pytest.mark.parametrize("epsilon", [None, 0.0, -1e-6, np.nan, np.inf, -np.inf, 1, [1e-6], "small"], ids=str)
def test_an_epsilon_that_is_no_number_above_0_is_refused(operator: str, epsilon: object) -> None:
    attributes = smoe_attributes(operator) | {"epsilon": epsilon}
    if epsilon is None:
        del attributes["epsilon"]
    refused(NO_EPSILON, operator, floats(1, HERE, 3, 3), **attributes)


@pytest.mark.parametrize("operator", [*PLANES, *BLOCKED])
@pytest.mark.parametrize("epsilon", [1e-45, 1e-30, 1.0, 1e30, 3.4e38])
def test_the_smallest_and_the_largest_epsilon_give_finite_maps(operator: str, epsilon: float) -> None:
    found = compute(operator, floats(1, 2 * HERE, 7, 9), **smoe_attributes(operator) | {"epsilon": epsilon})
    assert (np.isfinite(found) & (found >= 0)).all()


@pytest.mark.parametrize("operator", [*PLANES, *BLOCKED])
def test_activations_of_another_shape_are_refused(operator: str) -> None:
    shapes = [(), (HERE,), (HERE, 8, 8), (1, 0, 8, 8), (0, 2**40, 8, 8), (1, 2**24 + HERE, 1, 1)]
    for shape in [*shapes, *([(1, HERE + 1, 8, 8), (1, HERE // 2, 8, 8)] if operator in BLOCKED else [])]:
        refused(NO_ACTIVATIONS, operator, np.zeros(shape, np.float32), **smoe_attributes(operator))
    refused(TOO_MANY, operator, floats(1, HERE, 8, 8, 1, 1), **smoe_attributes(operator))


@pytest.mark.parametrize("operator", [*PLANES, *BLOCKED])
@pytest.mark.parametrize("shape", [(0, 16, 5, 5), (2, 16, 0, 5), (2, 16, 5, 0), (2**40, 16, 0, 1)])
def test_smoe_of_nothing_is_nothing(operator: str, shape: tuple[int, ...]) -> None:
    found = compute(operator, np.zeros(shape, np.float32), **smoe_attributes(operator))
    assert found.shape == (shape[0], *shape[2:])


@pytest.mark.parametrize("operator", [*PLANES, *BLOCKED, *MAPS, *PRODUCTS, *FIXED, *FREE])
@pytest.mark.parametrize("kind", ["float64", "float16", "int64", "uint8", "bool", "str"])
def test_data_of_another_type_are_refused(operator: str, kind: str) -> None:
    data = np.ones((1, HERE, 4, 4) if "Smoe" in operator else (1, 4, 4)).astype(kind)
    inputs = [data.astype(object) if kind == "str" else data]
    if operator in (*FIXED, *FREE):
        inputs = to_interpolate(operator, inputs, (8, 8))
    elif operator in PRODUCTS:
        inputs.append(floats(1, 4, 4))
    refused(NO_TYPE, operator, *inputs, **smoe_attributes(operator))


@pytest.mark.parametrize("operator", MAPS)
def test_maps_of_another_rank_are_refused(operator: str) -> None:
    for shape in ((), (9,), (3, 3), (1, 1, 3, 3)):
        refused(NO_MAP, operator, floats(*shape))
    refused(TOO_MANY, operator, floats(1, 1, 1, 1, 3, 3))


@pytest.mark.parametrize("operator", MAPS)
def test_attributes_that_an_operator_does_not_have_are_passed_over(operator: str) -> None:
    m = floats(2, 6, 7)
    found = compute(operator, m, epsilon=float("nan"), block=-3)
    np.testing.assert_array_equal(found, compute(operator, m))


def at_once(operator: str, *inputs: np.ndarray) -> np.ndarray:
    """The output; the test fails after a timeout."""
    found: list[np.ndarray] = []
    thread = Thread(target=lambda: found.append(compute(operator, *inputs)), daemon=True)
    thread.start()
    thread.join(60)
    assert found, "it does not end"
    return found[0]


@pytest.mark.parametrize("operator", [*MAPS, *PRODUCTS])
@pytest.mark.parametrize("shape", [(0, 3, 3), (2, 0, 3), (2, 3, 0), (2**45, 0, 3)])
def test_maps_of_nothing_are_nothing(operator: str, shape: tuple[int, ...]) -> None:
    empty = np.zeros(shape, np.float32)
    assert at_once(operator, *[empty] * (2 if operator in PRODUCTS else 1)).shape == shape


@pytest.mark.parametrize("operator", PRODUCTS)
def test_maps_that_do_not_go_together_are_refused(operator: str) -> None:
    pairs = [((1, 3, 3), (1, 3, 4)), ((1, 3, 3), (1, 4, 3)), ((2, 3, 3), (3, 3, 3)), ((3, 3), (3, 3))]
    for pair in [*pairs, ((1, 9, 9, 1), (1, 9, 9)), ((1, 3, 3), ()), ((2, 3, 3), (0, 3, 3))]:
        refused(NO_PAIR, operator, *(floats(*shape) for shape in pair))
    refused("fastcam: an input is missing", operator, floats(1, 3, 3))


@pytest.mark.parametrize("operator", PRODUCTS)
@pytest.mark.parametrize(("images", "cams"), [(1, 3), (3, 1), (3, 3), (1, 0), (0, 1)])
def test_one_map_goes_together_with_any_number(operator: str, images: int, cams: int) -> None:
    combined, cam = floats(images, 5, 7), floats(cams, 5, 7)[..., ::-1].copy()
    expected = combined * (cam if operator == "FastCam" else 1 - cam)
    np.testing.assert_allclose(compute(operator, combined, cam), expected, rtol=1e-6)


def fixed(operator: str, maps: list[np.ndarray], size: tuple[int, int]) -> list[np.ndarray]:
    """The inputs of an operator with a fixed size, the kernels read only the last shapes."""
    weights = [np.ones(len(maps), np.float32)] if operator == "CombineScales" else []
    rows, columns = (np.zeros((0, 2, length), np.float32) for length in size)
    return [*maps, *weights, np.zeros((len(maps), 2), np.int64), rows, columns]


def free(operator: str, maps: list[np.ndarray], size: tuple[int, ...]) -> list[np.ndarray]:
    """The inputs of an operator with a free size."""
    weights = [np.ones(len(maps), np.float32)] if operator == "CombineScalesDynamic" else []
    return [*maps, np.array(size, np.int64), *weights]


def to_interpolate(operator: str, maps: list[np.ndarray], size: tuple[int, int]) -> list[np.ndarray]:
    """The inputs of either kind of operator."""
    return (free if operator in FREE else fixed)(operator, maps, size)


@pytest.mark.parametrize("operator", [*FIXED, *FREE])
def test_maps_that_cannot_be_interpolated_are_refused(operator: str) -> None:
    for shape in ((), (4, 5), (1, 1, 4, 5), (1, 0, 5), (1, 4, 0), (2**45, 0, 5), (0, 2**25, 5)):
        refused(NO_LAYER, operator, *to_interpolate(operator, [np.zeros(shape, np.float32)], (8, 9)))
    refused(TOO_MANY, operator, *to_interpolate(operator, [floats(1, 1, 1, 1, 4, 5)], (8, 9)))


@pytest.mark.parametrize("operator", [name for name in (*FIXED, *FREE) if "Upsample" not in name])
def test_maps_of_different_images_are_refused(operator: str) -> None:
    for shape in ((2, 4, 5), (0, 4, 5), (4, 5), (1, 4, 0)):
        one, other = floats(1, 3, 3), floats(*shape)
        refused(NO_LAYER, operator, *to_interpolate(operator, [one, other], (8, 9)))
        refused(NO_LAYER, operator, *to_interpolate(operator, [other, one], (8, 9)))


@pytest.mark.parametrize("operator", ["Upsample", "UpsampleDynamic"])
def test_several_maps_are_no_map_to_upsample(operator: str) -> None:
    maps = [floats(1, 3, 3), floats(1, 4, 5)]
    refused("fastcam: Upsample takes one map", operator, *to_interpolate(operator, maps, (8, 9)))


@pytest.mark.parametrize("operator", [*FIXED, *FREE])
def test_sizes_beyond_any_picture_are_refused(operator: str) -> None:
    wrong = [2**24 + 1, 2**40, *([-1, -(2**63), 2**63 - 1] if operator in FREE else [])]
    for images, length in itertools.product((1, 0), wrong):
        for size in ((length, 1), (1, length)):
            refused(NO_SIZE, operator, *to_interpolate(operator, [floats(images, 3, 3)], size))


@pytest.mark.parametrize("operator", [*FIXED, *FREE])
def test_a_picture_that_no_memory_holds_is_refused(operator: str) -> None:
    inputs = to_interpolate(operator, [floats(1, 3, 3)], (2**24, 2**24))
    with pytest.raises(Exception, match=r"fastcam: no memory|alloc"):  # depends on the system
        compute(operator, *inputs)


@pytest.mark.parametrize("operator", [*FIXED, *FREE])
@pytest.mark.parametrize(("images", "size"), [(0, (8, 9)), (2, (0, 9)), (2, (8, 0)), (0, (0, 0))])
def test_an_interpolation_of_nothing_is_nothing(operator: str, images: int, size: tuple[int, int]) -> None:
    found = compute(operator, *to_interpolate(operator, [floats(images, 3, 3)], size))
    assert found.shape == (images, *size, *([3] if "Lovi" in operator else []))


@pytest.mark.parametrize("operator", [*FIXED, *FREE])
def test_missing_inputs_are_refused(operator: str) -> None:
    inputs = to_interpolate(operator, [floats(1, 3, 3)], (8, 9))
    for count in range(1, len(inputs)):
        refused(f"{NOT_ENOUGH}|{NO_TYPE}", operator, *inputs[-count:])


@pytest.mark.parametrize("operator", ["CombineScales", "CombineScalesDynamic"])
@pytest.mark.parametrize("shape", [(), (0,), (1,), (3,), (2, 1)], ids=str)
def test_weights_that_are_not_one_per_map_are_refused(operator: str, shape: tuple[int, ...]) -> None:
    inputs = to_interpolate(operator, [floats(1, 3, 3), floats(1, 4, 5)], (8, 9))
    inputs[3 if operator in FREE else 2] = floats(*shape)
    refused("fastcam: CombineScales takes one weight per map", operator, *inputs)


@pytest.mark.parametrize("operator", FREE)
@pytest.mark.parametrize("size", [(), (8,), (8, 9, 3)], ids=str)
def test_a_free_size_of_other_than_two_numbers_is_refused(operator: str, size: tuple[int, ...]) -> None:
    refused("fastcam: a free size is two numbers", operator, *free(operator, [floats(1, 3, 3)], size))


@pytest.mark.parametrize("operator", FREE)
def test_a_free_size_of_another_type_is_refused(operator: str) -> None:
    inputs = free(operator, [floats(1, 3, 3)], (8, 9))
    for kind in (np.int32, np.float32):
        inputs[1] = np.array([8, 9], kind)
        refused(NO_TYPE, operator, *inputs)


@pytest.mark.parametrize("operator", FIXED)
@pytest.mark.parametrize("index", [-1, -2])
def test_rows_and_columns_of_another_rank_are_refused(operator: str, index: int) -> None:
    inputs = fixed(operator, [floats(1, 3, 3)], (8, 9))
    inputs[index] = floats(2, 9)
    refused("fastcam: a fixed size comes as rows", operator, *inputs)
