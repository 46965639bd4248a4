# Run "make" for the list of targets. Everything happens in .venv, which "setup" makes from
# requirements.lock; with that in place only "lock" and "mutants" need a network.

SHELL := bash
.SHELLFLAGS := -euo pipefail -c
.DEFAULT_GOAL := help
MAKEFLAGS += --no-print-directory

# The Python (3.11 or later) to make .venv with; found on PATH when empty.
PYTHON ?=
# More arguments, for pytest, the demo or the benchmarks: make test ARGS="-k claim -x"
ARGS ?=

# How many tests run side by side. They wait a lot, so there is one more than there are cores; each
# has servers of its own, of up to 3 GB, so there are not too many.
JOBS ?= $(shell cores=$$(getconf _NPROCESSORS_ONLN); echo $$((cores < 4 ? cores + 1 : 4)))

export PYTHON
bin := .venv/bin
sources := $(wildcard src tests benchmarks)

.PHONY: help
help: ## List the targets
	@sed -nE 's/^([a-z-]+):.*## (.*)/  \1\t\2/p' $(MAKEFILE_LIST) | expand -t 18

.PHONY: setup
setup: ## Make .venv from the lock, only when something changed
	@tools/setup

.PHONY: demo
demo: setup ## Show the main job on servers of its own: make demo ARGS="--faults"
	$(bin)/outbox-worker demo $(ARGS)

.PHONY: test
test: setup ## Run every test
	$(bin)/python -m pytest -n $(JOBS) --dist loadfile --no-loadscope-reorder $(ARGS)

.PHONY: unit
unit: setup ## Run the tests that need no server
	$(bin)/python -m pytest tests/unit $(ARGS)

.PHONY: check
check: static test ## Everything that must pass before a change lands

.PHONY: static
static: format-check lint imports types ## All checks but the tests

.PHONY: format-check
format-check: setup ## Say what is not formatted
	$(bin)/ruff format --check .

.PHONY: lint
lint: setup ## Find faults of style and likely bugs
	$(bin)/ruff check .

.PHONY: types
types: setup ## Check types, tests included
	$(bin)/mypy $(sources)

.PHONY: imports
imports: setup ## Check which layer imports which
	$(bin)/lint-imports --no-cache --no-logo

.PHONY: format
format: setup ## Format the code, and mend what the linter can
	$(bin)/ruff check --fix-only --quiet .
	$(bin)/ruff format .

.PHONY: lock
lock: ## Write requirements.lock anew, with the newest versions allowed
	tools/lock

.PHONY: replay-ledger
replay-ledger: setup ## Replay recorded ledger programs: make replay-ledger FILE=...
	@$(if $(FILE),,echo "usage: make replay-ledger FILE=programs.jsonl" >&2; exit 2)
	$(bin)/python -m tests.replay_ledger "$(FILE)"

.PHONY: mutants
mutants: setup ## Change the domain in many ways: do the tests notice? (minutes)
	@$(bin)/python -m pip install --quiet --disable-pip-version-check --require-hashes \
		--requirement requirements-mutants.lock
	@$(bin)/python tools/mutants $(bin)/mutmut tools/mutants.toml

.PHONY: kill-rounds
kill-rounds: setup ## Kill a worker at any moment, and at the worst ones: make kill-rounds ROUNDS=200
	KILL_ROUNDS=$(or $(ROUNDS),200) $(bin)/python -m pytest -s -o faulthandler_timeout=0 tests/integration/worker/test_kill_rounds.py

.PHONY: ledger-parity
ledger-parity: setup ## Compare the in-memory ledger with a real one: make ledger-parity EVENTS=100000
	$(bin)/python -m tests.parity $(if $(EVENTS),--events $(EVENTS)) $(if $(SEED),--seed $(SEED))

.PHONY: growth
growth: setup ## Measure claims on a big table: make growth EVENTS=5000000 (minutes, some GB)
	$(bin)/python -m tests.growth $(if $(EVENTS),--events $(EVENTS))

.PHONY: bench
bench: setup ## Measure ours beside others, as ratios: make bench ARGS="--only lanes"
	@$(bin)/python -m benchmarks $(ARGS)

.PHONY: clean
clean: ## Remove .venv, caches and builds
	rm -rf .venv .mypy_cache .pytest_cache .ruff_cache .import_linter_cache .hypothesis build dist mutants
	find $(sources) -name __pycache__ -type d -prune -exec rm -rf {} +
