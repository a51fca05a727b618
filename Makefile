# Two commands: `make demo` runs the main job, `make test` every check and every test. Both set up all they need.
PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
unexport PYTHONDONTWRITEBYTECODE  # what is imported is compiled once, not each time
SOURCES := $(shell find src -type f -not -name '*.pyc') pyproject.toml meson.build

.PHONY: demo test coverage fuzz audit test-bare test-minimum test-sanitizers lint types imports pytest docs schemas bench race race-quick paper clean

demo: $(VENV)/.installed
	@$(BIN)/rainproof demo build/demo

# What does not need both cores runs beside something else: packages are fetched while kernels are compiled, and those
# that only tests need while the checks run.
test: $(VENV)/.made
	@$(MAKE) --no-print-directory -j3 $(VENV)/.checked $(VENV)/.system
	@$(MAKE) --no-print-directory -j3 $(VENV)/.tested $(VENV)/.compiled types docs lint imports
	@$(MAKE) --no-print-directory pytest

lint: $(VENV)/.checked
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .

types: $(VENV)/.checked
	$(BIN)/mypy

imports: $(VENV)/.checked
	$(BIN)/lint-imports

pytest: $(VENV)/.tested $(VENV)/.system
	$(BIN)/python -m pytest --numprocesses=auto --dist=loadfile

# The same tests, and which lines they reach. It takes half as long again: CI runs it beside `make test`.
coverage: $(VENV)/.tested $(VENV)/.system
	$(BIN)/python -m pytest --numprocesses=auto --dist=loadfile --cov --cov-report=
	$(BIN)/coverage report --fail-under=95
	$(BIN)/coverage report --fail-under=100 --include='*/rainproof/core/*,*/rainproof/measures/*'

# What else CI runs beside `make test`, each in an environment of its own.
KERNEL_TESTS := tests/core tests/measures tests/contract tests/decisions tests/inference tests/verdict/test_clinical.py
NEEDS_PYARROW := --ignore=tests/core/test_groupby_result.py --ignore=tests/inference/test_segment_tests.py \
	--deselect=tests/inference/test_switch_bounds.py::test_harm_bound_of_a_compressed_sample_is_its_definition \
	--deselect=tests/inference/test_switch_bounds.py::test_gain_of_a_compressed_sample_is_its_definition
RUNNER := pytest pytest-timeout hypothesis pandas scikit-learn

# NumPy and SciPy alone: no extra is installed. -W error: a kernel that needs the interpreter's lock would warn.
test-bare:
	$(PYTHON) -m venv --clear build/bare
	build/bare/bin/python -m pip install --quiet --prefer-binary . $(RUNNER)
	build/bare/bin/python -W error -c 'import rainproof; rainproof.soft_binned_cdl([0, 1], [0.25, 0.75])'
	build/bare/bin/python -m pytest $(KERNEL_TESTS) $(NEEDS_PYARROW)

# The oldest versions that pyproject.toml allows. They warn about what newer packages beside them deprecate.
test-minimum:
	$(PYTHON) -m venv --clear build/minimum
	build/minimum/bin/python -m pip install --quiet uv
	build/minimum/bin/uv pip install --quiet --python build/minimum --resolution lowest-direct '.[test]'
	build/minimum/bin/python -m pytest -W default::DeprecationWarning -W default::FutureWarning $(KERNEL_TESTS) \
		tests/verdict tests/plots tests/io/test_scanning.py tests/io/test_files.py tests/integrations/test_sklearn.py \
		-k 'not imports_no_library'  # the oldest PyArrow imports pandas by itself

# The kernels with checks of memory access and undefined behaviour compiled in (gcc). The preloaded library does not reach
# the process that one test starts with an environment of its own.
test-sanitizers:
	$(PYTHON) -m venv --clear build/sanitizers
	build/sanitizers/bin/python -m pip install --quiet -Csetup-args=-Db_sanitize=address,undefined . $(RUNNER)
	LD_PRELOAD=$$(gcc -print-file-name=libasan.so) ASAN_OPTIONS=detect_leaks=0:handle_segv=2 UBSAN_OPTIONS=halt_on_error=1 \
		build/sanitizers/bin/python -m pytest $(KERNEL_TESTS) $(NEEDS_PYARROW) \
		--deselect=tests/decisions/test_policy.py::test_another_process_does_the_same

# Random input without end: make fuzz CASES=1000000. Then every property that Hypothesis tests, with other draws each time.
CASES ?= 100000
fuzz: $(VENV)/.tested
	RAINPROOF_FUZZ_CASES=$(CASES) $(BIN)/python -m pytest -p no:cacheprovider --timeout=0 -o faulthandler_timeout=0 tests/fuzz
	$(BIN)/python -m pytest --hypothesis-profile=search -m hypothesis --ignore=tests/fuzz

# Known vulnerabilities of what the tests install; fails too where the database cannot be reached.
audit: $(VENV)/.tested
	@mkdir -p build
	$(PIP) install --quiet pip-audit
	$(PIP) freeze --exclude rainproof > build/installed.txt
	$(BIN)/pip-audit --strict --no-deps --disable-pip -r build/installed.txt

# The site: every warning is an error.
docs: $(VENV)/.checked
	NO_MKDOCS_2_WARNING=1 OMP_NUM_THREADS=1 $(BIN)/mkdocs build --quiet --strict

# The JSON Schemas of results, from their fields.
schemas: $(VENV)/.tested
	$(BIN)/python -m tools.make_schemas

bench: $(VENV)/.benched
	$(BIN)/python -m benchmarks
	$(BIN)/python -m benchmarks.assess

# rainproof beside what people use today, in an environment of its own; stopped, it goes on where it was.
race: build/race/.ready
	OMP_NUM_THREADS=1 build/race/bin/python -m benchmarks.race

# The same with few samples of few rows, in ten minutes at most: the tables and pages are in build/race-quick.
race-quick: build/race/.ready
	OMP_NUM_THREADS=1 build/race/bin/python -m benchmarks.race --quick --minutes 8 --results build/race-quick/data --docs build/race-quick

PYTHON_312 ?= python3.12
build/race/.ready: $(SOURCES) $(wildcard benchmarks/race/requirements*.txt)
	@test -x build/race/bin/python || $(PYTHON) -m venv build/race
	build/race/bin/python -m pip install --quiet -r benchmarks/race/requirements.txt .
	@if $(PYTHON_312) -c pass 2>/dev/null; then \
		test -x build/race-3.12/bin/python || $(PYTHON_312) -m venv build/race-3.12; \
		build/race-3.12/bin/python -m pip install --quiet -r benchmarks/race/requirements-3.12.txt; \
	else echo "calibre needs Python 3.12 and is left out: make race PYTHON_312=/path/to/python3.12"; fi
	@touch $@

# Every table, figure and statement of the paper; stopped, it goes on where it was.
paper: $(VENV)/.papered
	$(BIN)/python -m paper

# One stamp per set of packages, and one for the wheel, which is made anew when the sources change. The kernels are
# compiled while packages are fetched.
PIP = $(BIN)/python -m pip
# The pip that is there already, if there is one: Python's own way to put one into the environment takes five seconds more.
HAS_PIP = $(PYTHON) -c 'import pip' 2>/dev/null
FIRST_PIP = $(shell $(HAS_PIP) && echo $(PYTHON) -m pip --python $(BIN)/python || echo $(PIP))
$(VENV)/.installed: $(SOURCES)
	@$(MAKE) --no-print-directory -j2 $(VENV)/.wheel $(VENV)/.files
	$(FIRST_PIP) install -qq --no-compile --force-reinstall --no-deps build/wheel/*.whl
	@touch $@

$(VENV)/.checked: $(VENV)/.wheel $(VENV)/.packages
	$(PIP) install --quiet --no-compile --force-reinstall --no-deps build/wheel/*.whl
	@touch $@ $(VENV)/.installed

# What the tests need beside that. mypy follows none of it.
$(VENV)/.tested: $(VENV)/.checked $(VENV)/.large
	@touch $@

$(VENV)/.large: pyproject.toml tests/requirements.txt .github/requirements.txt | $(VENV)/.checked
	$(PIP) install --quiet --no-compile -r $(VENV)/packages.txt -r tests/requirements.txt -r .github/requirements.txt
	@touch $@

# Two processes compile the tests and what they import, before each worker would; one what tests import late. What fails
# here fails there again.
$(VENV)/.compiled: $(VENV)/.large
	@for some in 'tests/[a-d]*/' 'tests/[e-z]*/ tests/test_*.py'; do \
		$(BIN)/python -m pytest --collect-only --quiet $$some >/dev/null 2>&1 & \
	done; $(BIN)/python -c 'import mlflow, torchmetrics'; wait
	@touch $@

# Without pip, which may be replaced meanwhile.
$(VENV)/.wheel: $(SOURCES) | $(VENV)/.builder
	@rm -rf build/wheel && mkdir -p build/wheel
	PATH="$(CURDIR)/$(BIN):$$PATH" $(BIN)/python -c 'import mesonpy; mesonpy.build_wheel("build/wheel")' > build/wheel.log 2>&1 || \
		{ cat build/wheel.log >&2; exit 1; }
	@touch $@

# Python files are not compiled before they are imported: of SciPy and PyArrow that is a small part. NumPy comes with what
# compiles the kernels, at the same time.
$(VENV)/.files: pyproject.toml | $(VENV)/.made
	@$(BIN)/python tools/requirements.py files | grep -v ^numpy > $(VENV)/files.txt
	$(FIRST_PIP) install -qq --no-compile --no-deps -r $(VENV)/files.txt
	@touch $@

# All packages of the extra "test" but the largest that the checks do without. (MLflow is not among them: it holds versions
# of others back, which must not change while the checks run.)
LARGE := adbc|fairlearn|onnxruntime|pyright|pyspark|selenium|skore|zizmor
$(VENV)/.packages: pyproject.toml | $(VENV)/.builder
	@$(BIN)/python tools/requirements.py test > $(VENV)/packages.txt
	@grep -vE '^($(LARGE))' $(VENV)/packages.txt > $(VENV)/checks.txt
	$(PIP) install --quiet --no-compile -r $(VENV)/checks.txt
	@touch $@

# What compiles the kernels, beside the packages that they need: NumPy is fetched once.
$(VENV)/.builder: pyproject.toml | $(VENV)/.made
	@$(BIN)/python -c 'import tomllib; print("ninja", "pip", *tomllib.load(open("$<", "rb"))["build-system"]["requires"], sep="\n")' > $(VENV)/builder.txt
	$(FIRST_PIP) install -qq --no-compile -r $(VENV)/builder.txt
	@touch $@

$(VENV)/.benched: $(VENV)/.tested benchmarks/requirements.txt
	$(PIP) install --quiet -r benchmarks/requirements.txt
	@touch $@

# What the tests run beside Python packages: PostgreSQL's server, Java (for Spark) and a browser (for the report).
$(VENV)/.system: | $(VENV)/.made
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

$(VENV)/.papered: $(SOURCES) | $(VENV)/.builder
	$(PIP) install --quiet '.[paper]'
	@touch $@ $(VENV)/.installed

$(VENV)/.made:
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11))' || \
		{ echo "rainproof needs Python 3.11 or newer: run make PYTHON=/path/to/python3.11" >&2; exit 1; }
	@command -v $${CC:-cc} >/dev/null || command -v gcc >/dev/null || command -v clang >/dev/null || \
		{ echo "rainproof compiles a few kernels and found no C compiler: install gcc or clang (Debian: apt install gcc python3-dev; macOS: xcode-select --install)" >&2; exit 1; }
	$(PYTHON) -m venv --without-pip $(VENV)
	@$(HAS_PIP) || $(PYTHON) -m venv $(VENV)
	@touch $@

clean:
	rm -rf $(VENV) build
