"""Two source roots (export/ for the workstation, runtime/ for the device) in one distribution.

The compiled kernels are optional: if they cannot be built, the package is installed without them.
"""

from __future__ import annotations

import contextlib
import sys
from pathlib import Path

from setuptools import Extension, find_packages, setup
from setuptools.command.bdist_wheel import bdist_wheel
from setuptools.command.build_ext import build_ext

ROOTS = ("export", "runtime")
WEB_FILES = ("js", "d.ts", "json", "html", "css", "svg", "png", "webmanifest")
NATIVE = Path("runtime/fastcam_runtime/native")

# Without errno and traps, compilers can vectorise conditional arithmetic; results stay the same.
GNU_FLAGS = ["-std=gnu11", "-O3", "-fno-math-errno", "-fno-trapping-math", "-fvisibility=hidden", "-g0"]
MSVC_FLAGS = ["/std:c11", "/O2"]


class BuildNative(build_ext):
    """Builds a plain shared library for onnxruntime to load, or leaves it out."""

    def run(self) -> None:
        try:
            super().run()
        except Exception as error:  # a missing compiler raises a different error on every platform
            self._tell(error)

    def _tell(self, error: Exception) -> None:
        """Report that the kernels are missing: in the log, and on the terminal, because pip hides the log."""
        reason = str(error).strip().splitlines()[-1:] or [type(error).__name__]
        line = f"fastcam-edge: no compiled kernels, so the maps are several times slower: {reason[0]}"
        self.warn(line)
        with contextlib.suppress(OSError), open("/dev/tty", "w") as terminal:
            print(line, file=terminal)

    def build_extension(self, ext: Extension) -> None:
        ext.extra_compile_args = MSVC_FLAGS if self.compiler.compiler_type == "msvc" else GNU_FLAGS
        try:
            super().build_extension(ext)
        except Exception as error:  # an optional extension only logs it
            self._tell(error)
            raise

    def get_ext_filename(self, fullname: str) -> str:
        """The file name without a Python version tag: Python never imports the library."""
        return fullname.replace(".", "/") + (".dll" if sys.platform == "win32" else ".so")

    def get_export_symbols(self, ext: Extension) -> list[str]:
        """Empty: the sources mark their exports, and there is no Python module to initialise."""
        return []


class Wheel(bdist_wheel):
    """A wheel for every Python 3: its library does not depend on Python's version."""

    def get_tag(self) -> tuple[str, str, str]:
        """The wheel's tag; if the library could not be built, the wheel is for every machine."""
        built = any(Path(self.bdist_dir).rglob("fastcam_ops.*"))
        return "py3", "none", super().get_tag()[2] if built else "any"


setup(
    packages=[
        *(package for root in ROOTS for package in find_packages(root)),
        "fastcam_runtime.sources.clip",  # pictures, no code
        "fastcam_models",
        "fastcam_web",  # JavaScript
    ],
    package_dir={
        "fastcam_export": "export/fastcam_export",
        "fastcam_runtime": "runtime/fastcam_runtime",
        "fastcam_models": "models",
        "fastcam_web": "runtime/web",
    },
    package_data={
        "fastcam_models": ["*.onnx", "*.txt", "README.md"],
        "fastcam_runtime": [
            "py.typed",
            "**/*.html",
            "**/*.css",
            "**/*.js",
            "**/*.jpg",
            "sources/clip/README.md",
        ],
        "fastcam_export": ["py.typed"],
        "fastcam_web": [f"**/*.{kind}" for kind in WEB_FILES],
    },
    exclude_package_data={"fastcam_runtime.native": ["*.c", "*.h"]},  # a wheel holds what was built from them
    ext_modules=[
        Extension(
            "fastcam_runtime.native.fastcam_ops",
            sources=sorted(str(path) for path in NATIVE.glob("*.c")),
            depends=sorted(str(path) for path in NATIVE.glob("*.h")),
            optional=True,
        )
    ],
    cmdclass={"build_ext": BuildNative, "bdist_wheel": Wheel},
)
