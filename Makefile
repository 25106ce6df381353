# `make test`, `make demo` and `make contest` need nothing but Python >= 3.11 and make: the rest goes into .venv.
PYTHON ?= python3
VENV   := .venv
BIN    := $(VENV)/bin
TESTED := tests src
STAMP  := $(VENV)/.installed

# Waiting threads must sleep, not spin, on a machine that does other things too.
export OMP_WAIT_POLICY ?= PASSIVE
# Tests start many interpreters: they need not compile the same source again each time.
unexport PYTHONDONTWRITEBYTECODE

.PHONY: demo contest test test-long check lint record bench mutants docs messages release clean

$(STAMP): pyproject.toml
	$(PYTHON) -c 'import sys; sys.exit("tracearena needs Python 3.11 or newer") if sys.version_info < (3, 11) else None'
	$(PYTHON) -m venv $(VENV)
	$(BIN)/python -m pip install --quiet --disable-pip-version-check --editable '.[dev]'
	touch $@

demo: $(STAMP)
	$(BIN)/tracearena demo --out demo

contest: $(STAMP)
	$(BIN)/tracearena contest serve --demo

lint: $(STAMP)
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy
	$(BIN)/lint-imports

check: lint
	HYPOTHESIS_PROFILE=everyday $(BIN)/pytest -q -n 2 -m 'not slow and not long'

# Tests of servers and browsers wait for them: three workers keep two cores busy.
test: lint
	$(BIN)/pytest -n 3 -m 'not long' --doctest-modules --durations 30 --durations-min 10 $(TESTED)

test-long: $(STAMP)
	$(BIN)/pytest -n 2 -m long tests

record: $(STAMP)
	$(BIN)/pytest -q -n 2 tests/recorded --record

bench: $(STAMP)
	$(BIN)/python -m pip install --quiet --disable-pip-version-check --editable '.[bench]'
	for script in benchmarks/bench_*.py; do echo "== $$script"; $(BIN)/python $$script || exit 1; done

# Changes the core in many places, one at a time, and sees whether a test of the same area notices.
mutants: $(STAMP)
	$(BIN)/python -m pip install --quiet --disable-pip-version-check --editable '.[mutants]'
	$(BIN)/python -m tests.mutants

docs: $(STAMP)
	$(BIN)/python -m pip install --quiet --disable-pip-version-check --editable '.[docs]'
	$(BIN)/mkdocs build --strict

messages: $(STAMP)
	$(BIN)/python -m tests.server.catalogues

# Builds a wheel and a source distribution, installs each into an empty environment, and tries it.
# TRACEARENA_URL is the address of the repository, for the links of the README on a package index.
release: $(STAMP)
	rm -rf dist build/release
	$(BIN)/python -m build
	for file in dist/*.whl dist/*.tar.gz; do \
	  rm -rf build/release && $(PYTHON) -m venv build/release/venv && \
	  build/release/venv/bin/python -m pip install --quiet --disable-pip-version-check "$$file" && \
	  (cd build/release && venv/bin/tracearena --version && \
	   venv/bin/tracearena demo --teams 2 --attacks none --out demo --seed 1) || exit 1; done

clean:
	rm -rf $(VENV) build dist demo site .pytest_cache .mypy_cache .ruff_cache
	find src tests benchmarks -name __pycache__ -prune -exec rm -rf {} +
