# From a fresh clone: `make demo` shows Penstock at work, `make test` checks everything. Both make their own
# environment in .venv and install into it what they need; nothing outside this folder changes.

PYTHON ?= python3
JOBS ?= 2
FUZZ_SECONDS ?= 60
MUTATIONS ?= 10000
ROUNDS ?= 3
SEED ?= $(shell date +%j%H%M)
ARGS ?=

VENV := .venv
BIN := $(VENV)/bin
# Modules are compiled when first imported: most of those of the frameworks never are.
PIP := $(BIN)/python -m pip install --quiet --disable-pip-version-check --no-compile
NATIVE := $(shell find native -name '*.cc' -o -name '*.h' -o -name CMakeLists.txt 2>/dev/null)
PROJECT := pyproject.toml CMakeLists.txt $(NATIVE)
ifeq ($(origin CXX),default)
CXX := $(or $(shell command -v c++ || command -v g++ || command -v clang++),c++)
endif
CXX_FILES := $(shell find native bench -name '*.cc' -o -name '*.h' 2>/dev/null)
BUILD_TOOLS := "scikit-build-core>=0.11" "nanobind>=2.7" "numpy>=2" "cmake>=3.24" "ninja>=1.11"
SANITIZED := build/sanitized

# Tests of a file share servers, clusters and imports, so they run in one process; they often wait for processes of
# their own, so there are two processes more than jobs.
TESTERS := -n $(shell expr $(JOBS) + 2) --dist=loadfile --no-loadscope-reorder

CONCURRENT := tests/engine tests/executors tests/service tests/isolation tests/cache tests/ops/buffer tests/watch/test_stuck.py

# Tests start Python some hundred times: without bytecode files, each start would compile the package again.
unexport PYTHONDONTWRITEBYTECODE

, := ,
say = @printf '\n==> %s\n' "$(1)"

ifeq ($(MAKELEVEL),0)
.NOTPARALLEL:
endif
.DEFAULT_GOAL := help
.PHONY: help demo test tested lint format collection native-test bench fuzz mutations laws shuffled gpu-check build-tools \
  environment frameworks system clean

help: ## Say what there is.
	@echo "Penstock. What you can ask for:"
	@grep -hE '^[a-z-]+:.*## ' $(MAKEFILE_LIST) | sed -E 's/:.*## /\t/' | expand -t 16 | sed 's/^/  make /'

demo: $(VENV)/installed-demo ## Install into .venv and run the demo on real data (about two minutes).
	$(call say,Running the demo: training from real images$(,) resuming$(,) reading text and records$(,) measuring)
	@$(BIN)/penstock demo $(ARGS)

test: environment ## Install into .venv, lint, check types and contracts, build, run all tests.
	@$(MAKE) --no-print-directory -j $(JOBS) lint native-test tested

# The tests begin while types are checked, which takes one core.
tested: collection native-test
	$(call say,Running the tests and the examples in the documentation)
	@$(BIN)/python -m pytest $(TESTERS) --hypothesis-profile=ci $(ARGS) || { \
	  echo "==> Running what failed once more, alone: what passes now depends on a busy machine, and is to be mended"; \
	  $(BIN)/python -m pytest --last-failed --last-failed-no-failures none --hypothesis-profile=ci $(ARGS); }

lint: environment ## Check style, formats, types and import contracts; change nothing.
	$(call say,Checking the Python style (ruff))
	@$(BIN)/ruff check
	$(call say,Checking the Python format (ruff))
	@$(BIN)/ruff format --check
	$(call say,Checking the C++ format (clang-format))
	@$(BIN)/clang-format --dry-run --Werror $(CXX_FILES)
	$(call say,Checking the types (pyright$(,) strict))
	@$(BIN)/pyright --pythonpath $(BIN)/python
	$(call say,Checking that imports point down only (import-linter))
	@$(BIN)/lint-imports --no-cache --no-logo

format: environment ## Format Python and C++, and fix what ruff can fix.
	$(call say,Formatting Python and C++)
	@$(BIN)/ruff check --fix-only --quiet
	@$(BIN)/ruff format
	@$(BIN)/clang-format -i $(CXX_FILES)

collection: environment
	$(call say,Collecting the tests$(,) so that modules are compiled once and not by every process that runs tests)
	@$(BIN)/python -m pytest --collect-only -qq >/dev/null || true # the run will say what is wrong

native-test: $(SANITIZED)/passed ## Build the native tests with the address and undefined-behaviour sanitizers and run them.

$(SANITIZED)/passed: $(PROJECT) $(wildcard native/hostile/*) | build-tools
	$(call say,Building the native tests with the address and undefined-behaviour sanitizers)
	@$(BIN)/cmake -S . -B $(SANITIZED) -G Ninja -DCMAKE_MAKE_PROGRAM=$(CURDIR)/$(BIN)/ninja --log-level=WARNING \
	  -DPENSTOCK_NATIVE_TESTS=ON -DPENSTOCK_SANITIZE=ON >/dev/null
	@$(BIN)/cmake --build $(SANITIZED) -j $(JOBS) -- --quiet
	$(call say,Running the native tests)
	@$(BIN)/ctest --test-dir $(SANITIZED) --no-tests=error --output-on-failure -j $(JOBS)
	@touch $@

fuzz: native-test ## Fuzz each native kernel for FUZZ_SECONDS (60) seconds under the sanitizers.
	$(call say,Fuzzing each native kernel for $(FUZZ_SECONDS) seconds)
	@for target in $$(find $(SANITIZED) -name 'fuzz_*' -type f -perm -u+x | sort); do \
	  echo "$$target"; $$target --seconds $(FUZZ_SECONDS) native/hostile || exit 1; done

mutations: environment ## Read MUTATIONS (10000) damaged files of each format: each gives what is promised of it, or an error.
	$(call say,Reading $(MUTATIONS) damaged files of each format)
	@$(BIN)/python -m tests.sources.mutations $(MUTATIONS)
	@$(BIN)/python -m tests.sources.damaged_tables $(MUTATIONS)

laws: environment ## Check the laws with ten times as many random pipelines as the tests do, other ones on every run.
	$(call say,Checking the laws with many random pipelines)
	@$(BIN)/python -m pytest -n $(JOBS) --hypothesis-profile=thorough --timeout=3600 tests/laws $(ARGS)

shuffled: environment ## Run the tests of what is concurrent ROUNDS (3) times in random orders, beside programs that keep all cores busy.
	$(call say,Running concurrent tests in random orders on busy cores; a test without an end shows the stacks of all threads)
	@for core in $$(seq $(JOBS)); do (while :; do :; done) & busy="$$busy $$!"; done; trap 'kill $$busy' EXIT; \
	  for seed in $$(seq $(SEED) $$(expr $(SEED) + $(ROUNDS) - 1)); do \
	  echo "==> Order $$seed"; $(BIN)/python -m pytest -q -o faulthandler_timeout=90 --random-order $$seed $(CONCURRENT) $(ARGS) || exit 1; done

bench: $(VENV)/installed-bench ## Run the benchmarks: make bench ARGS="images --against tfdata,torch,grain".
	$(call say,Running the benchmarks)
	@$(BIN)/python -m bench $(ARGS)

gpu-check: environment ## Check and measure the feeds on this machine's GPU: make gpu-check ARGS="--batch 128".
	$(call say,Installing PyTorch and JAX for CUDA)
	@$(PIP) "torch>=2.2" "jax[cuda13]" "nvidia-nvimgcodec-cu13[all]>=0.9" "cupy-cuda13x>=14"
	$(call say,Checking the feeds on the GPU and measuring a step with and without them)
	@$(BIN)/python -m bench.feeding $(ARGS)
	@$(BIN)/python -m bench.feeding.images

build-tools: $(VENV)/tools-installed

environment: $(VENV)/installed-dev ## Make .venv with the package and the developers' tools.

frameworks: environment ## Install PyTorch, JAX, TensorFlow, Keras, training loops and what sources are tested beside into .venv, so that those tests run too.
	$(call say,Installing PyTorch$(,) JAX$(,) ArrayRecord$(,) Datasets$(,) TensorFlow$(,) Keras$(,) Lightning$(,) Transformers$(,) Accelerate$(,) Orbax$(,) Ray$(,) Dask$(,) OpenTelemetry and tensorboardX$(,) which are tested with where they are there)
	@$(PIP) torch==2.13.0 "jax>=0.4.30"
	@$(PIP) array-record datasets
	@$(PIP) "tensorflow-cpu>=2.16" "keras>=3.7"
	@$(PIP) torch==2.13.0 lightning transformers accelerate orbax-checkpoint
	@$(PIP) ray distributed
	@$(PIP) opentelemetry-sdk tensorboardX
	@command -v mpiexec >/dev/null && $(PIP) mpi4py || echo "Without MPI here (mpiexec), its test is skipped"

clean: ## Remove .venv and everything that was built.
	$(call say,Removing .venv$(,) build and the tools' caches)
	@rm -rf $(VENV) build dist .pytest_cache .ruff_cache .hypothesis .import_linter_cache
	@find . -name __pycache__ -type d -not -path './.git/*' -prune -exec rm -rf {} +

# What pip cannot install, asked for in one sentence each.
require = $(if $(shell $(1) >/dev/null 2>&1 && echo yes),,$(error $(2)))
NO_PYTHON = Penstock needs Python 3.11 or later$(,) and there is no $(PYTHON) here: install it (Debian, Ubuntu: \
  apt install python3 python3-venv python3-dev)$(,) or name yours: make PYTHON=/path/to/python
OLD_PYTHON = Penstock needs Python 3.11 or later$(,) and this is $(shell $(PYTHON) --version 2>&1): name a newer one: \
  make PYTHON=python3.12
NO_VENV = $(PYTHON) cannot make environments: install its venv module (Debian, Ubuntu: apt install python3-venv)
NO_HEADERS = Penstock compiles a Python module$(,) and the headers of $(PYTHON) are missing: install them (Debian, \
  Ubuntu: apt install python3-dev; Fedora: dnf install python3-devel)
NO_COMPILER = Penstock compiles its native kernels$(,) and there is no C++ compiler here: install one (Debian, Ubuntu: \
  apt install g++; Fedora: dnf install gcc-c++; macOS: xcode-select --install)
NO_JPEG = Penstock decodes JPEG with libjpeg-turbo$(,) whose headers are missing: install them (Debian, Ubuntu: \
  apt install libjpeg-dev; Fedora: dnf install libjpeg-turbo-devel; macOS: brew install jpeg-turbo)
PYTHON_H = import os, sys, sysconfig; sys.exit(not os.path.exists(sysconfig.get_path("include") + "/Python.h"))
JPEG_CC = "\#include <cstdio>\n\#include <jpeglib.h>\n"

system:
	$(call require,command -v $(PYTHON),$(NO_PYTHON))
	$(call require,$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3$(,) 11))',$(OLD_PYTHON))
	$(call require,$(PYTHON) -c 'import ensurepip$(,) venv',$(NO_VENV))
	$(call require,$(PYTHON) -c '$(PYTHON_H)',$(NO_HEADERS))
	$(call require,command -v $(CXX),$(NO_COMPILER))
	$(call require,printf $(JPEG_CC) | $(CXX) $(CPPFLAGS) -x c++ -fsyntax-only -,$(NO_JPEG))
	@:

$(BIN)/python: | system
	$(call say,Making the environment .venv with $(shell $(PYTHON) --version 2>&1))
	@$(PYTHON) -m venv $(VENV)

$(VENV)/tools-installed: pyproject.toml | $(BIN)/python
	$(call say,Installing the build tools: scikit-build-core$(,) nanobind$(,) NumPy$(,) cmake$(,) ninja)
	@$(PIP) $(BUILD_TOOLS)
	@touch $@

# One rule an extra: the package itself is installed in place, so that only native code needs a rebuild.
$(VENV)/installed-%: $(PROJECT) $(VENV)/tools-installed | system
	$(call say,Compiling the native kernels and installing Penstock [$*] with what it needs)
	@$(PIP) --no-build-isolation --editable ".[$*]"
	@touch $@
