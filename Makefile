# Two commands: `make demo` runs the main job, `make test` everything that CI runs. Both set up all they need.
PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
SOURCES := $(shell find src -type f -not -name '*.pyc') pyproject.toml meson.build

.PHONY: demo test lint types imports pytest bench paper clean

demo: $(VENV)/.installed
	@mkdir -p build/demo
	@$(BIN)/python examples/make_rain_data.py build/demo/rain.csv
	@$(BIN)/brolly assess build/demo/rain.csv --prob probability --outcome rained -o build/demo/verdict.json

test: lint types imports pytest

lint: $(VENV)/.tested
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .

types: $(VENV)/.tested
	$(BIN)/mypy

imports: $(VENV)/.tested
	$(BIN)/lint-imports

pytest: $(VENV)/.tested
	$(BIN)/python -m pytest --cov --cov-report=
	$(BIN)/coverage report --fail-under=95
	$(BIN)/coverage report --fail-under=100 --include='*/brolly/core/*,*/brolly/measures/*'

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
