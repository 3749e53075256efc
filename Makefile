# SPDX-License-Identifier: MIT
#
# The front door: "make demo" shows what it does, "make check" that it works, "make help"
# the rest. The build itself is meson's; every target is one or two of its commands, and
# each kind of build has a folder of its own, so that none disturbs another.
#
#   MESON_FLAGS     more flags for every meson setup, e.g. -Dprefix=/usr
#   COMPILE_FLAGS   and for every meson compile
#   FUZZ_SECONDS    how long each fuzz target runs
MESON_FLAGS ?=
COMPILE_FLAGS ?=
FUZZ_SECONDS ?= 30

comma := ,
FORMAT != command -v clang-format-14 || echo clang-format
C_FILES = find src include sim bench tests -name '*.[ch]'
TRACE = traces/demo.squid.log

# $(call setup,FOLDER,FLAGS,COMPILER,TARGET): configured once, compiled always.
setup = { test -f $(1)/build.ninja || $(3) meson setup $(1) $(2) $(MESON_FLAGS); } && \
	meson compile -C $(1) $(COMPILE_FLAGS) $(4)
CLANG = CC=clang CXX=clang++
# Tests on: a build that could not test must say so, not pass.
TESTED = -Dtests=enabled -Dsim=enabled
DEBUG = $(TESTED) -Dbuildtype=debugoptimized
# meson's b_lundef and clang's sanitizers exclude each other.
SANITIZE = $(DEBUG) -Db_lundef=false -Db_sanitize

TEST = meson test --print-errorlogs
SLOW_TEST = $(TEST) --timeout-multiplier 5
# Where a test takes steps by the thousand: "make check" takes them all.
FEWER_STEPS = LOCUS_STEPS=2000

export ASAN_OPTIONS ?= halt_on_error=1:detect_leaks=1
export UBSAN_OPTIONS ?= halt_on_error=1:print_stacktrace=1
export TSAN_OPTIONS ?= halt_on_error=1:second_deadlock_stack=1

.PHONY: help deps build demo check slow bench install asan tsan valgrind clang minimal fuzz \
	format format-check tidy dist clean
.DEFAULT_GOAL := help

help: ## this list
	@awk -F ':.*## ' '/^[a-z-]+:.*## / { printf "  make %-14s %s\n", $$1, $$2 }' Makefile

deps: ## install the Debian packages that are missing
	@.ci/deps

build: ## compile into build/
	@$(call setup,build,$(TESTED) -Dbuildtype=release)

demo: deps build ## replay a bundled proxy log under four policies, side by side
	build/sim/locus replay --servers 4 --policy wlc,lblc,lblcr,dh $(TRACE)

check: deps build ## build and run the tests
	$(TEST) -C build

slow: build ## the long tests alone
	$(TEST) -C build --suite slow

bench: build ## the table of docs/speed.md, then all measurements
	build/bench/locus-bench lblc wlc --markdown
	$(TEST) -C build --benchmark --verbose --num-processes 1

install: build ## install under the prefix of build/ (DESTDIR is honoured)
	meson install -C build

asan: ## all tests under address and undefined-behaviour sanitizers
	@$(call setup,build-asan,$(SANITIZE)=address$(comma)undefined)
	$(FEWER_STEPS) $(SLOW_TEST) -C build-asan

tsan: ## the tests with threads under the thread sanitizer
	@$(call setup,build-tsan,$(SANITIZE)=thread)
	$(SLOW_TEST) -C build-tsan --suite shared --suite threads

valgrind: ## the unit tests of the libraries, and the pool's on real servers, under valgrind
	@$(call setup,build-valgrind,$(DEBUG))
	$(TEST) -C build-valgrind --setup valgrind --suite unit --suite server --no-suite model --no-suite sim

clang: ## all tests, built by clang
	@$(call setup,build-clang,$(TESTED) -Dbuildtype=release,$(CLANG))
	$(FEWER_STEPS) $(TEST) -C build-clang

minimal: ## all tests, built without Redis and pcap
	@$(call setup,build-minimal,$(TESTED) -Dbuildtype=release -Dredis=disabled -Dpcap=disabled)
	$(FEWER_STEPS) $(TEST) -C build-minimal

fuzz: ## every fuzz target for FUZZ_SECONDS, from the committed corpus
	@$(call setup,build-fuzz,$(SANITIZE)=address$(comma)undefined -Dfuzzing=true,$(CLANG),fuzzers)
	@.ci/fuzz build-fuzz $(FUZZ_SECONDS)

format: ## put every C file into the project's format
	$(C_FILES) | xargs $(FORMAT) -i

format-check: ## fail where that would change something
	$(C_FILES) | xargs $(FORMAT) --dry-run --Werror -ferror-limit=1

tidy: ## clang-tidy over the libraries
	@$(call setup,build-clang,$(TESTED) -Dbuildtype=release,$(CLANG))
	find src -name '*.c' | xargs -P 2 -n 4 clang-tidy -quiet -p build-clang

dist: build ## a tested release archive in build/meson-dist
	meson dist -C build

clean: ## remove every build folder
	rm -rf build build-*
