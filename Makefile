# Two commands: `make demo` runs the main job, `make test` everything that CI runs. Both set up all they need.
PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
SOURCES := $(shell find src -type f -not -name '*.pyc') pyproject.toml meson.build

.PHONY: demo test lint types imports pytest docs bench clean

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

pytest: $(VENV)/.tested $(VENV)/.browser
	$(BIN)/python -m pytest --cov --cov-report=
	$(BIN)/coverage report --fail-under=95
	$(BIN)/coverage report --fail-under=100 --include='*/brolly/core/*,*/brolly/measures/*'

# The site: every warning is an error.
docs: $(VENV)/.tested
	NO_MKDOCS_2_WARNING=1 $(BIN)/mkdocs build --quiet --strict

bench: $(VENV)/.benched
	$(BIN)/python -m benchmarks

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

# The report is tested in a real browser: Debian's, where there is none.
$(VENV)/.browser: | $(VENV)/.made
	@{ command -v chromium && command -v chromedriver; } >/dev/null || \
		{ SUDO=$$(command -v sudo || true); $$SUDO apt-get update -qq && \
		DEBIAN_FRONTEND=noninteractive $$SUDO apt-get install -y -qq --no-install-recommends chromium chromium-driver fonts-dejavu-core >/dev/null; } || \
		{ echo "the report is tested in Chromium: install chromium and chromedriver" >&2; exit 1; }
	@touch $@

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
