# Everything a contributor runs. `make` lists the targets; each one prepares what it needs by itself.
#
# Variables: PYTHON (the interpreter for new environments, 3.11 or newer), ARGS (passed on to pytest by `make test`
# and `make conformance`, for example ARGS="-k watch"), WORKERS (parallel test processes), SEEDS, START and KIND (of `make
# chaos`), PLANS (of `make crash`), FINAL (of `make release`), RESULTS (RESULTS=1: tests write what they have shown below
# build/results, from where `make guarantees` takes the figures of docs/guarantees.md).

PYTHON  ?= python3
WORKERS ?= auto
ARGS    ?=
SEEDS   ?= 200
START   ?= 0
KIND    ?= tenants
PLANS   ?= ci

VENV      := .venv
DOCS_VENV := .venv/docs
BIN       := $(VENV)/bin
READY     := $(VENV)/.ready
DEV_READY := $(VENV)/.ready-dev
DOCS_READY := $(DOCS_VENV)/.ready
GROUPS    := plane runtime cel clouds cloudfront package zerotrust composition bridge web
SOURCES   := src packages tests tools benchmarks conftest.py
PROJECTS  := . packages/kubecel packages/kubesim
# `$(call results,crash)`: the option with which a target writes its results.
results    = $(if $(RESULTS),--results=build/results/$1.json)

export PIP_DISABLE_PIP_VERSION_CHECK := 1

.DEFAULT_GOAL := help
.DELETE_ON_ERROR:
.PHONY: help demo venv test test-rest test-all web-test check crash chaos conformance bench bench-GROUP $(addprefix bench-,$(GROUPS)) docs guarantees picture pictures chart lock fmt clean image-root sbom scan release

help: ## List the targets
	@awk -F ':.*## ' '/^[a-zA-Z-]+:.*## / { printf "  %-14s %s\n", $$1, $$2 }' $(MAKEFILE_LIST)

# --- Use it ---------------------------------------------------------------------------------------------------------

demo: $(READY) ## Start the embedded control plane with examples (stays up on a terminal)
	@if test -t 0 && test -t 1; then wait=; else wait=--wait; fi; \
	exec $(BIN)/edgekeeper up --apply examples/quickstart --apply examples/zero-trust --apply examples/platform --story $$wait

venv: $(READY) ## Install edgekeeper and what `edgekeeper up` needs into .venv, for use from there

# --- Trust it -------------------------------------------------------------------------------------------------------

test: $(DEV_READY) ## Run what a change to the product must pass, with samples of the fault plans and the test beds
	$(BIN)/pytest -n $(WORKERS) --suite=product $(call results,test) $(ARGS)

# The exhaustive tables of the embedded API server, the simulated clouds and the expression engine (tests/suites.py).
test-rest: $(DEV_READY) ## Run what `make test` leaves out, but for what crash and conformance run
	$(BIN)/pytest -n $(WORKERS) --suite=rest $(call results,test-rest) $(ARGS)

test-all: test test-rest crash conformance ## Run all tests but those in a browser

# In Debian's Chromium, which is installed where that is possible. Without it the tests are skipped, or fail under
# EDGEKEEPER_STRICT=1.
web-test: $(DEV_READY) ## Look at the status page of `edgekeeper up` with a headless Chromium
	$(BIN)/python tools/browser.py
	$(BIN)/pytest tests/web $(ARGS)

check: $(DEV_READY) ## Check format, lint, types, layers and lock files
	$(BIN)/ruff format --check --quiet $(SOURCES)
	$(BIN)/ruff check --quiet $(SOURCES)
	$(BIN)/mypy
	$(BIN)/lint-imports
	$(BIN)/python tools/lock.py --check
	$(BIN)/python tools/chart.py --check
	$(BIN)/python tools/troubleshooting.py --check
	$(BIN)/python tools/reference.py --check
	$(BIN)/python -m tools.guarantees --check

# Every call that the operator makes fails in three ways, and the operator dies at each of them. `make test` has a sample.
crash: $(DEV_READY) ## Run a fifth of the fault plans in parallel; PLANS=all for all
	EDGEKEEPER_CRASH=$(PLANS) $(BIN)/pytest -n $(WORKERS) tests/crash tests/reliability tests/security/test_s05_dangling_names.py $(call results,crash) $(ARGS)

# Users, other people in the cloud, faults, kills, replicas and clocks at random, judged by oracles at every step. What
# fails is printed as a short sequence for tests/chaos/test_regressions.py. `make test` has a few seeds.
chaos: $(DEV_READY) ## Play random operations: SEEDS of them from START on, of KIND tenants or gizmos
	PYTHONHASHSEED=0 $(BIN)/python -m tests.chaos --kind $(KIND) --seeds $(SEEDS) --start $(START) --workers $(WORKERS) $(call results,chaos-$(KIND))

# The first run builds kube-apiserver, etcd, kubectl, helm and kro into a cache outside the checkout (10 to 20 minutes). Where
# that is impossible (exit code 3) the real server's half is skipped, or fails under EDGEKEEPER_STRICT=1. `make test` has the
# tests of composition on the embedded server. There are two processes, each with servers of its own: a real one takes a core.
conformance: $(DEV_READY) ## Run one suite against the embedded and a real API server, and compositions on the latter
	$(BIN)/python tools/real_server.py || test $$? -eq 3
	$(BIN)/python tools/helm.py || test $$? -eq 3
	$(BIN)/python -m tools.kro || test $$? -eq 3
	$(BIN)/pytest -n 2 tests/conformance --servers=embedded,real $(call results,conformance) $(ARGS)
	$(BIN)/pytest -n 2 tests/composition --servers=real $(call results,conformance-composition) $(ARGS)

bench: $(DEV_READY) ## Measure everything, print a table, write build/bench.json
	$(BIN)/python -m benchmarks

bench-GROUP: ## Measure one group: plane, runtime, cel, clouds, cloudfront, package, …
	@echo "choose one of: $(addprefix bench-,$(GROUPS))"; exit 2

$(addprefix bench-,$(GROUPS)): bench-%: $(DEV_READY)
	$(BIN)/python -m benchmarks $*

# --- Change it ------------------------------------------------------------------------------------------------------

# Without --quiet, which would hide the warnings that --strict counts.
docs: $(DOCS_READY) ## Build the documentation site into site/; a link that leads nowhere is an error
	NO_MKDOCS_2_WARNING=1 $(DOCS_VENV)/bin/mkdocs build --strict

# From a full set of results: make RESULTS=1 test test-rest crash chaos conformance
guarantees: $(DEV_READY) ## Put the figures of the last runs with RESULTS=1 into docs/guarantees.md
	$(BIN)/python -m tools.guarantees

picture: $(DEV_READY) ## Draw the README's picture from a real run of the demo
	$(BIN)/python tools/picture.py

pictures: $(DEV_READY) ## Take the pictures of the status page in docs/img with a headless Chromium
	$(BIN)/python tools/browser.py
	EDGEKEEPER_SCREENSHOTS=docs/img $(BIN)/pytest tests/web -k pictures

fmt: $(DEV_READY) ## Format the code and fix what ruff can fix
	$(BIN)/ruff check --fix --quiet $(SOURCES)
	$(BIN)/ruff format --quiet $(SOURCES)

# The first run builds helm into the cache of `make conformance`. Without Go, set HELM to the program.
chart: $(DEV_READY) ## Generate what of the chart follows from the code, and render deploy/
	$(BIN)/python tools/chart.py --helm "$$($(BIN)/python tools/helm.py --print-path)"

lock: $(DEV_READY) ## Compile requirements/*.txt again after editing an input
	PATH="$(CURDIR)/$(BIN):$$PATH" $(BIN)/python tools/lock.py

clean: ## Remove everything that can be built again
	rm -rf $(VENV) build dist site .coverage .hypothesis .import_linter_cache .mypy_cache .pytest_cache .ruff_cache

# --- Release it -----------------------------------------------------------------------------------------------------

# What the image adds to its base, and a list of it (build/image/opt/edgekeeper.sbom.json). The Containerfile does the same.
image-root: $(DEV_READY) ## Build the contents of the image without a container engine
	$(BIN)/python tools/image_root.py build/image

sbom: image-root ## Write the bill of materials and the licences of the image into build/
	cp build/image/opt/edgekeeper.sbom.json build/image/opt/LICENSES.txt build/

scan: $(DEV_READY) ## Look for known vulnerabilities of the requirements, where the database can be reached
	$(BIN)/python tools/release.py --scan

# A rehearsal, as long as CHANGELOG.md has entries under [Unreleased]. FINAL=1 makes what is going to be published.
release: $(DEV_READY) ## Make everything of a release except publishing it, into dist/; FINAL=1 checks the changelog
	$(BIN)/python tools/release.py $(if $(FINAL),--final)

# --- Environments ---------------------------------------------------------------------------------------------------

# One environment, filled in two steps: what the demo needs, and on top of it what a change needs.
$(READY): requirements/build.txt requirements/local.txt $(PROJECTS:%=%/pyproject.toml) | $(BIN)/python
	@$(BIN)/python tools/install.py edgekeeper -r requirements/build.txt -r requirements/local.txt $(PROJECTS:%=-e %)
	@touch $@

$(DEV_READY): requirements/dev.txt $(READY)
	@$(BIN)/python tools/install.py "development tools" -r requirements/dev.txt
	@touch $@

$(DOCS_READY): requirements/docs.txt
	test -x $(DOCS_VENV)/bin/python || $(PYTHON) -m venv $(DOCS_VENV)
	@$(DOCS_VENV)/bin/python tools/install.py "documentation tools" -r requirements/docs.txt
	@touch $@

$(BIN)/python:
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11) and "edgekeeper needs Python 3.11 or newer: make PYTHON=python3.11")'
	@echo "Creating a virtual environment in $(VENV)"
	@$(PYTHON) -m venv $(VENV)
