# make test   everything that CI checks, in a virtual environment of its own
# make demo   the shipped model on the shipped clip
PYTHON ?= python3
BIN := .venv/bin

.PHONY: test lint venv clean

test: venv lint
	$(BIN)/python -m pytest

lint: venv
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy

venv: .venv/.installed

.venv/.installed: pyproject.toml setup.py constraints.txt
	$(PYTHON) -m venv .venv
	$(BIN)/python -m pip install --quiet --upgrade pip
	$(BIN)/python -m pip install --quiet -c constraints.txt -e '.[dev]'
	touch $@

clean:
	rm -rf .venv build demo *.egg-info
