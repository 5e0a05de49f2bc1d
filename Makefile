PYTHON ?= python3
BIN := .venv/bin

.PHONY: install demo test lint types tests wheel bench torture clean

install: .venv/installed

.venv/installed: requirements-dev.txt pyproject.toml
	test -x $(BIN)/python || $(PYTHON) -m venv .venv
	$(BIN)/python -m pip install --quiet --disable-pip-version-check -r requirements-dev.txt
	$(BIN)/python -m pip install --quiet --disable-pip-version-check --no-deps --no-build-isolation -e .
	touch $@

demo: install
	$(BIN)/python examples/compare.py

test: lint types tests wheel

lint: install
	$(BIN)/ruff format --check .
	$(BIN)/ruff check .

types: install
	$(BIN)/mypy

# First as users run it; then with compilation off, so that the lines of kernels are counted too.
tests: install
	$(BIN)/python -m pytest -m "not slow"
	NUMBA_DISABLE_JIT=1 $(BIN)/coverage run -m pytest -q -m "not slow and not compiled"
	$(BIN)/coverage report

wheel: install
	$(BIN)/python tests/check_wheel.py

bench: install
	$(BIN)/python -m benchmarks

torture: install
	$(BIN)/python -m pytest -m slow

clean:
	rm -rf .venv dist .coverage* .pytest_cache .mypy_cache .ruff_cache .hypothesis
	find . -name __pycache__ -type d -prune -exec rm -rf {} +
