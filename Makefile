# Everything runs in .venv, built from python3 and pip alone; it is brought up to date whenever pyproject.toml changes.
PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
PIP := $(BIN)/python -m pip --disable-pip-version-check
PYTEST_ARGS ?= -n auto --maxprocesses 8 --dist loadfile

.PHONY: help demo test test-all test-lowest wheel sbom test-exports test-sql test-pmml test-excel test-mlflow lint docs bench ledger clean
.DELETE_ON_ERROR:

help:
	@echo "make demo    fit a classifier on examples/data/german_credit.csv and write demo-output/"
	@echo "make test    run the tests that take about four minutes on two cores"
	@echo "make test-all  run the others: large tables, clusters, browsers, long random runs, the lab"
	@echo "make test-lowest  run some of the tests with the lowest dependencies that pyproject.toml allows"
	@echo "make test-exports  compare exports of models of all tables with predict_proba (writes benchmarks/results)"
	@echo "make test-sql  test queries in PostgreSQL and MariaDB (installs them with apt-get)"
	@echo "make test-pmml  test exports to PMML by two evaluators (installs them, and Java with apt-get)"
	@echo "make test-excel  test workbooks in LibreOffice (installs it with apt-get)"
	@echo "make test-mlflow  log, load and serve a model with MLflow (installs it)"
	@echo "make lint    run ruff, mypy and import-linter"
	@echo "make docs    build the site in build/site, without a network once its tools are installed"
	@echo "make bench   measure speed beside peers (installs them), all ratios in one table"
	@echo "make ledger  compute docs/papers.md and the lab's pages from their results"
	@echo "make wheel   build the wheels, one of them with compiled kernels, and test that in an environment of its own"
	@echo "make sbom    write build/sbom.cdx.json: the packages that an installation brings"
	@echo "make clean   remove .venv and everything built"

demo: $(VENV)/installed
	$(BIN)/bayesieve fit examples/data/german_credit.csv --target class --output demo-output

# The same random examples every time; pytest by itself draws new ones. Assertions as they stand spare each worker half of the time
# of its collection; tests that failed run again with assertions that tell of their values.
test: $(VENV)/installed-dev
	$(BIN)/python -m tests.kernels
	CI=true $(BIN)/python -m pytest $(PYTEST_ARGS) --assert=plain -m "not slow" \
	  || { CI=true $(BIN)/python -m pytest --last-failed --last-failed-no-failures=none -m "not slow"; exit 1; }

# What `make test` leaves out: large tables, clusters, browsers, long random runs, more examples of Hypothesis, and the lab.
test-all: $(VENV)/installed-dev
	CI=true $(BIN)/python -m pytest $(PYTEST_ARGS) --hypothesis-profile=all -m "slow or hypothesis"
	CI=true $(BIN)/python -m pytest $(PYTEST_ARGS) lab/tests

# All extras too, in an environment apart: what reads tables, exports and draws, and runs on executors, threads and terminals.
LOWEST := build/lowest
LOWEST_TESTS ?= tests/table tests/datasets tests/engine tests/scorecard tests/classifier/test_persistence.py tests/report/test_figures.py \
  tests/cli/test_app.py tests/cli/test_ids.py
test-lowest: $(VENV)/installed-dev
	$(PIP) install --quiet uv
	mkdir -p build
	$(BIN)/uv pip compile --quiet --resolution lowest-direct --python $(BIN)/python --extra scale --extra export --extra excel --extra figures --extra test pyproject.toml --output-file build/lowest.txt
	$(BIN)/uv venv --quiet --clear --python $(BIN)/python $(LOWEST)
	$(BIN)/uv pip install --quiet --python $(LOWEST)/bin/python --requirement build/lowest.txt --editable .
	CI=true $(LOWEST)/bin/python -m pytest $(PYTEST_ARGS) -m "not slow" $(LOWEST_TESTS)

# DATA is a folder with catalogue.csv and its tables.
test-exports: $(VENV)/installed-dev
	PYTHONPATH=. $(BIN)/python -m benchmarks.check_exports --write $(if $(DATA),--data $(DATA))

# MLflow brings many packages, so it has an environment of its own, over that of the other tests.
test-mlflow: $(VENV)/installed-dev
	$(BIN)/python -m venv --clear build/mlflow
	build/mlflow/bin/python -m pip --disable-pip-version-check install --quiet mlflow pytest --editable .
	CI=true build/mlflow/bin/python -m pytest -m slow tests/examples/test_mlflow.py

# The evaluators take part in tests only: JPMML is under the AGPL.
test-pmml: $(VENV)/installed-dev
	@command -v java > /dev/null || apt-get install --yes default-jre-headless
	$(PIP) install --quiet pypmml jpmml_evaluator
	BAYESIEVE_PMML=1 CI=true $(BIN)/python -m pytest tests/scorecard/test_export_pmml.py

test-sql: $(VENV)/installed-dev
	CI=true BAYESIEVE_SQL_SERVERS=1 $(BIN)/python -m pytest tests/scorecard/test_export_sql.py

test-excel: $(VENV)/installed-dev
	@command -v soffice > /dev/null || apt-get install --yes --no-install-recommends libreoffice-calc
	$(PIP) install --quiet openpyxl
	BAYESIEVE_LIBREOFFICE=1 CI=true $(BIN)/python -m pytest tests/scorecard/test_export_excel.py

lint: $(VENV)/installed-dev
	$(BIN)/ruff check .
	$(BIN)/ruff format --check src lab tests benchmarks examples docs/conf.py docs/site
	$(BIN)/mypy
	$(BIN)/lint-imports

# Pure wheels and source distributions of the library and the lab, and a wheel with compiled kernels for this platform and version of Python,
# which is installed apart and tested: nothing is compiled there.
WHEEL := build/wheel
wheel: $(VENV)/installed-dev
	$(PIP) install --quiet build hatchling
	rm -rf dist
	$(BIN)/python -m build
	$(BIN)/python -m build lab --outdir dist
	BAYESIEVE_MACHINE_CODE=1 $(BIN)/python -m build --wheel --no-isolation
	$(BIN)/python -m venv --clear $(WHEEL) || { $(BIN)/python -m venv --clear --without-pip $(WHEEL); }
	$(BIN)/python -m pip --python $(WHEEL) install --quiet dist/*-cp*.whl
	BAYESIEVE_WHEEL=$(CURDIR)/$(WHEEL)/bin/python CI=true $(BIN)/python -m pytest tests/test_wheel.py

sbom: $(VENV)/installed-dev
	$(PIP) install --quiet cyclonedx-bom
	$(BIN)/python -m venv --clear build/sbom || { $(BIN)/python -m venv --clear --without-pip build/sbom; }
	$(BIN)/python -m pip --python build/sbom install --quiet .
	$(BIN)/cyclonedx-py environment --pyproject pyproject.toml --mc-type library --output-reproducible --output-file build/sbom.cdx.json build/sbom

docs: $(VENV)/installed-docs
	$(BIN)/python -m sphinx -n -W -E --keep-going -q docs build/site
	@echo "open build/site/index.html"

# Peers need older versions of some packages, so they have an environment of their own.
bench: build/bench/installed
	build/bench/bin/python -m benchmarks.all_ratios

ledger: $(VENV)/installed-dev
	$(BIN)/python -m bayesieve_lab.papers docs/papers.md

clean:
	rm -rf $(VENV) build docs/generated dist demo-output .pytest_cache .mypy_cache .ruff_cache .import_linter_cache .hypothesis
	find . -name __pycache__ -type d -prune -exec rm -rf {} +

# Some systems ship python3 and pip without ensurepip: there pip installs itself into the new environment from outside.
$(BIN)/python:
	@$(PYTHON) -c 'import sys; sys.exit(0 if sys.version_info >= (3, 11) else "bayesieve needs Python 3.11 or later, $(PYTHON) is " + sys.version.split()[0] + "; set PYTHON=...")'
	$(PYTHON) -m venv $(VENV) || { $(PYTHON) -m venv --clear --without-pip $(VENV) && $(PYTHON) -m pip --python $(VENV) install --quiet pip; }

$(VENV)/installed: pyproject.toml lab/pyproject.toml | $(BIN)/python
	$(PIP) install --quiet --editable . --editable ./lab
	@touch $@

$(VENV)/installed-dev: pyproject.toml lab/pyproject.toml | $(BIN)/python
	$(PIP) install --quiet --editable '.[dev]' --editable ./lab
	@touch $@ $(VENV)/installed

$(VENV)/installed-docs: pyproject.toml lab/pyproject.toml | $(BIN)/python
	$(PIP) install --quiet --editable '.[docs]' --editable ./lab
	@touch $@ $(VENV)/installed

build/bench/installed: pyproject.toml lab/pyproject.toml | $(BIN)/python
	$(BIN)/python -m venv --clear build/bench
	build/bench/bin/python -m pip --disable-pip-version-check install --quiet --editable '.[bench]' --editable './lab[peers]'
	build/bench/bin/python -m pip --disable-pip-version-check install --quiet --no-deps 'fasterrisk>=0.1.10'
	@touch $@
