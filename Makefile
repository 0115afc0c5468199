# Two commands do everything, each from a fresh clone:
#   make train    install, then train mint/Math-v0 on a small model on this machine
#   make test     install, then run the tests; JOBS=4 in so many processes, JOBS=auto as cores
# And while one works on it:
#   make quick    3,000 tests and more, in less than a minute of CPU
#   make fuzz MINUTES=30    the fuzzers, and the property tests with many examples
PYTHON ?= python3
VENV   ?= .venv
BIN    := $(VENV)/bin
PIP    := $(BIN)/python -m pip install --quiet
# The tests are pinned to this release; a newer one works too: make train TORCH=torch
TORCH  ?= torch==2.13.0
# Tests of programs use every core by themselves, so that 0 (no further processes) is the default.
JOBS   ?= 0
SOURCE := pyproject.toml $(shell find mint_envs trainers -name '*.py')

.PHONY: train test quick fuzz lint docs release-check bench clean

train: $(VENV)/installed-train
	$(BIN)/mint-grpo mint/Math-v0

test: $(VENV)/installed-test
	$(BIN)/pytest -n $(JOBS)

# The schema tests of the server are not among them, and their plugin takes seconds to load.
quick: $(VENV)/installed-test
	$(BIN)/pytest -q -p no:schemathesis --quick

MINUTES ?= 30
fuzz: $(VENV)/installed-test
	$(BIN)/python -m tests.fuzz --minutes $(MINUTES)

lint: $(VENV)/installed-test
	$(PIP) '.[dev]'
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy

docs: $(VENV)/installed-test
	$(PIP) '.[docs]'
	NO_MKDOCS_2_WARNING=1 $(BIN)/mkdocs build --quiet --strict --site-dir build/site

# Wheel and source archive from a clean clone, each installed and tested: see docs/releasing.md.
release-check: $(VENV)/installed-test
	$(PIP) '.[dev]'
	$(BIN)/python -m tests.release_check

bench: $(VENV)/installed-test
	$(PIP) '.[bench]'
	$(BIN)/python -m benchmarks.env
	$(BIN)/python -m benchmarks.train

$(BIN)/python:
	$(PYTHON) -m venv $(VENV)

$(VENV)/installed-train: $(BIN)/python $(SOURCE)
	$(PIP) '$(TORCH)'
	$(PIP) '.[local]'
	@touch $@

# The tests run on the built and installed package, not on the source tree.
$(VENV)/installed-test: $(BIN)/python $(SOURCE)
	$(PIP) '$(TORCH)'
	$(PIP) '.[local,mint,math,judge,mcp,metric,ray,serve,show,test]'
	@touch $@

clean:
	rm -rf $(VENV) build dist *.egg-info
