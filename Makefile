# make demo: sets up, runs the main job on a real repository.  make test: sets up, runs every check.
# make test-long: sets up, runs what takes longest, and has the random tests try more than `make test` has time for.
# make test-python, make test-long-python: the tests in Python of both; PART=2/3 runs the second of three equal parts.
# make durations: records how long the tests take, by which the parts are equal.
# make vsix: builds the VS Code extension.  make page: builds the page of `snapd web`.
# make e2e: drives every editor: make e2e-vscode in a real VS Code (ONLY=scenario, SHOTS=folder, PUBLISH=1), make e2e-web in a
#   real browser (ONLY=scenario, PUBLISH=1), make e2e-neovim in a real Neovim (TESTS_NEOVIM=program).
# make docs: the documentation as a site, into build/docs; a dead link, or anything else to warn of, is an error.
# make bench: sets up, measures snapd against git; TREE=linux, a number of files or a folder; ROWS=one,diff; GROWTH=files.
# make bench-guard: sets up, counts the work of each row and compares it with what is committed; ACCEPT=1 writes it down.
# make scale: sets up, measures a git host with many sessions; REFERENCES=10000,100000, FETCHED=10000, OUTPUT=FILE.
# make sweep: everything goes wrong at every step; PARTS="points second strace full power", SEED=n, ONLY=undo@journal, MOST=n.
# make fuzz: random and mutated input; SECONDS=n (180).
# make soak: agents, editors, a user, maintenance and kills on one daemon, and whole histories taken back in any order, all of
#   it checked; MINUTES=n (10), SEED=n.
# make agents: real agents, installed once, at work for a scripted model; ONLY="claude day" (agents, scenarios), AGENTS=folder.
# make yardstick: other products' undo and snapd's in the same scenarios, into a table; ONLY="scenarios", PRODUCT="names",
#   OUTPUT=folder (build/yardstick), KEEP=folder for what went wrong, SAME_AS=results.json of another run, JOBS=n, AGENTS=folder.
PYTHON ?= python3
BIN := .venv/bin
STAMP := .venv/.installed
COMPILED := .venv/.compiled
CLIENT := clients/typescript
EXTENSION := vscode-extension
WEB := clients/web
IN_CLIENT := cd $(CLIENT) && ../../scripts/with-node
IN_EXTENSION := cd $(EXTENSION) && ../scripts/with-node
IN_WEB := cd $(WEB) && ../../scripts/with-node
NPM_CI := npm ci --no-fund --no-audit --loglevel=error
VERSION := $(shell sed -n 's/^version = "\(.*\)"$$/\1/p' pyproject.toml)
MACHINE := $(shell uname -m)
EXECUTABLE := dist/snapd-$(VERSION)-linux-$(MACHINE)
# how VS Code calls the machine
TARGET := linux-$(patsubst aarch64,arm64,$(patsubst x86_64,x64,$(MACHINE)))
VSIX := dist/snapd-$(VERSION)-$(TARGET).vsix
PAGE := snapd/web/page/index.html
SHOTS ?= $(EXTENSION)/build/e2e
# what `make test-python` leaves out (pyproject.toml has the marks)
FAST := not slow and not neovim and not release
# of make test-python, make test-long-python
SPLIT = $(if $(PART),--part $(PART)) $(if $(RECORD),--record-durations)

# where it is set, each of the two thousand processes that the tests start would compile snapd anew
unexport PYTHONDONTWRITEBYTECODE

.PHONY: demo demo-machines test test-long test-python test-long-python test-typescript test-long-typescript durations sweep fuzz soak agents yardstick bench bench-guard scale install lint lint-python lint-typescript format generate dist docs executable release release-check lock clean node page vsix e2e e2e-vscode e2e-web e2e-neovim

demo-machines: install
	$(BIN)/python clients/python/demo_machines.py

demo: install page
	$(BIN)/python clients/python/demo.py $(if $(WORKSPACE),"$(WORKSPACE)",.)

# three at a time, in this order: the tests now and then wait for daemons, those in TypeScript mostly
test: install node
	+$(MAKE) --no-print-directory --jobs 3 lint-typescript test-python lint-python bench-guard test-typescript

# five for two cores: each now and then waits for a daemon
test-python: $(COMPILED)
	$(BIN)/python -m pytest -n 5 --dist worksteal -m "$(FAST)" $(SPLIT)

test-long: test-long-typescript test-long-python

test-long-typescript: install node
	$(IN_CLIENT) ../../scripts/quietly npm test

test-long-python: $(COMPILED) node
	TESTS_LONG=1 $(BIN)/python -m pytest -n 2 --dist worksteal -m "slow or thorough" $(SPLIT)

# how long each module of tests takes, into tests/durations.json: on a machine that does nothing else
durations:
	$(MAKE) test-python RECORD=1
	$(MAKE) test-long-python RECORD=1

# the client in TypeScript is tried against many daemons: in test-long
test-typescript: install node
	$(IN_EXTENSION) ../scripts/quietly npm test
	$(IN_WEB) ../../scripts/quietly npm test

# atheris has wheels for some Pythons on Linux alone; without it, hypothesis does what it can
fuzz: install
	-$(BIN)/python -m pip install --quiet --disable-pip-version-check --require-hashes -r tests/fuzz/requirements.lock
	$(BIN)/python -m tests.fuzz --seconds $(or $(SECONDS),180)

bench: install
	$(BIN)/python -m benchmarks $(if $(TREE),--tree "$(TREE)") $(if $(ROWS),--rows "$(ROWS)") $(if $(GROWTH),--growth $(subst 1,files,$(GROWTH))) \
		$(if $(SIZES),--sizes "$(SIZES)") $(if $(REPETITIONS),--repetitions "$(REPETITIONS)") $(if $(OUTPUT),--output "$(OUTPUT)")

bench-guard: install
	$(BIN)/python -m benchmarks.guard $(if $(ACCEPT),--accept)

scale: install
	$(BIN)/python -m benchmarks.scale $(if $(REFERENCES),--references "$(REFERENCES)") $(if $(FETCHED),--fetched "$(FETCHED)") \
		$(if $(OUTPUT),--output "$(OUTPUT)")

sweep: install
	$(BIN)/python -m tests.faults $(PARTS) $(if $(SEED),--seed $(SEED)) $(if $(ONLY),--only "$(ONLY)") $(if $(MOST),--most $(MOST))

soak: install
	$(BIN)/python -m tests.soak --minutes $(or $(MINUTES),10) $(if $(SEED),--seed $(SEED))

agents: install
	scripts/with-node $(BIN)/python -m tests.real_agents $(ONLY) $(if $(AGENTS),--cache "$(AGENTS)")

yardstick: install
	scripts/with-node $(BIN)/python -m tests.yardstick $(if $(ONLY),--only $(ONLY)) $(if $(PRODUCT),--product $(PRODUCT)) \
		$(if $(OUTPUT),--output "$(OUTPUT)") $(if $(KEEP),--keep "$(KEEP)") $(if $(SAME_AS),--same-as "$(SAME_AS)") \
		$(if $(JOBS),--jobs $(JOBS)) $(if $(AGENTS),--cache "$(AGENTS)")

install: $(STAMP)

$(STAMP): requirements.lock pyproject.toml
	$(PYTHON) -m venv .venv
	$(BIN)/python -m pip install --quiet --disable-pip-version-check --require-hashes -r requirements.lock
	$(BIN)/python -m pip install --quiet --disable-pip-version-check --no-deps --no-build-isolation -e .
	touch $(STAMP)

# pytest compiles each test on its first way: once, rather than in all that run tests
$(COMPILED): $(STAMP)
	$(BIN)/python -m pytest --collect-only > /dev/null
	touch $@

node: $(CLIENT)/dist/.built $(EXTENSION)/node_modules/.installed $(WEB)/node_modules/.installed

$(CLIENT)/node_modules/.installed: $(STAMP) $(CLIENT)/package-lock.json
	$(IN_CLIENT) $(NPM_CI)
	touch $@

$(CLIENT)/dist/.built: $(CLIENT)/node_modules/.installed $(wildcard $(CLIENT)/src/*.ts)
	$(IN_CLIENT) npm run --silent build
	touch $@

$(EXTENSION)/node_modules/.installed: $(STAMP) $(EXTENSION)/package-lock.json
	$(IN_EXTENSION) $(NPM_CI)
	touch $@

$(WEB)/node_modules/.installed: $(STAMP) $(WEB)/package-lock.json
	$(IN_WEB) $(NPM_CI)
	touch $@

# the page of `snapd web`, which is in no commit
page: $(PAGE)

$(PAGE): $(CLIENT)/dist/.built $(WEB)/node_modules/.installed $(shell find $(WEB)/src $(WEB)/static $(WEB)/scripts -type f)
	$(IN_WEB) npm run --silent build
	touch $@

# the extension with the executable inside, so that nothing else has to be installed
vsix: executable node
	rm -rf $(EXTENSION)/bundled
	install -D $(EXECUTABLE) $(EXTENSION)/bundled/snapd-linux
	$(IN_EXTENSION) npm run --silent package -- --target $(TARGET) --out ../$(VSIX)

$(EXTENSION)/e2e/node_modules/.installed: $(STAMP) $(EXTENSION)/e2e/package-lock.json
	cd $(EXTENSION)/e2e && ../../scripts/with-node $(NPM_CI)
	touch $@

e2e: e2e-vscode e2e-web e2e-neovim

e2e-vscode: vsix $(EXTENSION)/e2e/node_modules/.installed
	cd $(EXTENSION)/e2e && ../../scripts/with-node npm run --silent check
	scripts/with-node node $(EXTENSION)/e2e/run.mjs --vsix $(VSIX) --shots $(SHOTS) \
		$(foreach name,$(ONLY),--only $(name)) $(if $(PUBLISH),--publish)

e2e-neovim: install
	$(BIN)/python -m pytest -n 2 -m neovim tests/neovim

e2e-web: install page
	scripts/with-node node $(WEB)/e2e/run.mjs --shots $(WEB)/build/e2e $(foreach name,$(ONLY),--only $(name)) $(if $(PUBLISH),--publish)

lint: lint-python lint-typescript

lint-python: install
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy
	$(BIN)/lint-imports > /dev/null || $(BIN)/lint-imports
	$(BIN)/python -m scripts.generate --check
	$(BIN)/python scripts/metadata.py --check

lint-typescript: install node
	$(IN_CLIENT) npm run --silent lint
	$(IN_EXTENSION) npm run --silent lint
	$(IN_WEB) npm run --silent lint

format: install node
	$(BIN)/ruff check --fix .
	$(BIN)/ruff format .
	$(IN_CLIENT) npx prettier --config .prettierrc.json --write --log-level warn . ../conformance
	$(IN_EXTENSION) npx prettier --write --log-level warn .
	$(IN_WEB) npx prettier --write --log-level warn .

generate: install
	$(BIN)/python -m scripts.generate
	$(BIN)/python scripts/metadata.py

# each page is read again, since a page that did not change warns of nothing
docs: install
	$(BIN)/python -m pip install --quiet --disable-pip-version-check --require-hashes -r docs/requirements.lock
	$(BIN)/sphinx-build --quiet --fail-on-warning --keep-going --fresh-env --write-all --conf-dir docs --doctree-dir build/doctrees . build/docs
	@echo "build/docs/index.html"

dist: install page
	rm -rf dist
	$(BIN)/python -m build --no-isolation --outdir dist .

# one file for Linux that needs no Python
executable: dist
	$(BIN)/python scripts/executable.py dist/*.whl dist

# what others install: the wheel, for Linux one file that needs no Python, the extension for VS Code, the packages for npm, the dev
# container feature
release: vsix
	for folder in $(CLIENT) clients/opencode; do \
		cp LICENSE $$folder && scripts/with-node npm pack --silent --pack-destination dist ./$$folder || exit 1; done
	scripts/feature $(EXECUTABLE) dist/snapd-*.whl dist

# the tools that it needs beside those of the other tests
release-check: release $(EXTENSION)/e2e/node_modules/.installed
	$(BIN)/python -m pip install --quiet --disable-pip-version-check --require-hashes -r tests/release/requirements.lock
	cd tests/release/node && ../../../scripts/with-node $(NPM_CI)
	$(BIN)/python -m pytest -n 2 --dist loadfile -m release tests/release

# needs uv; run it when dependencies change
lock: LOCKED := --universal --python-version 3.11 --generate-hashes --no-emit-index-url --no-header
lock:
	uv pip compile pyproject.toml --extra dev $(LOCKED) -o requirements.lock
	uv pip compile --group docs -c requirements.lock --no-annotate $(LOCKED) -o docs/requirements.lock
	uv pip compile --group release -c requirements.lock --no-annotate $(LOCKED) -o tests/release/requirements.lock

clean:
	rm -rf .venv build dist $(CLIENT)/node_modules $(CLIENT)/dist $(EXTENSION)/node_modules $(EXTENSION)/dist $(EXTENSION)/bundled $(EXTENSION)/build \
		$(WEB)/node_modules $(WEB)/build snapd/web/page tests/release/node/node_modules
