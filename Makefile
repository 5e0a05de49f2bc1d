PYTHON ?= python3
BIN := .venv/bin
export PATH := $(CURDIR)/$(BIN):$(PATH)

.PHONY: install compiler chromium postgresql prometheus caddy node typescript demo serve-demo test lint types tests coverage tests-sweeps tests-answers tests-commands tests-rest tests-compiled wheel docs peers bench bench-service operate torture sanitize clusters clean

install: compiler .venv/installed

# The core is compiled here, and again when it is imported after an edit.
CORE := $(wildcard infex/core/*.pyx infex/core/*.pxd infex/core/*.[ch]) infex/core/meson.build meson.build

.venv/installed: requirements-dev.txt pyproject.toml $(CORE)
	test -x $(BIN)/python || $(PYTHON) -m venv .venv
	$(BIN)/python -m pip install --quiet --disable-pip-version-check -r requirements-dev.txt
	$(BIN)/python -m pip install --quiet --disable-pip-version-check --no-deps --no-build-isolation -e .
	touch $@

# A C compiler and Python's headers, for the compiled core: Debian's, where they are missing and may be installed.
HEADERS = $(PYTHON) -c 'import os, sysconfig; open(os.path.join(sysconfig.get_path("include"), "Python.h"))' 2>/dev/null
compiler:
	@command -v cc >/dev/null && $(HEADERS) \
	|| (apt-get update -qq && DEBIAN_FRONTEND=noninteractive apt-get install -y -qq gcc python3-dev) \
	|| echo "*** no C compiler or no Python.h here, and they may not be installed: infex cannot be built ***" >&2

# A browser for the tests of the report: Debian's, where it is missing and may be installed.
chromium:
	@command -v chromium >/dev/null && command -v chromedriver >/dev/null \
	|| (apt-get update -qq && DEBIAN_FRONTEND=noninteractive apt-get install -y -qq chromium chromium-driver) \
	|| echo "*** no chromium here, and it may not be installed: the report's page cannot be tested ***" >&2

# A server for the tests of studies that several processes share: Debian's, where it is missing.
postgresql:
	@ls /usr/lib/postgresql/*/bin/initdb >/dev/null 2>&1 || command -v initdb >/dev/null \
	|| (apt-get update -qq && DEBIAN_FRONTEND=noninteractive apt-get install -y -qq postgresql) \
	|| echo "*** no PostgreSQL here, and it may not be installed: studies in it cannot be tested ***" >&2

# Prometheus, and its parser (promtool), by which the files in deploy/ are judged: Debian's, where it is missing.
prometheus:
	@command -v promtool >/dev/null \
	|| (apt-get update -qq && DEBIAN_FRONTEND=noninteractive apt-get install -y -qq --no-install-recommends prometheus) \
	|| echo "*** no promtool here, and it may not be installed: alarms and dashboard cannot be tested ***" >&2

# The balancer of deploy/, for a test that is slow: Debian's, where it is missing.
caddy:
	@command -v caddy >/dev/null \
	|| (apt-get update -qq && DEBIAN_FRONTEND=noninteractive apt-get install -y -qq --no-install-recommends caddy) \
	|| echo "*** no caddy here, and it may not be installed: the balancer cannot be tested ***" >&2

# What the client in TypeScript is compiled and tested with: Debian's Node, where it is missing, and the compiler it pins.
node:
	@command -v npm >/dev/null \
	|| (apt-get update -qq && DEBIAN_FRONTEND=noninteractive apt-get install -y -qq nodejs npm) \
	|| echo "*** no Node here, and it may not be installed: the client in TypeScript cannot be tested ***" >&2
	@cd clients/typescript && ([ node_modules/installed -nt package.json ] || npm install --silent --ignore-scripts) \
	&& touch node_modules/installed \
	|| echo "*** npm cannot install the compiler: the client in TypeScript cannot be tested ***" >&2

# The client in TypeScript, with the types that the service has now.
typescript: install node
	$(BIN)/python -m tests.client.typescript_types
	cd clients/typescript && node_modules/.bin/tsc --build

demo: install
	$(BIN)/infex reproduce --out reproduction

# A service with a simulated shop, at http://127.0.0.1:8321/
serve-demo: install
	$(BIN)/infex serve --demo

# Two at a time: parts of similar length, and what is short fills the gaps at the end.
PARTS := tests-rest tests-sweeps tests-commands tests-answers tests-compiled

test: install chromium postgresql prometheus node
	$(MAKE) -j2 --output-sync=target types $(PARTS) wheel lint

lint: install
	$(BIN)/ruff format --check .
	$(BIN)/ruff check .

types: install
	$(BIN)/mypy

tests: install chromium postgresql prometheus node
	$(MAKE) -j2 --output-sync=target $(PARTS)

# Which lines the tests reach, and that these are 95 of 100: it takes half as long again, so it is no part of `make test`.
# Tests that speak of compiled code, or of threads, are not counted.
coverage: install chromium postgresql prometheus node
	rm -f .coverage .coverage.*
	$(MAKE) -j2 --output-sync=target COUNTED=1 $(PARTS)
	$(BIN)/coverage combine -q
	$(BIN)/coverage report

RUNS := tests/models tests/policies tests/lab/simulation tests/lab/environments
SWEEPS := tests/lab/sweeps tests/lab/reports
ANSWERS := tests/lab/planner tests/evaluation tests/service
COMMANDS := tests/cli tests/documents tests/test_contributing.py tests/lab/theory tests/lab/verification
THREADS := tests/bandit/test_threads.py
REST := $(foreach folder,$(RUNS) $(SWEEPS) $(ANSWERS) $(COMMANDS) $(THREADS),--ignore=$(folder)) tests infex
PYTEST = $(if $(COUNTED),COVERAGE_FILE=.coverage.$@ $(BIN)/coverage run,$(BIN)/python) -m pytest -p no:cacheprovider

# Without a browser its tests are left out, as `make chromium` says, except in CI, where they fail.
MARKS = not slow$(if $(CI)$(shell command -v chromedriver),, and not browser)

tests-sweeps:
	$(PYTEST) -m "$(MARKS)" $(SWEEPS)

tests-answers:
	$(PYTEST) -m "$(MARKS)" $(ANSWERS)

tests-commands:
	$(PYTEST) -m "$(MARKS)" $(COMMANDS)

tests-rest:
	$(PYTEST) -m "$(MARKS)" $(REST)

tests-compiled:
	$(PYTEST) -m "$(MARKS)$(if $(COUNTED), and not compiled)" $(RUNS) $(if $(COUNTED),,$(THREADS))

wheel: install
	$(BIN)/python tests/check_wheel.py

# The site, at docs/_build/index.html: pages are run for their pictures, and nothing is loaded from elsewhere.
docs: install chromium
	$(BIN)/python -m sphinx -b html -W --keep-going -q docs docs/_build
	$(BIN)/python tests/documents/look_at_site.py
	@echo "docs/_build/index.html is the site"

bench: install postgresql
	OMP_NUM_THREADS=1 OPENBLAS_NUM_THREADS=1 $(BIN)/python -m benchmarks

# Durable decisions a second over HTTP, on SQLite and PostgreSQL: with nothing beside, or figures say little.
bench-service: install postgresql
	$(BIN)/python -m benchmarks.service $(SECONDS)

# Services operated under load for an hour, with kills, full disks and a crashing server; as root, which mounts disks.
MINUTES ?= 60
RATE ?= 40
operate: install postgresql
	$(BIN)/python -m benchmarks.operator_hour --minutes $(MINUTES) --rate $(RATE)

# Other libraries on the same work, in an environment of their own; writes docs/measured/peers.json and coming-from.json.
peers:
	test -x .venv-peers/bin/python || $(PYTHON) -m venv .venv-peers
	.venv-peers/bin/python -m pip install --quiet --disable-pip-version-check -r benchmarks/peers/requirements.txt
	.venv-peers/bin/python -m pip install --quiet --disable-pip-version-check --no-deps .
	OMP_NUM_THREADS=1 OPENBLAS_NUM_THREADS=1 .venv-peers/bin/python -W ignore -m benchmarks.peers

torture: install caddy
	$(BIN)/python -m pytest -m slow

# The numerical part of the suite on a core whose indices are checked, and on one with AddressSanitizer: each is built into an
# environment of its own, and tested beside a copy of the tests, where nothing else is called infex.
NUMBERS := --ignore=tests/core/test_loops.py tests/core tests/models tests/lab/simulation/test_golden_runs.py tests/bandit/test_random_lives.py
CHECKED := build/sanitize
SITE = python -c 'import sysconfig; print(sysconfig.get_path("purelib"))'
sanitize: install
	@! ls infex/core/*.so 2>/dev/null || (echo "*** these would be tested in the place of what is built here ***" >&2; false)
	rm -rf $(CHECKED) && mkdir -p $(CHECKED) && cp -r tests pyproject.toml $(CHECKED)
	$(PYTHON) -m venv $(CHECKED)/venv
	$(BIN)/$(SITE) > "$$($(CHECKED)/venv/bin/$(SITE))/shared.pth"
	$(CHECKED)/venv/bin/python -m pip install --quiet --disable-pip-version-check --no-deps --no-build-isolation \
		--force-reinstall --config-settings=setup-args=-Dboundscheck=true .
	cd $(CHECKED) && venv/bin/python -m pytest -p no:cacheprovider -q -m "not slow" $(NUMBERS)
	$(CHECKED)/venv/bin/python -m pip install --quiet --disable-pip-version-check --no-deps --no-build-isolation \
		--force-reinstall --config-settings=setup-args=-Db_sanitize=address .
	cd $(CHECKED) && ! venv/bin/python -c "import infex.core.ridge" 2>/dev/null  # without its runtime it cannot be
	cd $(CHECKED) && LD_PRELOAD=$$(cc -print-file-name=libasan.so) ASAN_OPTIONS=detect_leaks=0:allocator_may_return_null=1 \
		venv/bin/python -m pytest -p no:cacheprovider -q -m "not slow" $(NUMBERS)

# Ray and Spark weigh 800 MB and Spark needs Java: an environment of their own, only when asked for.
clusters:
	test -x .venv-clusters/bin/python || $(PYTHON) -m venv .venv-clusters
	.venv-clusters/bin/python -m pip install --quiet --disable-pip-version-check -r requirements-dev.txt \
		ray pyspark joblibspark
	.venv-clusters/bin/python -m pip install --quiet --disable-pip-version-check --no-deps .
	.venv-clusters/bin/python -m pytest tests/lab/sweeps/test_clusters.py

clean:
	rm -rf .venv .venv-clusters .venv-peers docs/_build docs/_static/pictures build dist .coverage* .pytest_cache .mypy_cache .ruff_cache .hypothesis
	rm -rf clients/typescript/node_modules clients/typescript/dist clients/typescript/test/build
	find . -name __pycache__ -type d -prune -exec rm -rf {} +
