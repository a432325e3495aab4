# Thin on purpose: what needs more than a line is in tests/bootstrap.sh, tests/demo or `cargo xtask`.

SHELL := /bin/bash
export PATH := $(CURDIR)/.venv/bin:$(HOME)/.cargo/bin:$(PATH)

.PHONY: help build demo demo-down test lint docs dist

help:  ## show this list
	@grep -E '^[a-z-]+:.*##' $(MAKEFILE_LIST) | sed -E 's/:.*## /\t/' | expand -t 12

build: ## build the static binaries and put them where Ansible finds them
	@tests/bootstrap.sh build
	@cargo xtask install

demo: ## start the lab and run the main job, step by step
	@tests/bootstrap.sh all
	@cargo xtask install
	@tests/demo up

demo-down: ## remove every trace of the demo
	@tests/demo down

test: ## run every test; the last line is "N passed, N failed"
	@tests/bootstrap.sh all
	@cargo xtask ci

lint: ## formatting, clippy, yamllint and ansible-lint only
	@tests/bootstrap.sh all
	@cargo fmt --check
	@cargo clippy --workspace --all-targets -- -D warnings
	@yamllint --strict .
	@ansible-lint --offline

docs: ## regenerate sidecars and the tables in the documentation
	@tests/bootstrap.sh build
	@cargo xtask docs

dist: ## make the collection's tarball, target/dist/ferrite-pve-VERSION.tar.gz
	@tests/bootstrap.sh all
	@cargo xtask dist
