"""The user's annotations: COCO files as people have them, masks and trimaps."""

from __future__ import annotations

import json
from pathlib import Path

import cv2
import numpy as np
import pytest
from fastcam_export.evaluate.marks import NOTHING, OBJECT, UNKNOWN
from fastcam_export.evaluate.measures.localisation import on_input
from fastcam_export.evaluate.objects import Objects
from fastcam_runtime.errors import FastcamError
from fastcam_runtime.image import Geometry


def _square(size: int, top: int, left: int, side: int) -> np.ndarray:
    drawn = np.zeros((size, size), bool)
    drawn[top : top + side, left : left + side] = True
    return drawn


def _coco(folder: Path, *annotations: dict[str, object], **image: object) -> Objects:
    """The objects of one picture `a.jpg` with such annotations."""
    content = {
        "images": [{"id": 7, "file_name": "a.jpg", **image}],
        "annotations": [{"image_id": 7, **one} for one in annotations],
    }
    (folder / "coco.json").write_text(json.dumps(content))
    return Objects(folder / "coco.json")


def test_boxes_of_a_coco_file_reach_the_networks_input(tmp_path: Path) -> None:
    coco = {
        "images": [{"id": 7, "file_name": "a.jpg"}, {"id": 8, "file_name": "b.jpg"}],
        "annotations": [{"image_id": 7, "bbox": [10, 20, 30, 40]}, {"image_id": 7, "bbox": [90, 0, 10, 10]}],
    }
    (tmp_path / "coco.json").write_text(json.dumps(coco))
    objects = Objects(tmp_path / "coco.json")
    assert objects.of(tmp_path / "b.jpg", (100, 100)) is None
    marked = objects.of(tmp_path / "a.jpg", (100, 100))
    assert marked is not None
    assert marked.sum() == 30 * 40 + 10 * 10
    assert marked[20:60, 10:40].all()
    cropped = on_input(marked, Geometry.lay((100, 100), (50, 50), "stretch"))
    assert cropped[10:30, 5:20].all()
    assert cropped.sum() == 15 * 20 + 5 * 5


def test_a_box_outside_the_picture_marks_nothing(tmp_path: Path) -> None:
    boxes = [{"bbox": [-9, -9, 5, 5]}, {"bbox": [10, -8, 20, 3]}, {"bbox": [60, 60, 5, 5]}]
    assert _coco(tmp_path, *boxes).of(Path("a.jpg"), (50, 50)) is None
    marks = _coco(tmp_path, *boxes, {"bbox": [-5, -5, 1e30, 10]}).of(Path("a.jpg"), (50, 50))
    assert marks is not None
    assert marks.sum() == 5 * 50
    assert marks[:5].all()


def test_where_the_objects_of_a_crowd_are_is_not_known(tmp_path: Path) -> None:
    rle = {"counts": "abc", "size": [40, 40]}
    crowd = {"bbox": [0, 0, 20, 20], "iscrowd": 1, "segmentation": rle}
    marks = _coco(tmp_path, {"bbox": [5, 5, 10, 10]}, crowd).of(Path("a.jpg"), (40, 40))
    assert marks is not None
    assert (marks[:20, :20][~_square(20, 5, 5, 10)] == UNKNOWN).all()
    assert (marks[5:15, 5:15] == OBJECT).all()
    assert (marks[20:] == NOTHING).all()
    assert _coco(tmp_path, crowd).of(Path("a.jpg"), (40, 40)) is None


def test_boxes_follow_a_resized_copy_and_are_refused_for_another_picture(tmp_path: Path) -> None:
    objects = _coco(tmp_path, {"bbox": [100, 200, 40, 80]}, width=401, height=600)
    marks = objects.of(Path("a.jpg"), (300, 200))
    assert marks is not None
    assert marks[100:140, 50:70].all()
    assert marks.sum() == 40 * 20
    with pytest.raises(FastcamError, match="has 300×200 pixels, but its boxes are of a picture of 401×600"):
        objects.of(Path("a.jpg"), (200, 300))


def test_an_annotation_without_a_box_has_that_of_its_polygons(tmp_path: Path) -> None:
    polygons = [[3, 4, 9, 4, 9, 12], [20, 5, 22, 8, 21, 6]]
    marks = _coco(tmp_path, {"segmentation": polygons}).of(Path("a.jpg"), (30, 30))
    assert marks is not None
    assert marks[4:12, 3:22].all()
    assert marks.sum() == 8 * 19


def test_annotations_of_images_that_are_not_listed_are_left_out_and_told(tmp_path: Path) -> None:
    objects = _coco(tmp_path, {"bbox": [0, 0, 5, 5]}, {"image_id": 9, "bbox": [0, 0, 9, 9]})
    marks = objects.of(Path("a.jpg"), (30, 30))
    assert marks is not None
    assert marks.sum() == 25
    assert [note for note in objects.notes if "1 annotations are of images" in note] == objects.notes != []


def test_names_count_without_folders_and_two_alike_belong_to_nobody(tmp_path: Path) -> None:
    assert (
        _coco(tmp_path, {"bbox": [0, 0, 5, 5]}, file_name="train\\a.jpg").of(Path("a.jpg"), (9, 9))
        is not None
    )
    images = [{"id": k, "file_name": f"{k}/a.jpg"} for k in range(2)]
    content = {"images": images, "annotations": [{"image_id": 0, "bbox": [0, 0, 5, 5]}]}
    (tmp_path / "two.json").write_text(json.dumps(content))
    objects = Objects(tmp_path / "two.json")
    assert objects.of(Path("a.jpg"), (9, 9)) is None
    assert "several images are called a.jpg" in objects.notes[0]


def test_masks_beside_the_pictures(tmp_path: Path) -> None:
    cv2.imwrite(str(tmp_path / "cat_mask.png"), _square(30, 5, 5, 10) * np.uint8(255))
    objects = Objects(tmp_path)
    marked = objects.of(tmp_path / "cat.jpg", (30, 30))
    assert marked is not None
    assert (marked == np.where(_square(30, 5, 5, 10), OBJECT, NOTHING)).all()
    assert objects.of(tmp_path / "dog.jpg", (30, 30)) is None
    with pytest.raises(FastcamError, match=r"cat_mask\.png: not a mask of 40×20"):
        objects.of(tmp_path / "cat.jpg", (20, 40))


def test_a_mask_of_16_bits_may_hold_small_numbers(tmp_path: Path) -> None:
    cv2.imwrite(str(tmp_path / "cat.png"), _square(30, 5, 5, 10).astype(np.uint16) * 7)
    marks = Objects(tmp_path).of(tmp_path / "cat.jpg", (30, 30))
    assert marks is not None
    assert marks.sum() == 100


def test_a_trimap_has_an_object_a_background_and_a_border(tmp_path: Path) -> None:
    trimap = np.full((30, 30), 2, np.uint8)
    trimap[_square(30, 5, 5, 10)] = 3
    trimap[_square(30, 7, 7, 6)] = 1
    cv2.imwrite(str(tmp_path / "cat.png"), trimap)
    objects = Objects(tmp_path)
    marks = objects.of(tmp_path / "cat.jpg", (30, 30))
    assert marks is not None
    assert ((marks == OBJECT) == (trimap == 1)).all()
    assert ((marks == UNKNOWN) == (trimap == 3)).all()
    assert [note for note in objects.notes if "trimaps" in note] == objects.notes != []


def test_masks_are_no_pictures(tmp_path: Path) -> None:
    names = ("cat.jpg", "cat.png", "dog.png")
    for name in names:
        cv2.imwrite(str(tmp_path / name), np.zeros((4, 4), np.uint8))
    pictures = [tmp_path / name for name in names]
    assert [path.name for path in Objects(tmp_path).without_masks(pictures)] == ["cat.jpg", "dog.png"]
    (tmp_path / "masks").mkdir()
    assert Objects(tmp_path / "masks").without_masks(pictures) == pictures


@pytest.mark.parametrize(
    "content", ["not json", "[]", '{"images": []}', '{"images": [{}], "annotations": []}']
)
def test_what_is_no_coco_file_is_refused_in_one_line(tmp_path: Path, content: str) -> None:
    (tmp_path / "x.json").write_text(content)
    with pytest.raises(FastcamError, match=r"x\.json: not a COCO file"):
        Objects(tmp_path / "x.json")


@pytest.mark.parametrize(
    "box", [None, [1, 2, 3], [0, 0, -5, 5], ["nan", 0, 1, 1], "abcd", [0, 0, 10**400, 5]]
)
def test_what_is_no_box_is_refused_in_one_line(tmp_path: Path, box: object) -> None:
    with pytest.raises(FastcamError, match=r"coco\.json: not a COCO file"):
        _coco(tmp_path, {"bbox": box})


@pytest.mark.parametrize("size", [{"height": 1e-320, "width": 1e-320}, {"height": 10**400, "width": 9}])
def test_what_is_no_size_is_refused_in_one_line(tmp_path: Path, size: dict[str, float]) -> None:
    with pytest.raises(FastcamError, match=r"coco\.json: not a COCO file"):
        _coco(tmp_path, {"bbox": [0, 0, 5, 5]}, **size)


def test_a_corner_of_400_digits_is_refused_in_one_line(tmp_path: Path) -> None:
    with pytest.raises(FastcamError, match=r"coco\.json: not a COCO file"):
        _coco(tmp_path, {"segmentation": [[1, 2, 10**400, 4, 5, 6]]})


def _marks_of(folder: Path, mask: np.ndarray, name: str = "cat.png") -> tuple[np.ndarray, list[str]]:
    cv2.imwrite(str(folder / name), mask)
    objects = Objects(folder)
    marks = objects.of(folder / "cat.jpg", (30, 30))
    assert marks is not None
    return marks, objects.notes


INSIDE, RIM = _square(30, 7, 7, 6), _square(30, 5, 5, 10) & ~_square(30, 7, 7, 6)
EXPECTED = np.where(INSIDE, OBJECT, np.where(RIM, UNKNOWN, NOTHING))


def _values(inside: int, rim: int, rest: int) -> np.ndarray:
    return np.where(INSIDE, inside, np.where(RIM, rim, rest)).astype(np.uint8)


@pytest.mark.parametrize(
    ("values", "note"),
    [
        ((1, 3, 2), "1, 2 and 3 are taken for trimaps"),
        ((255, 128, 0), "128 is an unknown border"),
        ((15, 255, 0), "class numbers: 255 is taken for an unknown border"),
    ],
)
def test_the_border_of_usual_masks_is_unknown(
    tmp_path: Path, values: tuple[int, int, int], note: str
) -> None:
    marks, notes = _marks_of(tmp_path, _values(*values))
    assert (marks == EXPECTED).all()
    assert note in notes[0]


def test_a_stray_zero_does_not_turn_a_trimap_into_an_object(tmp_path: Path) -> None:
    trimap = _values(1, 3, 2)
    trimap[0, 0] = 0
    marks, notes = _marks_of(tmp_path, trimap)
    expected = EXPECTED.copy()
    expected[0, 0] = UNKNOWN
    assert (marks == expected).all()
    assert "0 counts as border too" in notes[0]


def test_numbers_of_objects_are_no_trimap(tmp_path: Path) -> None:
    mask = _values(1, 2, 0)
    mask[20:25, 20:25] = 3
    marks, notes = _marks_of(tmp_path, mask)
    assert (marks == np.where(mask > 0, OBJECT, NOTHING)).all()
    assert "0 to 3 are taken for numbers of objects" in notes[0]


def test_the_palette_of_pascal_voc_has_a_border_colour(tmp_path: Path) -> None:
    colours = np.zeros((30, 30, 3), np.uint8)
    colours[INSIDE], colours[RIM] = (128, 64, 0), (192, 224, 224)
    marks, notes = _marks_of(tmp_path, colours)
    assert (marks == EXPECTED).all()
    assert "border colour of Pascal VOC" in notes[0]


def test_a_dark_colour_is_an_object(tmp_path: Path) -> None:
    """Turned to gray, it would be black."""
    colours = np.zeros((30, 30, 3), np.uint8)
    colours[INSIDE] = (4, 0, 0)
    marks, notes = _marks_of(tmp_path, colours)
    assert (marks == np.where(INSIDE, OBJECT, NOTHING)).all()
    assert notes == []


def test_a_mask_may_be_in_the_transparency(tmp_path: Path) -> None:
    mask = np.zeros((30, 30, 4), np.uint8)
    mask[INSIDE, 3] = 255
    marks, notes = _marks_of(tmp_path, mask)
    assert (marks == np.where(INSIDE, OBJECT, NOTHING)).all()
    assert "transparent" in notes[0]
    mask[..., 3] = 255
    mask[RIM] = 255
    marks, notes = _marks_of(tmp_path, mask)
    assert (marks == np.where(RIM, OBJECT, NOTHING)).all()
    assert notes == []


@pytest.mark.parametrize("name", ["cat.PNG", "cat_mask.PNG"])
def test_the_ending_may_be_in_capitals(tmp_path: Path, name: str) -> None:
    marks, _ = _marks_of(tmp_path, _values(255, 0, 0), name)
    assert (marks == np.where(INSIDE, OBJECT, NOTHING)).all()
    pictures = [tmp_path / "cat.jpg", tmp_path / name]
    assert Objects(tmp_path).without_masks(pictures) == pictures[:1]


def test_a_photo_is_no_mask(tmp_path: Path) -> None:
    photo = np.random.default_rng(0).integers(0, 256, (30, 30, 3), np.uint8)
    with pytest.raises(FastcamError, match=r"cat\.png: not a mask: more than 256 colours"):
        _marks_of(tmp_path, photo)


def test_annotations_of_none_of_the_pictures_are_refused(tmp_path: Path) -> None:
    objects = _coco(tmp_path, {"bbox": [0, 0, 5, 5]})
    objects.check([Path("b.jpg"), Path("a.jpg")])
    with pytest.raises(FastcamError, match=r"no boxes of b\.jpg or any other .* it has boxes of a\.jpg"):
        objects.check([Path("b.jpg")])
    with pytest.raises(FastcamError, match=r"no mask of any picture, such as b_mask\.png or b\.png"):
        Objects(tmp_path).check([Path("b.jpg")])
