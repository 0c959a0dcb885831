# make demo: sets up, runs the main job on a real repository.  make test: sets up, runs every check.
# make bench: sets up, measures snapd against git; TREE=linux, a number of files or a folder; ROWS=one,diff; GROWTH=1.
PYTHON ?= python3
BIN := .venv/bin
STAMP := .venv/.installed

.PHONY: demo test bench install lint format generate dist lock clean

demo: install
	$(BIN)/python clients/python/demo.py $(if $(WORKSPACE),"$(WORKSPACE)",.)

test: install lint
	$(BIN)/python -m pytest -n 2

bench: install
	$(BIN)/python -m benchmarks $(if $(TREE),--tree "$(TREE)") $(if $(ROWS),--rows "$(ROWS)") $(if $(GROWTH),--growth) \
		$(if $(SIZES),--sizes "$(SIZES)") $(if $(REPETITIONS),--repetitions "$(REPETITIONS)") $(if $(OUTPUT),--output "$(OUTPUT)")

install: $(STAMP)

$(STAMP): requirements.lock pyproject.toml
	$(PYTHON) -m venv .venv
	$(BIN)/python -m pip install --quiet --disable-pip-version-check --require-hashes -r requirements.lock
	$(BIN)/python -m pip install --quiet --disable-pip-version-check --no-deps --no-build-isolation -e .
	touch $(STAMP)

lint: install
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy
	$(BIN)/python -m snapd.wire --check

format: install
	$(BIN)/ruff check --fix .
	$(BIN)/ruff format .

generate: install
	$(BIN)/python -m snapd.wire

dist: install
	$(BIN)/python -m build --no-isolation --outdir dist .

# needs uv; run it when dependencies change
lock:
	uv pip compile pyproject.toml --universal --python-version 3.10 --extra dev --generate-hashes --no-emit-index-url --no-header -o requirements.lock

clean:
	rm -rf .venv dist
