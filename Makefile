# Thin verbs over CMake's presets; "make help" lists them. No target runs beside another: each
# drives a tool that uses all cores by itself.
.NOTPARALLEL:
.DEFAULT_GOAL := help
# Most tests wait more than they compute; those that compute say so (PROCESSORS, nice).
TEST_JOBS ?= $(shell expr 4 \* $$(nproc))
# What the sanitizers run; SANITIZED= runs all. It computes more.
SANITIZED_JOBS ?= $(shell expr 3 \* $$(nproc))
SANITIZED ?= -L 'unit|contract|sim|chaos'

.PHONY: help setup servers build run test check lint format asan tsan coverage fuzz sim chaos soak \
  reliability bench compat interop matrix platforms clean

help: ## Show this list
	@awk -F ':.*## ' '/^[a-z]+:.*## / { printf "  make %-11s %s\n", $$1, $$2 }' Makefile

setup: ## Install the Debian packages that are missing for build and run
	@scripts/setup.sh build

servers: ## Install the servers that tests and benchmarks start
	@scripts/setup.sh build servers
	@scripts/fetch-prometheus.sh

build: setup ## Build library, tests and examples; programs are in build/bin
	@scripts/build.sh dev

run: setup ## Watch several processes elect a leader, and another take over
	@scripts/build.sh dev --target simba-command
	build/bin/simba demo

test: servers build ## Run all tests, among them 1,000 hours of simulation
	@scripts/test.sh --preset dev --parallel $(TEST_JOBS)

check: setup ## Before each commit: unit tests, contract on memory and SQLite, quick lint
	@scripts/build.sh dev --target simba-unit-tests --target simba-contract-tests
	@scripts/test.sh --preset dev --parallel $(TEST_JOBS) -L '^(unit|check)$$'
	@scripts/setup.sh lint
	@scripts/lint.sh words includes changed

lint: ## Check words, format, clang-tidy, cppcheck and the headers
	@scripts/setup.sh build lint
	@scripts/lint.sh

format: ## Format all sources in place
	@scripts/setup.sh lint
	@scripts/format.sh

asan: servers ## Run unit, contract, sim and chaos tests under AddressSanitizer and UBSan
	@scripts/build.sh asan
	@scripts/test.sh --preset asan --parallel $(SANITIZED_JOBS) $(SANITIZED)

tsan: servers ## Run unit, contract, sim and chaos tests under ThreadSanitizer
	@scripts/build.sh tsan
	@scripts/tsan.sh scripts/test.sh --preset tsan --parallel $(SANITIZED_JOBS) $(SANITIZED)

coverage: ## Measure line coverage of core and engine; below 95 % fails
	@scripts/setup.sh build servers coverage
	@scripts/build.sh coverage
	@scripts/coverage.sh

fuzz: ## Run each fuzz target for 5 minutes, or FUZZ_SECONDS; a find fails
	@scripts/setup.sh build fuzz
	@scripts/reliability.sh fuzz

sim: setup ## Simulate contention with faults, for 1,000 hours or HOURS
	@scripts/build.sh dev --target simba-sim
	build/bin/simba-sim --hours $(or $(HOURS),1000)

chaos: servers ## Break real servers, networks and processes for 10 minutes a store
	@scripts/build.sh dev --target simba-chaos --target simba-test-server
	@scripts/reliability.sh chaos

soak: servers ## 2,000 mutexes, 20 processes, 10 minutes on Redis and MariaDB
	@scripts/build.sh dev --target simba-soak --target simba-test-server
	@scripts/reliability.sh soak

reliability: servers build ## Run sim to fuzz, asan and tsan; write docs/reliability.md (2 hours)
	@scripts/setup.sh fuzz
	@scripts/reliability.sh simulation mutations chaos soak fuzz sanitizers write

bench: servers ## Build for release and run all benchmarks
	@scripts/build.sh release --target simba-bench
	@scripts/bench.sh

compat: servers build ## Fetch MySQL 5.7 and 9.7, where that can be done, and run the tests on them
	@scripts/fetch-mysql.sh
	@scripts/fetch-server.sh sid/mysql
	@scripts/test.sh --preset dev --parallel $(TEST_JOBS) -R 'MySql57|MySql97'

interop: servers ## Share mutexes with the JVM library, Curator and kazoo, as far as they can be had
	@scripts/build.sh dev --target simba-interop-contender --target simba-test-server
	@scripts/interop.sh

matrix: servers build ## Contract, tests and chaos on servers of several releases, or of ROWS (hours)
	@scripts/matrix.sh $(ROWS)

platforms: ## Run "make run" and "make test" on bare Debian 12 and 13, and print a table (hours)
	@scripts/platforms.sh

clean: ## Remove all that was built
	rm -rf build
