# Every target works on a fresh machine with Python 3.11+, make, and network to PyPI.
PYTHON ?= python3
BIN := .venv/bin
INSTALLED := .venv/.installed
MODEL := .venv/.model

.PHONY: demo test test-fast test-long check format bench clean model

demo: $(MODEL)
	$(BIN)/python docs/examples/newsroom.py

test: $(MODEL)
	$(BIN)/coverage erase
	$(BIN)/coverage run -m pytest -q -n auto -m "not long"
	$(BIN)/coverage combine -q
	$(BIN)/coverage report --fail-under=95

# Without the real model: what you run after each edit.
test-fast: $(INSTALLED)
	$(BIN)/python -m pytest -q -n auto -m "not long and not model"

test-long: $(MODEL)
	$(BIN)/python -m pytest -q -m long -o faulthandler_timeout=900

check: $(INSTALLED)
	$(BIN)/ruff format --check .
	$(BIN)/ruff check .
	$(BIN)/lint-imports --no-logo
	$(BIN)/flake8-async --enable=ASYNC1,ASYNC910,ASYNC911 $$(git ls-files 'actors/*.py' 'protocols/*.py' 'docs/examples/*.py')
	$(BIN)/mypy
	$(BIN)/deptry actors protocols
	$(BIN)/towncrier build --draft --version check >/dev/null

format: $(INSTALLED)
	$(BIN)/ruff format .
	$(BIN)/ruff check --fix .

bench: $(INSTALLED)
	$(BIN)/python -m bench

model: $(MODEL)

$(INSTALLED): pyproject.toml
	test -x $(BIN)/python || $(PYTHON) -m venv .venv
	$(BIN)/python -m pip install --quiet --disable-pip-version-check -e '.[dev,local,postgres]'
	touch $@

$(MODEL): $(INSTALLED)
	$(BIN)/actors model fetch
	touch $@

clean:
	rm -rf .venv .coverage .mypy_cache .ruff_cache .pytest_cache .hypothesis
