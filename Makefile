# The only list of commands. `make setup` may be run any number of times: it skips the steps that are done.
#
#   make setup    system packages, Python environment, agent and observer, kernel: what running labs needs
#   make demo     setup, then the first scenario
#   make dist     the wheels of a release, built twice in a root of Debian 12 and compared, with their sources: in dist/
#   make classroom  the wheels in dist/ with all that they need, as one archive that installs without a network
#   make release VERSION=x.y.z   a release of main's last commit, up to the upload: version, changelog, notes, tag, dist/
#                 (DRY_RUN=1 says what it would do)
#   make quick    the tests that need no kernel, browser or tshark, in half a minute
#   make test     setup, what only tests need (Chromium, tshark), then all tests
#   make check    formatting, lint, types, generated files (`--jobs 2`: some at once)
#   make generate write the generated files again
#   make digests  setup, then the digests that `netwarp self-test` compares with
#   make site     setup, then the documentation as a site that needs no network: site/index.html (notebooks are executed)
#   make bench    setup, then the benchmarks
#   make nightly  setup, then tests of a whole night: 200 runs with the same bytes, runs that are killed at random,
#                 every figure of every shipped scenario, and kernels that are built and bisected; continues where it
#                 stopped, part by part
#   make torture  attack netwarp for an hour and count the failures (TORTURE_MINUTES=5); continues where it stopped
#   make fuzz     fuzz the capture parser for a minute (FUZZ_SECONDS=60)
#   make kernel   the kernel alone
#   make clean    remove everything that these commands made in this directory
#
# After a change of the dependencies in pyproject.toml, write requirements.lock (what runs labs) and
# requirements-dev.lock (that, and what tests and checks need) again with the commands in their heads; the `-` is
# `echo 'maturin>=1.7,<2'`, and dist/ has netwarp's own wheels (`make dist`). requirements-site.lock is what `make site`
# installs beside it.

SHELL := /bin/bash
.SHELLFLAGS := -eu -o pipefail -c
.DELETE_ON_ERROR:
# No recipe runs make as a part of this one: cargo would look for its jobserver.
unexport MAKEFLAGS
.PHONY: setup demo dist classroom release quick test check style types generated clippy generate digests site bench nightly torture fuzz kernel clean packages test-packages \
	program-packages rust

# The distribution's Python where it can make a virtual environment: it is compiled with a profile, unlike most that
# users compile themselves, with which a command takes a quarter longer. Looked up when it is used, after `packages`.
PYTHON ?= $(shell /usr/bin/python3.11 -c 'import ensurepip' 2>/dev/null && echo /usr/bin/python3.11 \
	|| command -v python3.11 || command -v python3)
VENV := .venv
BIN := $(VENV)/bin
STAMPS := $(VENV)/.stamps
CARGO := cargo
HOST = $(shell rustc -vV | sed -n 's/^host: //p')

PACKAGES := linux-source-6.12 flex bison bc libelf-dev libssl-dev xz-utils patch gcc libc6-dev make python3-venv
TEST_PACKAGES := iproute2 iperf3 iputils-ping ethtool tcpdump kmod zsh fish tshark chromium ifstat mininet openvswitch-switch openssh-server openssh-client nginx-light openssl curl irtt flent netsniff-ng sudo \
	cgroup-tools wireguard-tools keepalived

# The crates of the workspace: `packaging` has the programs, of which the others are the libraries.
CRATES := agent capture observe packaging records
PROGRAM_INPUTS := pyproject.toml README.md Cargo.toml Cargo.lock $(CRATES:%=%/Cargo.toml) \
	packaging/netwarp.data/scripts/netwarp packaging/netwarp.data/data/share/man/man1/netwarp.1 \
	$(shell find $(CRATES:%=%/src) -type f)

# Bytecode is made once, whatever the environment says: without it each command would compile all that it imports.
setup: packages $(STAMPS)/netwarp $(STAMPS)/tools kernel
	@$(BIN)/python -m compileall -q python/netwarp

demo: setup
	$(BIN)/netwarp run bufferbloat

# Bytecode is kept, whatever the environment says: compiling the tests takes as long as running them.
quick: $(STAMPS)/dev $(STAMPS)/netwarp $(STAMPS)/tools
	env -u PYTHONDONTWRITEBYTECODE POLARS_MAX_THREADS=1 OPENBLAS_NUM_THREADS=1 $(BIN)/pytest --numprocesses 2 --dist worksteal --hypothesis-profile quick -m 'not slow' tests/unit tests/test_*.py

# A process more than CPUs: tests of runs in real time leave theirs idle.
test: setup test-packages $(STAMPS)/dev
	$(BIN)/pytest --numprocesses $$(( $$(nproc) + 1 )) --dist loadfile -m 'not nightly'
	$(CARGO) test --quiet --locked --workspace

check: style types generated clippy

style: $(STAMPS)/dev | rust
	$(BIN)/ruff check
	$(BIN)/ruff format --check
	$(BIN)/python -m tools.words
	$(CARGO) fmt --check --all

types: $(STAMPS)/dev $(STAMPS)/netwarp
	$(BIN)/mypy --strict

generated: $(STAMPS)/dev $(STAMPS)/netwarp
	PYTHONPATH=python $(BIN)/python -m tools.generate --check

clippy: packages | rust
	$(CARGO) clippy --quiet --locked --workspace --all-targets -- -D warnings

generate: $(STAMPS)/dev
	PYTHONPATH=python $(BIN)/python -m tools.generate

digests: setup
	PYTHONPATH=python $(BIN)/python -m tools.self_test

# The site's generator has an environment of its own; notebooks run with netwarp's.
site: setup $(STAMPS)/dev $(STAMPS)/site
	$(BIN)/python -m tools.site --generator $(VENV)/site/bin

bench: setup $(STAMPS)/dev
	$(BIN)/python -m bench

nightly: setup program-packages test-packages $(STAMPS)/dev $(STAMPS)/site
	$(BIN)/python -m bench.nightly

# Root, mmdebstrap and half an hour: the wheels of the last commit, in dist/.
dist: $(STAMPS)/dev
	$(BIN)/python -m tools.dist

classroom: $(STAMPS)/dev
	$(BIN)/python -m tools.dist.classroom

# No release without a validation that holds: its page stays in results/, for `--against` in the next one.
release: setup $(STAMPS)/dev
	$(BIN)/netwarp verify -o results/validation-$(VERSION)
	$(BIN)/python -m tools.release $(if $(DRY_RUN),--dry-run) $(VERSION)

# Counts, and the files of cases that failed, are in .torture; docs/torture.md. Another TORTURE_SEED, other attacks.
TORTURE_MINUTES ?= 60
TORTURE_SEED ?= 0
torture: setup $(STAMPS)/dev
	$(BIN)/python -m bench.torture --minutes $(TORTURE_MINUTES) --seed $(TORTURE_SEED)

# A corpus grows in capture/fuzz/corpus; what is worth keeping of it goes to capture/tests/corpus and is then a test.
# The stable compiler does: the fuzzer needs its coverage flags, and no sanitizer where `unsafe` is forbidden.
FUZZ_SECONDS ?= 60
fuzz:
	@$(CARGO) fuzz --version >/dev/null 2>&1 || { \
	  echo "Fuzzing needs cargo-fuzz. Install it: cargo install cargo-fuzz --locked" >&2; exit 1; }
	@mkdir -p capture/fuzz/corpus/capture
	cd capture && RUSTC_BOOTSTRAP=1 $(CARGO) fuzz run --sanitizer none capture \
	  fuzz/corpus/capture tests/captures tests/corpus -- -max_total_time=$(FUZZ_SECONDS) -max_len=65536

# The cache knows whether this very kernel has been built already.
kernel: packages $(STAMPS)/netwarp
	@$(BIN)/netwarp kernel build

clean:
	rm -rf $(VENV) .torture .nightly .site site target capture/fuzz/target capture/fuzz/corpus capture/fuzz/artifacts .mypy_cache .ruff_cache .pytest_cache .hypothesis

# What only the nightly tests use: ns-3, the source of another kernel series (docs/kernels.md has that of 7.2), containers,
# roots of distributions, packages of Debian by their table, and of PyPI in a place of their own.
program-packages: WANTED = libns3-dev linux-source-6.1 podman runc crun mmdebstrap $(shell sed -n 's/^packages = \[\(.*\)\]/\1/p' tests/nightly/programs/programs.toml | tr -d '",')
program-packages: $(VENV)/programs/bin/python

$(VENV)/programs/bin/python: tests/nightly/programs/requirements.txt | $(STAMPS)/venv
	$(PYTHON) -m venv $(VENV)/programs
	$@ -m pip install --quiet --disable-pip-version-check -r $<

# Debian's package manager is asked only for what is missing.
packages: WANTED := $(PACKAGES)
test-packages: WANTED := $(TEST_PACKAGES)
# One after the other: the package manager locks itself.
test-packages: | packages
program-packages: | test-packages
packages test-packages program-packages:
	@if ! command -v dpkg-query >/dev/null; then \
	  echo "No dpkg here: install what these Debian packages contain: $(WANTED)"; exit 0; fi; \
	missing=; for package in $(WANTED); do \
	  dpkg-query -W -f '$${db:Status-Status}' $$package 2>/dev/null | grep -qx installed || missing="$$missing $$package"; \
	done; \
	if [ -z "$$missing" ]; then exit 0; fi; \
	if [ "$$(id -u)" = 0 ]; then root=; elif command -v sudo >/dev/null; then root=sudo; else \
	  echo "These packages are missing, and there is no sudo to install them with; as root: apt-get install$$missing" >&2; \
	  exit 1; fi; \
	echo "Installing$$missing"; \
	$$root apt-get update -qq; \
	$$root env DEBIAN_FRONTEND=noninteractive apt-get install -y -qq --no-install-recommends $$missing

$(STAMPS)/venv: | packages
	@if [ -z "$(PYTHON)" ]; then echo "netwarp needs Python 3.11 or newer, and there is no python3 on PATH." >&2; exit 1; fi
	@$(PYTHON) -c 'import sys; sys.exit(None if sys.version_info >= (3, 11) else \
	  "netwarp needs Python 3.11 or newer; $(PYTHON) is " + sys.version.split()[0] + ". Try: make PYTHON=python3.11 setup")'
	$(PYTHON) -m venv $(VENV)
	@mkdir -p $(STAMPS) && touch $@

# One pip at a time: none locks the environment that it changes.
PIP_INSTALL := flock $(VENV) $(BIN)/python -m pip install --quiet --disable-pip-version-check

$(STAMPS)/python: requirements.lock $(STAMPS)/venv
	$(PIP_INSTALL) --require-hashes -r requirements.lock
	@touch $@

$(STAMPS)/dev: requirements-dev.lock $(STAMPS)/python
	$(PIP_INSTALL) --require-hashes -r requirements-dev.lock
	@touch $@

$(STAMPS)/site: requirements-site.lock $(STAMPS)/venv
	$(PYTHON) -m venv $(VENV)/site
	$(VENV)/site/bin/python -m pip install --quiet --disable-pip-version-check --require-hashes -r requirements-site.lock
	@touch $@

NEEDS_RUST = command -v $(CARGO) >/dev/null || { \
	  echo "Building the agent and the observer needs Rust (rustc and cargo, 1.90 or newer), and cargo is not on PATH. Install it with rustup." >&2; \
	  exit 1; }
rust:
	@$(NEEDS_RUST)

# The C library is in the programs: they run on every x86-64 Linux, and on other machines by `--engine ssh`.
STATIC := RUSTFLAGS='-C target-feature=+crt-static'

# Editable: Python sources are used in place; the programs are built in release mode and put beside the interpreter.
# maturin builds first, as pip would show nothing of it; what pip then asks for is built already.
$(STAMPS)/netwarp: $(PROGRAM_INPUTS) $(STAMPS)/python
	@$(NEEDS_RUST)
	@echo "Building the agent and the observer (about a minute of each CPU that the compiler can use)"
	@PATH="$(CURDIR)/$(BIN):$$PATH" $(STATIC) maturin build --release --locked --strip --target $(HOST) --out $(VENV)/wheels
	@PATH="$(CURDIR)/$(BIN):$$PATH" $(STATIC) MATURIN_PEP517_ARGS='--target $(HOST)' $(PIP_INSTALL) \
	  --no-deps --no-build-isolation --editable .
	@test -x $(BIN)/netwarp-agent && test -x $(BIN)/netwarp-observe && test -x $(BIN)/netwarp
	@touch $@

# The programs that netwarp itself runs in labs: Debian's, unpacked into a wheel. A mirror may have newer ones only.
$(STAMPS)/tools: packaging/programs.toml tools/dist/programs.py tools/dist/wheels.py $(STAMPS)/venv
	@echo "Fetching the programs that netwarp runs in labs"
	@rm -f $(VENV)/wheels/netwarp_tools-*
	@$(BIN)/python -m tools.dist.programs --or-newer --out $(VENV)/wheels
	@$(PIP_INSTALL) --no-deps --force-reinstall $(VENV)/wheels/netwarp_tools-*.whl
	@touch $@
