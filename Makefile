# Everything runs in .venv, built from python3 and pip alone; it is brought up to date whenever pyproject.toml changes.
PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
PIP := $(BIN)/python -m pip --disable-pip-version-check
PYTEST_ARGS ?= -n auto --maxprocesses 8

.PHONY: help demo test lint bench ledger clean
.DELETE_ON_ERROR:

help:
	@echo "make demo    fit a classifier on examples/data/german_credit.csv and write demo-output/"
	@echo "make test    run the tests"
	@echo "make lint    run ruff, mypy and import-linter"
	@echo "make bench   run the benchmarks (installs the peers they compare with)"
	@echo "make ledger  compute docs/papers.md from the results of the studies"
	@echo "make clean   remove .venv and everything built"

demo: $(VENV)/installed
	$(BIN)/bayesieve fit examples/data/german_credit.csv --target class --output demo-output

# The same random examples every time; pytest by itself draws new ones.
test: $(VENV)/installed-dev
	CI=true $(BIN)/python -m pytest $(PYTEST_ARGS)
	CI=true $(BIN)/python -m pytest $(PYTEST_ARGS) studies/tests

lint: $(VENV)/installed-dev
	$(BIN)/ruff check .
	$(BIN)/ruff format --check src studies tests benchmarks examples
	$(BIN)/mypy
	$(BIN)/lint-imports

bench: $(VENV)/installed-bench
	@set -e; for script in benchmarks/bench_*.py; do echo "== $$script"; $(BIN)/python "$$script"; done

ledger: $(VENV)/installed-dev
	$(BIN)/python -m bayesieve_studies.ledger docs/papers.md

clean:
	rm -rf $(VENV) build dist demo-output .pytest_cache .mypy_cache .ruff_cache .import_linter_cache .hypothesis
	find . -name __pycache__ -type d -prune -exec rm -rf {} +

# Some systems ship python3 and pip without ensurepip: there pip installs itself into the new environment from outside.
$(BIN)/python:
	@$(PYTHON) -c 'import sys; sys.exit(0 if sys.version_info >= (3, 11) else "bayesieve needs Python 3.11 or later, $(PYTHON) is " + sys.version.split()[0] + "; set PYTHON=...")'
	$(PYTHON) -m venv $(VENV) || { $(PYTHON) -m venv --clear --without-pip $(VENV) && $(PYTHON) -m pip --python $(VENV) install --quiet pip; }

$(VENV)/installed: pyproject.toml | $(BIN)/python
	$(PIP) install --quiet --editable .
	@touch $@

$(VENV)/installed-dev: pyproject.toml studies/pyproject.toml | $(BIN)/python
	$(PIP) install --quiet --editable '.[dev]' --editable ./studies
	@touch $@ $(VENV)/installed

$(VENV)/installed-bench: pyproject.toml studies/pyproject.toml | $(BIN)/python
	$(PIP) install --quiet --editable '.[bench]' --editable './studies[peers]'
	$(PIP) install --quiet --no-deps 'fasterrisk>=0.1.10'
	@touch $@ $(VENV)/installed
