# Everything a newcomer needs: `make demo` and `make test`. Both prepare .venv on their first run and start at once after that.
PYTHON ?= python3
BIN := .venv/bin
READY := .venv/.ready

# Bytecode is kept, whatever the surroundings say: without it every process compiles all of Weft again, and every test.
export PYTHONDONTWRITEBYTECODE :=

.PHONY: demo test mutate check audit fuzz setup lock format clean

demo: $(READY)
	$(BIN)/weft demo --out demo

# A worker a core and one more, one of them with all tests on Spark; those that take over 5 s are listed.
test: $(READY)
	$(BIN)/pytest --numprocesses auto --maxprocesses 8 --dist worksteal --durations 50 --durations-min 5

# Which small changes of the code no test notices: hours for all, and not in CI. SAMPLE="--every 30" tries one in 30.
mutate: $(READY)
	PYTHONPATH=tests $(BIN)/python -m mutation $(or $(MODULES),model wire protocol broker master node) $(SAMPLE)

check: $(READY)
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy
	$(BIN)/lint-imports --no-cache

# Known defects of what we stand on; before a release, for it asks the network. Needs pip-audit.
audit:
	pip-audit --requirement requirements.lock --require-hashes --disable-pip --progress-spinner off

# Parsers that read from sockets and disks, against bytes that nobody would send; on all cores, and not in CI.
fuzz: $(READY)
	PYTHONPATH=tests $(BIN)/python -m fuzzing $(or $(INPUTS),10000000)

setup: $(READY)

$(READY): requirements.lock pyproject.toml
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11))' \
	  || { echo "weft needs Python 3.11 or newer; name one with: make PYTHON=python3.12 $(MAKECMDGOALS)" >&2; exit 2; }
	@echo "Preparing .venv (about 1.6 GB, two or three minutes, once)..."
	@$(PYTHON) -m venv .venv
	@$(BIN)/python -m pip install --quiet --disable-pip-version-check --require-hashes --requirement requirements.lock
	@$(BIN)/python -m pip install --quiet --disable-pip-version-check --no-deps --no-build-isolation --editable .
	@$(BIN)/weft warm
	@touch $@

# Exact versions and hashes for every supported Python, without the address of any index; of them those that images
# are built of. Needs uv.
lock:
	uv pip compile --quiet --universal --python-version 3.11 --no-emit-index-url --no-annotate --no-header \
	  --generate-hashes pyproject.toml --extra connect --group dev --output-file requirements.lock
	uv pip compile --quiet --universal --python-version 3.11 --no-emit-index-url --no-annotate --no-header \
	  --generate-hashes pyproject.toml --group build --constraint requirements.lock \
	  --output-file deploy/requirements.lock

format: $(READY)
	$(BIN)/ruff check --fix .
	$(BIN)/ruff format .

clean:
	rm -rf .venv demo .mypy_cache .pytest_cache .ruff_cache .hypothesis
