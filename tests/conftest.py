"""Fixtures that several test folders share."""

from __future__ import annotations

from types import ModuleType

import pytest


@pytest.fixture(scope="session")
def torchvision() -> ModuleType:
    """torchvision, whichever torch it was compiled for: its networks are plain Python.

    The compiled operators of the published wheel want the CUDA build of torch. Where they did not load,
    the import stops at two operators of the detection models; declaring their schemas is enough.
    """
    torch = pytest.importorskip("torch")
    try:
        import torchvision
    except RuntimeError:
        library = torch.library.Library("torchvision", "DEF")
        library.define("nms(Tensor dets, Tensor scores, float iou_threshold) -> Tensor")
        library.define("qnms(Tensor dets, Tensor scores, float iou_threshold) -> Tensor")
        import torchvision

        torchvision._declared_operators = library  # the declarations end with the object
    except ImportError as error:
        pytest.skip(f"torchvision cannot be imported: {error}")
    return torchvision
