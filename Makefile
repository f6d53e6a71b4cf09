.DEFAULT_GOAL := help
.PHONY: help setup up demo lint check gen test test-infra e2e chaos bench fmt clean

help: ## show this list
	@awk -F':.*## ' '/^[a-z-]+:.*## / { printf "  make %-11s %s\n", $$1, $$2 }' $(MAKEFILE_LIST)

setup: node_modules/.setup ## install packages, nats-server if it is missing, and build

node_modules/.setup: package.json package-lock.json
	npm ci
	sh deploy/install-nats.sh
	npm run -s build
	@# npm links a command only when its file is there, which it is since the build.
	@npm rebuild --silent --ignore-scripts @mesh/cli
	@touch $@

up: setup ## run the whole system on this device (Ctrl-C stops it)
	@npm run -s build
	@node services/cli/dist/main.js up

demo: setup ## show it all by itself: two devices, runs, a cancel, a drain, tasks
	@npm run -s build
	@bash deploy/demo.sh

gen: ## generate code and reference documents
	npm run -s gen

lint: setup ## generated code, types, lint, format, unused code
	npm run -s gen
	git diff --exit-code -- proto/src/gen docs/generated 'services/*/src/gen'
	npm run -s check:static

check: lint ## the same and the unit tests
	npm run -s test:unit

test: setup ## all tests: unit, with PostgreSQL and NATS, end to end
	npm test

test-infra: setup ## tests that need PostgreSQL and NATS
	npm run -s test:infra

e2e: setup ## end-to-end tests with real processes
	npm run -s build
	npm run -s test:e2e

chaos: setup ## kill, pause and cut everything for 30 rounds each and check the histories
	npm run -s build
	npm run -s chaos

bench: setup ## measure, side by side with the peers
	npm run -s build
	npm run -s bench

fmt: setup ## format
	npm run -s fmt

clean: ## remove what was built
	rm -rf node_modules coordinator/dist node-agent/dist proto/dist services/*/dist web/dist
