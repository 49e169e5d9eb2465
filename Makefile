# Voile: everything a fresh machine needs is Python 3.11 or newer, and make.
#   make demo     install, then see it work
#   make test     install, then run the tests
# Another Python: make test PYTHON=/path/to/python3.12

.DEFAULT_GOAL := help
.NOTPARALLEL:
.PHONY: help demo test test-slow coverage check format bench docs clean

PYTHON ?=
VENV   ?= .venv
TESTS  ?= tests
BENCH  ?=
JOBS   ?= 2

BIN := $(VENV)/bin
PIP := $(BIN)/python -m pip --disable-pip-version-check --no-input install -qq --no-warn-script-location

help:  ## Say what each target does
	@echo "Voile. Usage: make <target>"
	@awk -F ':.*## ' '/^[a-z-]+:.*## / { printf "  %-9s %s\n", $$1, $$2 }' $(firstword $(MAKEFILE_LIST))
	@echo "Options: PYTHON=<python 3.11 or newer>  VENV=<folder>  TESTS=<path>  BENCH=<family/name>  JOBS=<test processes>"

demo: $(VENV)/.installed-demo  ## Install what is needed, then run the demonstration
	@$(BIN)/voile demo

test: $(VENV)/.installed-dev  ## Install what is needed, then run the tests
	@echo "Running the tests in $(TESTS) ($(JOBS) at a time)"
	@$(BIN)/python -m pytest -n $(JOBS) --dist worksteal -m "not slow" $(TESTS)

# One process more than usual: a few of these tests wait for other processes most of their time.
test-slow: $(VENV)/.installed-dev  ## Run the long tests: repetitions, races, browser tours, benchmarks
	@echo "Running the slow tests in $(TESTS) ($(JOBS) at a time, and one that waits)"
	@$(BIN)/python -m pytest -n $$(($(JOBS) + 1)) --dist worksteal -m slow $(TESTS)

coverage: $(VENV)/.installed-dev  ## Which branches of privacy/ the tests reach
	@$(BIN)/python -m pytest -n $(JOBS) $(TESTS) --cov=voile.privacy --cov-branch --cov-report=term-missing:skip-covered

check: $(VENV)/.installed-dev  ## Check format, style, types and architecture
	@echo "Format"
	@$(BIN)/ruff format --check .
	@echo "Style"
	@$(BIN)/ruff check .
	@echo "Types"
	@$(BIN)/mypy
	@echo "Architecture"
	@$(BIN)/python -m pytest tests/architecture

format: $(VENV)/.installed-dev  ## Format the code and sort its imports
	@$(BIN)/ruff check --select I --fix .
	@$(BIN)/ruff format .

bench: $(VENV)/.installed-dev  ## Run the benchmarks (BENCH=family/name runs one)
	@set -e; \
	scripts=$$(grep -l __main__ benchmarks/*/*.py | grep -v benchmarks/kit/); \
	if [ -n "$(BENCH)" ]; then files="benchmarks/$(BENCH).py"; else files="$$scripts"; fi; \
	for file in $$files; do \
	  if [ ! -f "$$file" ]; then echo "There is no $$file. There are:"; echo "$$scripts"; exit 1; fi; \
	  echo "Benchmark $$file"; $(BIN)/python "$$file"; \
	done

docs: $(VENV)/.installed-docs  ## Build the documentation into site/
	@NO_MKDOCS_2_WARNING=1 $(BIN)/mkdocs build --strict
	@echo "Built: open site/index.html"

clean:  ## Remove what make has made (never a ledger you made)
	rm -rf $(VENV) site demo-output build dist .mypy_cache .ruff_cache .pytest_cache .hypothesis
	find src tests benchmarks -name __pycache__ -type d -prune -exec rm -rf {} + 2>/dev/null || true

# Stamp files: an installation is repeated only if pyproject.toml or constraints.txt changed.

$(VENV)/.created:
	@found=""; \
	for candidate in $(if $(PYTHON),"$(PYTHON)",python3 python3.13 python3.12 python3.11); do \
	  if "$$candidate" -c 'import sys; sys.exit(sys.version_info < (3, 11))' >/dev/null 2>&1; then found="$$candidate"; break; fi; \
	done; \
	if [ -z "$$found" ]; then \
	  echo "Voile needs Python 3.11 or newer, and $(if $(PYTHON),'$(PYTHON)' is not one,none of python3 python3.13 python3.12 python3.11 is one)."; \
	  echo "Install one, or name one: make <target> PYTHON=/path/to/python3.12"; \
	  exit 1; \
	fi; \
	if ! "$$found" -c 'import ensurepip, venv' >/dev/null 2>&1; then \
	  echo "$$found cannot make virtual environments. On Debian and Ubuntu: apt install python3-venv"; \
	  exit 1; \
	fi; \
	echo "Making a virtual environment in $(VENV) with $$("$$found" --version)"; \
	"$$found" -m venv "$(VENV)" || exit 1; \
	if ! "$(BIN)/python" -c 'import sys; sys.exit(sys.version_info < (3, 11))'; then \
	  echo "$(VENV) belongs to an older Python. Remove it (make clean) and run this again."; \
	  exit 1; \
	fi
	@touch $@

$(VENV)/.installed-demo: $(VENV)/.created pyproject.toml constraints.txt
	@echo "Installing Voile and what the demonstration needs (about a minute)"
	@$(PIP) -e '.[demo]' -c constraints.txt
	@touch $@
	@echo "Installed."

# The development tools contain what the demonstration needs.
$(VENV)/.installed-dev: $(VENV)/.created pyproject.toml constraints.txt
	@echo "Installing Voile, its tests and its development tools (a few minutes)"
	@$(PIP) torch -c constraints.txt
	@$(PIP) -e '.[dev]' -c constraints.txt
	@touch $@ $(VENV)/.installed-demo
	@echo "Installed."

$(VENV)/.installed-docs: $(VENV)/.created pyproject.toml constraints.txt
	@echo "Installing what builds the documentation (about a minute)"
	@$(PIP) -e '.[docs]' -c constraints.txt
	@touch $@
	@echo "Installed."
