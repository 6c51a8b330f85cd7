# Millrace: the commands that people and CI share.
#
#   make quickstart   set up, run a first pipeline, train a small net on it, and serve it
#   make test         set up and run the tests
#   make nightly      the tests with every cell of the large matrices, and the long comparisons
#   make isa          the bit contracts and parity suites under every instruction set that can be chosen here
#   make names        write the public modules, their stubs and the recorded lists of names
#   make check        format, lint, types, layering
#   make audit        known vulnerabilities of what is installed (needs the network)
#   make interop      Millrace beside MindSpore 2.7.0: record files, scripts, random pipelines
#   make bench        data, cache, training and serving beside others, each in its own environment: benchmarks/RESULTS.md
#   make docs         build the documentation into site/, offline
#   make gpu          correctness on a CUDA device, with a report; without one it runs no test
#   make settings     the tests in hostile settings: random order, busy machine, no network, 1 and 16 cores ...
#   make floors       test at the oldest releases that pyproject.toml allows
#   make newest       test at the newest releases that pyproject.toml allows, in .venv-newest
#   make lock         write requirements/ from .venv-newest: what the other commands install
#   make smoke        build wheel and sdist, install each in a bare environment, run a pipeline and a typed program
#   make clean        remove everything these commands made
#
# One test:        make test ARGS="tests/contracts/architecture/test_layering.py -k random"
# A part:          make bench ARGS="--only serving"; the other tables stay. In a hurry: ARGS="--repeat 1 --minutes 30"
# Another Python:  PYTHON=/usr/bin/python3.12 make test
# Without lock:    LOCK=no make test installs the newest releases that pyproject.toml allows

PYTHON ?= $(shell command -v python3.11 || command -v python3)
VENV   ?= .venv
PEERS  ?= .peers
ARGS   ?=
# Tests run in so many processes.
JOBS   ?= 2
PIPELINES ?= 100
# Minutes of random damage to every parser.
FUZZ   ?= 10

BIN    := $(VENV)/bin
STAMPS := $(VENV)/.stamps

# The release that the benchmarks and the recorded results were made with.
MINDSPORE := mindspore==2.7.0

.DEFAULT_GOAL := help
.DELETE_ON_ERROR:
.PHONY: help quickstart test nightly check format bench docs interop clean floors newest lock smoke gpu settings audit isa names

help:
	@sed -n 's/^#   //p' Makefile

# --- set-up: each stamp is made once and again when pyproject.toml or the lock changes -------------------------

# Exact versions with hashes; open ranges, with a message, where the lock does not cover this Python or machine.
INSTALL := $(BIN)/python requirements/install.py
LOCKED  := pyproject.toml $(wildcard requirements/*)

$(BIN)/python:
	@test -n "$(PYTHON)" || { echo "No python3 found; set PYTHON to a Python >= 3.11." >&2; exit 1; }
	@"$(PYTHON)" -c 'import sys; sys.exit(sys.version_info < (3, 11))' || \
		{ echo "$(PYTHON) is older than Python 3.11; set PYTHON to a newer one." >&2; exit 1; }
	@echo "setting up $(VENV) (once) ..."
	@"$(PYTHON)" -m venv $(VENV)

$(STAMPS)/run: $(LOCKED) | $(BIN)/python
	@$(INSTALL) core
	@mkdir -p $(@D) && touch $@

$(STAMPS)/serve: $(LOCKED) | $(BIN)/python
	@test -e $(STAMPS)/dev || $(INSTALL) serve
	@mkdir -p $(@D) && touch $@ $(STAMPS)/run

$(STAMPS)/dev: $(LOCKED) | $(BIN)/python
	@$(INSTALL) dev
	@mkdir -p $(@D) && touch $@ $(STAMPS)/run

$(STAMPS)/docs: $(LOCKED) $(STAMPS)/dev
	@$(INSTALL) docs
	@mkdir -p $(@D) && touch $@

# --- commands -------------------------------------------------------------------------------------------------

# The data part comes first and needs only the core; PyTorch and the server are installed (once) when it has shown its
# results.
quickstart: $(STAMPS)/run
	@$(BIN)/millrace quickstart --folder $(VENV)/quickstart $(ARGS)
	@test -e $(STAMPS)/serve || test -e $(STAMPS)/dev || \
		printf '\ninstalling PyTorch and the server for training and serving (once) ...\n'
	@$(MAKE) -s --no-print-directory $(STAMPS)/serve
	@$(BIN)/millrace quickstart --train --folder $(VENV)/quickstart
	@$(BIN)/millrace quickstart --serve --folder $(VENV)/quickstart

test: $(STAMPS)/dev
	@$(BIN)/python -m pytest -n $(JOBS) --dist worksteal $(ARGS)

nightly: $(STAMPS)/dev
	@HYPOTHESIS_PROFILE=nightly $(BIN)/python -m pytest -n $(JOBS) --dist worksteal --nightly -o timeout=600 $(ARGS)
	@$(BIN)/python -m tests.fuzz --minutes $(FUZZ)
	@$(MAKE) interop PIPELINES=5000
	@$(MAKE) smoke
	@$(MAKE) isa ARGS=

# A part: make isa ARGS="--only OpenCV". Results only, no tests: ARGS="--results".
isa: $(STAMPS)/dev
	@$(BIN)/python -m tests.e2e.isa.run --jobs $(JOBS) $(ARGS)

# Suites that need a CUDA device: operations, layers, zoo, training, transfer. docs/gpu.md has the last result.
gpu: $(STAMPS)/dev
	@$(BIN)/python -m tests.e2e.gpu $(ARGS)

# Each setting is a whole run of the suite; ARGS="--only busy" runs one, ARGS="--list" names them.
settings: $(STAMPS)/dev
	@$(BIN)/python -m tests.e2e.settings $(ARGS)

check: $(STAMPS)/dev
	@$(BIN)/ruff format --check .
	@$(BIN)/ruff check .
	@$(BIN)/mypy
	@$(BIN)/python -m pytest -q tests/contracts/architecture/test_layering.py tests/contracts/architecture/test_untrusted_input.py

# After a change of a public name. Read the difference, then commit it.
names: $(STAMPS)/dev
	@$(BIN)/python -m tests.contracts.public_api.make_public
	@$(BIN)/python -m tests.contracts.public_api.update_names
	@$(BIN)/python -m tests.contracts.public_api.update_runtime
	@$(BIN)/python -m tests.contracts.public_api.record_surface

# Known vulnerabilities of what is installed. Not part of `check`: it needs a vulnerability service on the network. pip-audit
# has a separate environment: what it requires must not change the locked one.
AUDIT ?= .venv-audit

audit: $(STAMPS)/dev
	@test -x $(AUDIT)/bin/pip-audit || { "$(PYTHON)" -m venv $(AUDIT) && \
		$(AUDIT)/bin/python -m pip --disable-pip-version-check -qq install pip-audit; }
	@$(AUDIT)/bin/pip-audit --path "$$($(BIN)/python -c 'import sysconfig; print(sysconfig.get_path("purelib"))')" $(ARGS)

format: $(STAMPS)/dev
	@$(BIN)/ruff check --fix-only .
	@$(BIN)/ruff format .

docs: $(STAMPS)/docs
	@NO_MKDOCS_2_WARNING=1 $(BIN)/mkdocs build --strict --quiet
	@echo "site/index.html"

# Peers live outside $(VENV): what they pin must not decide what we run on. One folder each, made once and again
# when its packages here change. A peer that cannot be installed is left out of the comparison: pip's last words
# are kept in .failed, and the page says so. PyTorch's default wheel on Linux brings several gigabytes of CUDA with
# it, and torchvision's wheel fits only that one: point pip at an index of CPU wheels of both to be spared it. It is
# on disk once: WebDataset, Hugging Face datasets, torchaudio and Lightning see the packages of PyTorch's folder after
# their own. Keras comes with TensorFlow.
mindspore   := $(MINDSPORE) numpy<2 opencv-python-headless<5 pandas
torch       := torch==2.14.1 torchvision==0.29.1 pillow==13.0.0 numpy==2.4.6 opencv-python-headless==5.0.0.93
tensorflow  := tensorflow-cpu==2.21.0
grain       := grain==0.2.18 numpy==2.4.6 opencv-python-headless==5.0.0.93
dali        := nvidia-dali-cuda120==2.4.0 numpy==2.4.6
webdataset  := webdataset==1.0.2 numpy==2.4.6
huggingface := datasets==5.2.0 numpy==2.4.6
tokenizers  := tokenizers==0.23.3 numpy==2.4.6
torchaudio  := --no-deps torchaudio==2.11.0 numpy==2.4.6
lightning   := --no-deps pytorch-lightning==2.6.6 torchmetrics==1.9.0 lightning-utilities==0.15.3 tqdm==4.70.1 \
	PyYAML==6.0.3 packaging==26.3
fastapi     := fastapi==0.162.4 uvicorn==0.54.0 httptools==0.9.0 onnxruntime==1.31.1 numpy==2.4.6

PACKAGES = $(PEERS)/$(1)/bin/python -c 'import sysconfig; print(sysconfig.get_path("purelib"))'
RIVALS  := mindspore torch tensorflow grain dali webdataset huggingface tokenizers torchaudio lightning fastapi
.PHONY: peers $(RIVALS:%=peer-%)

peers: $(RIVALS:%=peer-%)

$(RIVALS:%=peer-%): peer-%:
	@test "$$(cat $(PEERS)/$*/.stamp 2>/dev/null)" = '$($*)' || { \
		echo "setting up the peer $* (once) ..."; \
		rm -rf $(PEERS)/$*; "$(PYTHON)" -m venv $(PEERS)/$*; \
		if $(PEERS)/$*/bin/python -m pip --disable-pip-version-check -qq install \
			$(foreach p,$($*),'$(p)') 2>$(PEERS)/$*/.log; \
		then echo '$($*)' >$(PEERS)/$*/.stamp; \
		else grep . $(PEERS)/$*/.log | tail -1 >$(PEERS)/$*/.failed; \
			echo "peer left out: $*: $$(cat $(PEERS)/$*/.failed)" >&2; fi; \
		case $* in webdataset|huggingface|torchaudio|lightning) \
			$(call PACKAGES,torch) >"$$($(call PACKAGES,$*))/torch.pth"; esac; }

peer-webdataset peer-huggingface peer-torchaudio peer-lightning: peer-torch

# Skipped with a word where MindSpore cannot be installed; the converters want OpenCV and pandas on its side.
interop: $(STAMPS)/dev peer-mindspore
	@if test -e $(PEERS)/mindspore/.stamp; then \
		$(BIN)/python tests/e2e/interop/mindrecord/interop.py $(PEERS)/mindspore/bin/python && \
		$(BIN)/python tests/e2e/interop/mind_dataset.py $(PEERS)/mindspore/bin/python && \
		$(BIN)/python tests/e2e/interop/checkpoints.py $(PEERS)/mindspore/bin/python && \
		$(BIN)/python tests/e2e/interop/run_scripts.py $(PEERS)/mindspore/bin/python && \
		$(BIN)/python tests/e2e/interop/random_pipelines.py $(PEERS)/mindspore/bin/python --count $(PIPELINES); \
	else echo "interop left out: $(MINDSPORE) could not be installed"; fi

bench: $(STAMPS)/dev peers
	@$(BIN)/python benchmarks/run.py --peers $(PEERS) $(ARGS)

# The oldest releases of what pyproject.toml allows, in a separate environment. PyTorch is the oldest of `train`; the oldest
# that takes batches (extra `torch`) is not tested.
FLOORS ?= .venv-floors
FLOOR_EXTRAS := parquet,crypto,audio,text,video,s3,jax,ray,onnx,serve,mnn
FLOOR_TESTS  := tests/unit/core tests/unit/data/pipeline tests/unit/data/kernels tests/unit/data/formats \
	tests/unit/data/sources tests/unit/data/engine/executors tests/unit/serve tests/unit/runtime tests/unit/transfer \
	tests/unit/train
FLOOR_TOOLS  := pytest pytest-timeout pytest-xdist hypothesis 'moto[s3,server]'

floors:
	@test -x $(FLOORS)/bin/python || "$(PYTHON)" -m venv $(FLOORS)
	@$(FLOORS)/bin/python -m pip --disable-pip-version-check -qq install -c constraints-floors.txt \
		-e '.[$(FLOOR_EXTRAS)]' $(FLOOR_TOOLS)
	@$(FLOORS)/bin/python -m pytest -q -p no:cacheprovider -n $(JOBS) --dist worksteal $(or $(ARGS),$(FLOOR_TESTS))

# The newest releases that pyproject.toml allows, in a separate environment.
NEWEST ?= .venv-newest

newest:
	@test -x $(NEWEST)/bin/python || "$(PYTHON)" -m venv $(NEWEST)
	@$(NEWEST)/bin/python -m pip --disable-pip-version-check -qq install --upgrade --upgrade-strategy eager -e '.[dev]'
	@$(NEWEST)/bin/python -m pytest -n $(JOBS) --dist worksteal $(ARGS)

# The lock takes its versions from an environment that has passed the tests.
LOCK_FROM ?= $(NEWEST)

lock:
	@test -x $(LOCK_FROM)/bin/python || \
		{ echo "make lock: no environment $(LOCK_FROM); run make newest first, or set LOCK_FROM." >&2; exit 1; }
	@$(LOCK_FROM)/bin/python requirements/update_lock.py

# Everything happens in a temporary folder; nothing of this one's environments is seen.
smoke:
	@"$(PYTHON)" tests/e2e/packaging/smoke.py

clean:
	rm -rf $(VENV) $(FLOORS) $(NEWEST) $(AUDIT) $(PEERS) site build dist .hypothesis .mypy_cache .pytest_cache .ruff_cache
	find . -name __pycache__ -type d -prune -exec rm -rf {} +
