# Works as the first command on a fresh clone with Python 3.11 or newer, make and git.
PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
STAMP := $(VENV)/.installed

.PHONY: demo test lint bench format docs notebooks clean

demo: $(STAMP)  ## the main job end to end: a task, its cheat, a model, a map, what causes it
	@$(BIN)/probe generate-task winograd-hard --quiet
	@echo
	@$(BIN)/probe train --variant uniform --quiet
	@echo
	@$(BIN)/probe train --blocks 2 --until 1.0 --quiet
	@echo
	@$(BIN)/probe attn-map "the animal did not cross..." --quiet
	@echo
	@$(BIN)/probe trace --pairs 60 --quiet
	@echo "the run, its maps and tables lie in runs/$$(cat runs/latest); next: probe audit winograd-hard"

test: $(STAMP)  ## the whole suite: lint, types, contracts, doctests, tests
	@$(BIN)/python -m pytest -q -n auto --maxprocesses 4 --dist worksteal

lint: $(STAMP)
	@$(BIN)/ruff format --check src tests benchmarks notebooks docs
	@$(BIN)/ruff check src tests benchmarks notebooks docs
	@$(BIN)/pyright --warnings
	@$(BIN)/lint-imports

format: $(STAMP)
	@$(BIN)/ruff format src tests benchmarks notebooks docs
	@$(BIN)/ruff check --fix src tests benchmarks notebooks docs

bench: $(STAMP)  ## the README's speed: what a script measures, with its peer where there is one
	@for script in command_to_run sweep audit_speed language_step; do $(BIN)/python benchmarks/$$script.py || exit 1; done

docs: $(STAMP)  ## the API page from the docstrings: docs/api/probe.html
	@$(BIN)/python docs/api.py

notebooks: $(STAMP)  ## execute notebooks/*.py into the .ipynb beside them, with full settings
	@$(BIN)/python notebooks/execute.py

# torch first and alone, so that pip can take a CPU build where there is one; then everything pinned.
$(STAMP): pyproject.toml constraints.txt
	@test -d $(VENV) || $(PYTHON) -m venv $(VENV)
	@echo "installing (the first time takes a minute or two) …"
	@$(BIN)/python -m pip install --quiet --disable-pip-version-check -c constraints.txt torch
	@$(BIN)/python -m pip install --quiet --disable-pip-version-check -c constraints.txt -r requirements-dev.txt -e .
	@touch $(STAMP)

clean:
	rm -rf $(VENV) dist build .pytest_cache .ruff_cache .hypothesis .import_linter_cache
