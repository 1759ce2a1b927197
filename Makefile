# Two targets carry the project: `make run` and `make test`. `make help` lists all.
SHELL := /bin/bash
.DEFAULT_GOAL := help
GO ?= go
LINT := github.com/golangci/golangci-lint/v2/cmd/golangci-lint@v2.15.0
VERSION ?= $(shell git describe --tags --always --dirty 2>/dev/null || echo unknown)
# One package at a time: the races want the processors to themselves.
TEST_FLAGS ?= -race -count=1 -p 1 -timeout 30m
PACKAGES ?= ./...
FAULT_FLAGS ?= -race -count=1 -p 1 -v -timeout 90m
FUZZ_TIME ?= 30s
REPORT := out/engines

.PHONY: help
help: ## this list
	@awk -F ':.*## ' '/^[a-z-]+:.*## / {printf "  make %-12s %s\n", $$1, $$2}' $(MAKEFILE_LIST)

.PHONY: build
build: ## build ./slotkeeper
	$(GO) build -trimpath -ldflags "-X main.version=$(VERSION)" -o slotkeeper .

.PHONY: run
run: build ## build, and serve on 127.0.0.1:8080 with the file slotkeeper.db
	./slotkeeper serve

.PHONY: test
test: tools ## install what the tests lack, then run all of them with the race detector
	@rm -rf $(REPORT); mkdir -p $(REPORT)
	@SLOTKEEPER_TEST_REPORT=$(CURDIR)/$(REPORT) $(GO) test $(TEST_FLAGS) $(PACKAGES); status=$$?; \
	$(GO) run ./tests/engines/report $(REPORT); exit $$status

.PHONY: test-faults
test-faults: tools ## the faults of tests/faults at full length, with their figures
	@rm -rf $(REPORT); mkdir -p $(REPORT)
	@SLOTKEEPER_TEST_FAULTS=long SLOTKEEPER_TEST_REPORT=$(CURDIR)/$(REPORT) $(GO) test $(FAULT_FLAGS) ./tests/faults/...; status=$$?; \
	$(GO) run ./tests/engines/report $(REPORT); exit $$status
	@$(MAKE) --no-print-directory fuzz

.PHONY: fuzz
fuzz: ## each fuzz target for FUZZ_TIME (30s); what one finds it keeps in its testdata/fuzz
	@for file in $$(find . -name fuzz_test.go | sort); do \
		package=$$(dirname $$file); \
		for target in $$($(GO) test -list '^Fuzz' $$package | grep '^Fuzz'); do \
			echo "fuzz $$package $$target"; \
			$(GO) test -run '^$$' -fuzz "^$$target\$$" -fuzztime $(FUZZ_TIME) $$package || exit 1; \
		done; \
	done

.PHONY: tools
tools: ## see that the tests' tools are here: a C compiler and Postgres
	@bash tests/engines/tools.sh

.PHONY: lint
lint: ## gofmt, vet and golangci-lint with .golangci.yaml
	@test -z "$$(gofmt -l $$(git ls-files '*.go'))" || { gofmt -l $$(git ls-files '*.go'); echo "run gofmt -w on these files"; exit 1; }
	$(GO) vet ./...
	$(GO) run $(LINT) run --allow-parallel-runners ./...

.PHONY: bench
bench: ## measure against pgbench and a plain handler; writes docs/benchmarks.md
	$(GO) run ./tests/bench

.PHONY: clean
clean: ## remove what the targets above made
	rm -rf slotkeeper out
