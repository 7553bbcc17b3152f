# Every target does its own set-up. `make help` lists them.
SHELL := bash
.SHELLFLAGS := -eu -o pipefail -c
.DEFAULT_GOAL := help

PYTHON ?= python3
VENV := .venv
PY := $(VENV)/bin/python
export PYTHONPATH := tests:operator
CLUSTER := $(PY) -m localcluster
IMAGES := chaffinch vllm-sim envoy
ARGS ?=

# Runs a command inside the network namespace of a fresh cluster, and takes the cluster down afterwards.
# What tests need is built and installed before: nothing can be fetched in there.
define in_cluster
	$(CLUSTER) down
	$(CLUSTER) build
	$(CLUSTER) up --kwok
	status=0; { $(CLUSTER) load-image $(IMAGES) && $(CLUSTER) exec -- $(1); } || status=$$?; $(CLUSTER) down; exit $$status
endef

# First among the prerequisites of what starts a cluster, so that nothing is waited for in vain.
.PHONY: root
root:
	@[ "$$(id -u)" = 0 ] || { echo "error: this needs root (network namespaces, mounts); run it as root" >&2; exit 2; }

.PHONY: help
help: ## List the targets
	@grep -hE '^[a-z-]+:.*## ' $(MAKEFILE_LIST) | sed -E 's/:.*## /\t/' | expand -t 14

.PHONY: setup
setup: $(VENV)/ready ## Create the virtual environment with every dependency pinned by hash

$(VENV)/ready: requirements/dev.txt pyproject.toml
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11))' 2>/dev/null || { echo "error: Python 3.11 or newer is needed; set PYTHON=/path/to/python3.11" >&2; exit 2; }
	@echo "==> virtual environment (about a minute, once)"
	@$(PYTHON) -m venv --clear $(VENV) >/dev/null 2>&1 \
	  || { [ "$$(id -u)" = 0 ] && apt-get update -qq && apt-get install -qq -y python3-venv >/dev/null && $(PYTHON) -m venv --clear $(VENV); } \
	  || { echo "error: Python's venv module is missing; run as root: apt-get install python3-venv" >&2; exit 2; }
	@$(PY) -m pip install --quiet --require-hashes --requirement requirements/dev.txt
	@$(PY) -m pip install --quiet --no-deps --no-build-isolation --editable .
	@touch $@

.PHONY: demo
demo: root setup ## Start a real Kubernetes and watch four rollouts on it (20 minutes the first time, 5 to 6 later)
	$(CLUSTER) up
	$(CLUSTER) load-image $(IMAGES)
	$(CLUSTER) exec -- $(PY) -m demo

# The tests on the cluster mostly wait, the others compute: side by side they take as long as the former.
define side_by_side
	$(call in_cluster,$(MAKE) --no-print-directory --keep-going --jobs=2 on-the-cluster beside-it 'AND=$(1)')
endef

.PHONY: test
test: root lint ## Lint, then every test on a real cluster (25 minutes with warm caches)
	$(call side_by_side,and not full)

.PHONY: test-full
test-full: root lint ## Everything that `make test` runs, the long sweeps, and what needs a machine that does nothing else
	$(call in_cluster,$(MAKE) --no-print-directory side-by-side-and-alone)

.PHONY: test-unit
test-unit: setup ## The tests that need neither a cluster nor its programs (3 minutes)
	$(PY) -m pytest -m "not full" tests/unit tests/scenarios

.PHONY: side-by-side-and-alone on-the-cluster beside-it
side-by-side-and-alone:
	@status=0; $(MAKE) --no-print-directory --keep-going --jobs=2 on-the-cluster beside-it 'AND=and not alone' || status=$$?; \
	  $(PY) -m pytest --durations=20 -m alone || status=$$?; exit $$status
on-the-cluster:
	$(PY) -m pytest --durations=20 -m "cluster $(AND)"
beside-it:
	@echo "==> the tests that need no cluster run beside the others; their report comes when they have ended"
	@mkdir -p build
	@status=0; nice $(PY) -m pytest -m "not cluster $(AND)" >build/test-beside.log 2>&1 || status=$$?; \
	  cat build/test-beside.log; exit $$status

.PHONY: bench-scale
bench-scale: root setup ## What 1,000 rollouts cost the operator (25 minutes); smaller: ARGS='--rollouts 100 --active 10 --idle-seconds 60'; with a peer: ARGS='--beside argo-rollouts'
	$(PY) -m bench.scale --prepare $(ARGS)
	$(CLUSTER) down
	$(CLUSTER) up --kwok
	status=0; $(CLUSTER) exec -- $(PY) -m bench.scale $(ARGS) || status=$$?; $(CLUSTER) down; exit $$status

.PHONY: lint
lint: setup ## Style, types, layers and generated files
	$(VENV)/bin/ruff format --check .
	$(VENV)/bin/ruff check .
	$(VENV)/bin/mypy operator/chaffinch tests
	$(VENV)/bin/lint-imports
	$(PY) -m chaffinch.api.generate --check

.PHONY: generate
generate: setup ## Write the generated files: CRDs, their copies in the chart, reference docs
	$(PY) -m chaffinch.api.generate
	$(PY) -m chaffinch.cli.reference > docs/reference-cli.md
	$(PY) -m chaffinch.reference_metrics > docs/reference-metrics.md
	$(PY) -m chaffinch.settings > docs/reference-settings.md

.PHONY: lock
lock: setup ## Pin the dependencies of pyproject.toml anew
	$(VENV)/bin/uv pip compile --quiet --universal --generate-hashes --no-header --python-version 3.11 pyproject.toml -o requirements/runtime.txt
	$(VENV)/bin/uv pip compile --quiet --universal --generate-hashes --no-header --python-version 3.11 --group dev pyproject.toml -o requirements/dev.txt

.PHONY: status kubectl forward
status: setup ## Say whether the local cluster is up
	$(CLUSTER) status
kubectl: setup ## Run kubectl on the local cluster: make kubectl ARGS='get pods -A'
	@$(CLUSTER) kubectl $(ARGS)
forward: setup ## Reach something in the cluster from here: make forward ARGS='PORT ADDRESS:PORT'
	$(CLUSTER) forward $(ARGS)

.PHONY: stop
stop: setup ## Take the local cluster down
	$(CLUSTER) down

.PHONY: clean
clean: ## Take the cluster down and remove what was built in this folder (the cache of programs stays)
	@if [ -x $(PY) ]; then $(CLUSTER) down; fi
	rm -rf $(VENV) build dist .mypy_cache .ruff_cache .pytest_cache .import_linter_cache .hypothesis
