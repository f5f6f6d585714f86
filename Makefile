# SPDX-License-Identifier: Apache-2.0
# Everything made goes to CACHE and build/; the gates run on a copy of the checkout that lies where Ansible
# wants a collection (…/ansible_collections/federated/flower), so the checkout itself may lie anywhere.

PYTHON  ?= python3
CACHE   ?= $(or $(XDG_CACHE_HOME),$(HOME)/.cache)/federated-flower
$(foreach path,CURDIR CACHE,$(if $(word 2,$($(path))),$(error $(path) contains a space: $($(path)))))
# One environment per set of requirements (others: tools/environment.py), one staged copy per checkout.
VENV    := $(CACHE)/venv-$(shell { cat requirements/constraints.txt requirements/dev.txt; $(PYTHON) -V; } | cksum | cut -d' ' -f1)
STAGE   := $(CACHE)/stage-$(shell pwd -P | cksum | cut -d' ' -f1)
STAGED  := $(STAGE)/ansible_collections/federated/flower
BUILD   := $(CURDIR)/build
# Federations that the scenarios keep on the fleet at once; pytest's reports with the time of each test.
LANES   ?= 2
WORKERS := -n $(LANES) --dist loadfile --no-loadscope-reorder
TIMES   := --durations=10 --junitxml=$(BUILD)/times
PUBLISHED := tests/examples/test_published_apps.py
VISION := tests/examples/test_vision.py
# Workers of the unit tests.
UNIT    ?= -n 2
# How much pytest prints while it runs on the fleet.
VERBOSE ?= -v

# Ansible asks for a UTF-8 locale.
export LANG ?= C.UTF-8
export PATH := $(VENV)/bin:$(PATH)
export ANSIBLE_COLLECTIONS_PATH := $(STAGE)
export PYTHONPATH := $(STAGE)
export ANSIBLE_CONFIG := $(CURDIR)/tools/ansible.cfg
export FLOWER_STAGE := $(STAGE)
export MYPY_CACHE_DIR := $(STAGE)/.mypy_cache
export FLOWER_BUILD := $(BUILD)
export FLOWER_CHECKOUT := $(CURDIR)
unexport MAKEFLAGS
# The staged copy keeps compiled files; without them each Python of a gate compiles the collection again.
unexport PYTHONDONTWRITEBYTECODE

.NOTPARALLEL:
.DEFAULT_GOAL := help
.PHONY: help venv stage fleet-up fleet-core fleet-down demo demo-down demo-recording demo-ocm demo-ocm-down demo-skupper demo-skupper-down demo-study demo-study-down role-files lint sanity unit playbooks published lowest examples vision events metrics gateway page archive check test nightly scenario core core-limited fleet-tests scenarios soak fleet-lifecycle molecule awx bench docs build print-venv clean

help: ## list the targets
	@awk -F ':.*## ' '/^[a-z-]+:.*## /{printf "  %-12s %s\n", $$1, $$2}' $(firstword $(MAKEFILE_LIST))

venv: $(VENV)/.ready ## install the pinned toolchain from the package index
$(VENV)/.ready:
	@bash tools/venv.sh $(PYTHON) $(VENV)

stage: venv
	@python tools/stage.py $(CURDIR) $(STAGED)

fleet-up: venv ## start the test fleet: three real Kubernetes clusters on this machine
	@sh tests/fleet/fleet up

fleet-core: fleet-up ## the test fleet, and what the core scenarios need on it: built before, so that they do not wait for each other
	@[ -n "$$FLOWER_FLEET_KUBECONFIG" ] || { set -e; for tool in ocm ocm-hub kubectl; do sh tests/fleet/fleet tool $$tool; done; sh tests/fleet/fleet image flower-1.41.0; }

fleet-down: venv ## stop the test fleet
	@sh tests/fleet/fleet down

demo: stage ## fleet, federation, one real run and a report (VERBOSE=1: with all output)
	@python tools/demo.py up

demo-down: stage ## remove the federation and the fleet
	@python tools/demo.py down

demo-recording: stage ## run the demo, record it (docs/images/demo.cast) and draw the picture of the README from the recording
	@python tools/recording.py

demo-ocm: stage ## the same where Open Cluster Management delivers to the sites
	@python tools/demo.py up ocm

demo-ocm-down: stage ## remove the federation and the fleet
	@python tools/demo.py down ocm

demo-skupper: stage ## the same where sites join through Skupper, which a stand-in plays
	@python tools/demo.py up skupper

demo-skupper-down: stage ## remove the federation and the fleet
	@python tools/demo.py down skupper

demo-study: stage ## tables at the sites, an app with an image of its own, a run, and its model on this machine
	@python tools/demo.py up study

demo-study-down: stage ## remove the federation and the fleet
	@python tools/demo.py down study

role-files: venv ## write the defaults and README tables of the roles from their argument specifications
	@python tools/role_files.py

lint: stage ## up-to-date files of roles, ansible-lint (production), yamllint, ruff, import-linter, mypy, changelog and documentation lint
	@cd $(STAGED) && bash tools/lint.sh

sanity: stage ## ansible-test sanity, nothing ignored
	@cd $(STAGED) && python tools/sanity.py $(SANITY)

unit: stage ## unit tests, and those of the fleet's pure parts
	@cd $(STAGED) && python -m pytest -q $(UNIT) -m "not playbook" $(TIMES)/unit.xml tests/unit tests/fleet/test_parts.py

playbooks: stage ## playbooks and roles in real runs of Ansible, against stand-ins for clusters
	@cd $(STAGED) && python -m pytest -q $(UNIT) -m playbook $(TIMES)/playbooks.xml tests/unit

lowest: stage ## unit tests of what calls other packages, with the lowest versions that the collection allows
	@cd $(STAGED) && lowest=$$(python tools/environment.py lowest) && \
	  "$$lowest" -m pytest -q $(TIMES)/lowest.xml $(addprefix tests/unit/plugins/,filter/test_marked_results.py $(addprefix plugin_utils/,apply backup kube pki))

examples: stage ## tests of the example app, and of what Flower itself reads, in an environment with Flower and scikit-learn
	@cd $(STAGED) && study=$$(python tools/environment.py study) && \
	  "$$study" -m pytest -q $(TIMES)/examples.xml --ignore=$(PUBLISHED) --ignore=$(VISION) tests/examples

published: stage ## Flower's examples as they are published: each is run, and its model fetched
	@cd $(STAGED) && study=$$(python tools/environment.py study) && "$$study" -m pytest -q $(TIMES)/published.xml $(PUBLISHED)

vision: stage ## tests of the example with PyTorch, in an environment of its own (3 GB once); prints what a run costs
	@cd $(STAGED) && vision=$$(python tools/environment.py vision) && OMP_NUM_THREADS=1 "$$vision" -m pytest -q $(TIMES)/vision.xml $(VISION)

events: stage ## tests of the rulebooks, with ansible-rulebook in an environment of its own
	@cd $(STAGED) && bash $(CURDIR)/tools/java.sh && eda=$$(python tools/environment.py eda) && "$$eda" -m pytest -q $(TIMES)/events.xml tests/events

metrics: stage ## tests of the alert rules and the dashboard, with promtool of Debian's package
	@cd $(STAGED) && python -m pytest -q $(TIMES)/metrics.xml tests/metrics

gateway: stage ## tests of the gateway's configuration, with HAProxy of Debian's package
	@cd $(STAGED) && python -m pytest -q $(TIMES)/gateway.xml tests/gateway

page: stage ## tests of the report's page in Chromium of Debian's package, and with axe-core of the npm registry
	@cd $(STAGED) && python -m pytest -q $(TIMES)/page.xml tests/page

archive: stage ## the built archive in an empty environment, with the commands of README.md
	@cd $(STAGED) && python -m pytest -q $(TIMES)/archive.xml tests/archive

check: stage ## before every commit: the gates without a fleet side by side, of what has changed since they passed
	@FLOWER_CHANGED=1 SANITY=--changed UNIT="-n 3" python tools/test.py check

test: stage ## before every push: lint, types, sanity, unit tests, molecule and the core scenarios
	@python tools/test.py test

nightly: stage ## before every release: everything that `make test` leaves out
	@python tools/test.py nightly

scenario: stage ## one file of scenarios on a fleet that keeps running: make scenario NAME=test_16_rotation [PYTEST="-k ca"]
	@cd $(STAGED) && bash $(CURDIR)/tools/with-fleet.sh python -m pytest -v --durations=10 $(PYTEST) -- \
	  $(or $(wildcard tests/integration/$(NAME).py),tests/integration/scenarios/$(or $(NAME),NAME=… is missing).py)

fleet-tests: stage ## the tests of the fleet itself
	@cd $(STAGED) && python tools/second_try.py fleet-tests python -m pytest $(VERBOSE) --durations=10 -m fleet -- tests/fleet

core: stage ## one scenario for each capability, on two federations
	@cd $(STAGED) && bash tools/with-fleet.sh python tools/second_try.py core \
	  python -m pytest $(VERBOSE) --durations=10 $(WORKERS) -- tests/integration/scenarios/core

core-limited: stage ## the core scenarios with a third of the machine's CPU for clusters and Ansible together: no test may depend on speed
	@cd $(STAGED) && bash tools/with-fleet.sh python tests/fleet/limited.py 33 \
	  python -m pytest $(VERBOSE) $(TIMES)/core-limited.xml --durations=10 $(WORKERS) -- tests/integration/scenarios/core

# Groups of files and their order: tests/integration/conftest.py.
scenarios: stage ## all other scenarios, and the stand-in for Skupper
	@cd $(STAGED) && python tools/together.py \
	  "python -m pytest $(VERBOSE) $(TIMES)/skupper_standin.xml tests/skupper_standin" \
	  "bash tools/with-fleet.sh python tools/second_try.py scenarios \
	     python -m pytest $(VERBOSE) --durations=10 $(WORKERS) --ignore=tests/integration/scenarios/core -- tests/integration"

soak: stage ## the long forms of integration tests: many rounds, many kills
	@cd $(STAGED) && bash $(CURDIR)/tools/with-fleet.sh python -m pytest -v -m soak --durations=5 $(WORKERS) -- tests/integration
	@[ -n "$$FLOWER_FLEET_KUBECONFIG" ] || { cd $(STAGED) && python -m pytest -v -m "fleet_lifecycle and soak" tests/fleet; }

fleet-lifecycle: stage ## stops the fleet, kills it half-way up and looks at what is left
	@cd $(STAGED) && python -m pytest $(VERBOSE) $(TIMES)/fleet-lifecycle.xml -m "fleet_lifecycle and not soak" tests/fleet

molecule: stage ## molecule: converge, idempotence, verify on the fleet
	@cd $(STAGED)/extensions && bash $(CURDIR)/tools/with-fleet.sh molecule test --all

awx: stage ## awx.yml and what it creates, on the controller that CONTROLLER_HOST names (tests/awx/README.md)
	@cd $(STAGED) && python -m pytest -v $(TIMES)/awx.xml tests/awx

bench: stage ## speed, side by side with kubernetes.core.k8s
	@cd $(STAGED) && bash $(CURDIR)/tools/with-fleet.sh python tests/bench/ocm_inventory.py
	@cd $(STAGED) && bash $(CURDIR)/tools/with-fleet.sh python tests/bench/bench.py
	@cd $(STAGED) && FLEET_ADDON=ocm bash $(CURDIR)/tools/with-fleet.sh python tests/bench/ocm_delivery.py

docs: stage ## HTML documentation in build/docs
	@cd $(STAGED) && bash tools/docs.sh

build: stage ## the collection's archive in build/, checked as Galaxy would
	@cd $(STAGED) && bash tools/build.sh

print-venv:
	@echo $(VENV)

clean: ## remove build/ and the staged copy (not the environments)
	@rm -rf $(BUILD) $(STAGE)
