# Thin verbs over CMake's presets; "make help" lists them. No target runs beside another: each
# drives a tool that uses all cores by itself.
.NOTPARALLEL:
.DEFAULT_GOAL := help
JOBS ?= $(shell nproc)

.PHONY: help setup build run test lint format asan tsan coverage bench clean

help: ## Show this list
	@awk -F ':.*## ' '/^[a-z]+:.*## / { printf "  make %-9s %s\n", $$1, $$2 }' Makefile

setup: ## Install the Debian packages that are missing for build, run and test
	@scripts/setup.sh build

build: setup ## Build library, tests, benchmarks and examples; programs are in build/bin
	@scripts/build.sh dev

run: build ## Watch several contenders elect a leader, and another take over
	build/bin/simba-example-demo

test: build ## Run all tests
	ctest --preset dev --parallel $(JOBS)

lint: ## Check format, clang-tidy, cppcheck and the headers
	@scripts/setup.sh build lint
	@scripts/lint.sh

format: ## Format all sources in place
	@scripts/setup.sh lint
	@scripts/format.sh

asan: setup ## Run the tests under AddressSanitizer and UndefinedBehaviorSanitizer
	@scripts/build.sh asan
	ctest --preset asan --parallel $(JOBS)

tsan: setup ## Run the tests under ThreadSanitizer
	@scripts/build.sh tsan
	@scripts/tsan.sh ctest --preset tsan --parallel $(JOBS)

coverage: ## Measure line coverage of core and engine; below 95 % fails
	@scripts/setup.sh build coverage
	@scripts/build.sh coverage
	@scripts/coverage.sh

bench: setup ## Build for release and run all benchmarks
	@scripts/build.sh release --target simba-bench
	@scripts/bench.sh

clean: ## Remove all that was built
	rm -rf build
