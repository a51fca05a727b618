# Two commands: `make demo` runs the main job, `make test` everything that CI runs. Both set up all they need.
PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
SOURCES := $(shell find src -type f -not -name '*.pyc') pyproject.toml meson.build

.PHONY: demo test lint types imports pytest docs bench paper clean

demo: $(VENV)/.installed
	@$(BIN)/brolly demo build/demo

test: lint types imports docs pytest

lint: $(VENV)/.tested
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .

types: $(VENV)/.tested
	$(BIN)/mypy

imports: $(VENV)/.tested
	$(BIN)/lint-imports

pytest: $(VENV)/.tested $(VENV)/.system
	$(BIN)/python -m pytest --numprocesses=auto --dist=loadfile --cov --cov-report=
	$(BIN)/coverage report --fail-under=95
	$(BIN)/coverage report --fail-under=100 --include='*/brolly/core/*,*/brolly/measures/*'

# The site: every warning is an error.
docs: $(VENV)/.tested
	NO_MKDOCS_2_WARNING=1 $(BIN)/mkdocs build --quiet --strict

bench: $(VENV)/.benched
	$(BIN)/python -m benchmarks

# Every table, figure and statement of the paper; stopped, it goes on where it was.
paper: $(VENV)/.papered
	$(BIN)/brolly paper -o build/paper

# One stamp per set of packages; each is made anew when the sources change.
$(VENV)/.installed: $(SOURCES)
	@$(MAKE) --no-print-directory $(VENV)/.made
	$(BIN)/python -m pip install --quiet '.[files]'
	@touch $@

$(VENV)/.tested: $(SOURCES)
	@$(MAKE) --no-print-directory $(VENV)/.made
	$(BIN)/python -m pip install --quiet '.[test]'
	@touch $@ $(VENV)/.installed

$(VENV)/.benched: $(VENV)/.tested benchmarks/requirements.txt
	$(BIN)/python -m pip install --quiet -r benchmarks/requirements.txt
	@touch $@

# What the tests run beside Python packages: PostgreSQL's server, Java (for Spark) and a browser (for the report).
$(VENV)/.system:
	@$(MAKE) --no-print-directory $(VENV)/.made
	@packages=; command -v java >/dev/null || packages="default-jre-headless"; \
	command -v initdb >/dev/null || ls /usr/lib/postgresql/*/bin/initdb >/dev/null 2>&1 || packages="$$packages postgresql"; \
	command -v chromium >/dev/null && command -v chromedriver >/dev/null || \
		packages="$$packages chromium chromium-driver fonts-dejavu-core"; \
	if [ -n "$$packages" ]; then \
		if [ "$$(id -u)" = 0 ]; then as_root=; elif sudo -n true 2>/dev/null; then as_root=sudo; else as_root=no; fi; \
		if [ "$$as_root" = no ] || ! command -v apt-get >/dev/null; then \
			echo "the tests run real engines and a browser; install these first (names as in Debian):" $$packages >&2; exit 1; fi; \
		$$as_root apt-get update -qq && \
		$$as_root env DEBIAN_FRONTEND=noninteractive apt-get install -y -qq --no-install-recommends $$packages >/dev/null; \
	fi
	@touch $@

$(VENV)/.papered: $(SOURCES)
	@$(MAKE) --no-print-directory $(VENV)/.made
	$(BIN)/python -m pip install --quiet '.[paper]'
	@touch $@ $(VENV)/.installed

$(VENV)/.made:
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11))' || \
		{ echo "brolly needs Python 3.11 or newer: run make PYTHON=/path/to/python3.11" >&2; exit 1; }
	@command -v $${CC:-cc} >/dev/null || command -v gcc >/dev/null || command -v clang >/dev/null || \
		{ echo "brolly compiles a few kernels and found no C compiler: install gcc or clang (Debian: apt install gcc python3-dev; macOS: xcode-select --install)" >&2; exit 1; }
	$(PYTHON) -m venv $(VENV)
	$(BIN)/python -m pip install --quiet --upgrade pip
	@touch $@

clean:
	rm -rf $(VENV) build
