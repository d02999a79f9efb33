"""Two source roots (export/ for the workstation, runtime/ for the device) in one distribution."""

from setuptools import find_packages, setup

ROOTS = ("export", "runtime")

setup(
    packages=[package for root in ROOTS for package in find_packages(root)] + ["fastcam_models"],
    package_dir={"fastcam_export": "export/fastcam_export", "fastcam_runtime": "runtime/fastcam_runtime", "fastcam_models": "models"},
    package_data={"fastcam_models": ["*.onnx", "README.md"], "fastcam_runtime": ["py.typed", "**/*.html", "**/*.jpg"], "fastcam_export": ["py.typed"]},
)
