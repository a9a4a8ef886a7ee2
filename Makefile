# Two commands on a fresh machine that has Python >= 3.10 and make:
#   make demo    install, build the teaching set, run every stage, redraw every figure and table
#   make test    install with the test extras, run the test suite
PYTHON ?= python3
VENV   ?= .venv
BIN    := $(VENV)/bin
# Workers for the tests and for the notebooks; empty means one per core.
WORKERS ?=

.PHONY: help demo photos test bench lint clean

help:
	@sed -n 's/^#   //p' Makefile

# The stamps remember for which dependency list an installation was made.
$(VENV)/.installed: pyproject.toml
	$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 10) and "Python >= 3.10 is needed, this is " + sys.version)'
	test -x $(BIN)/python || $(PYTHON) -m venv $(VENV)
	$(BIN)/python -m pip install --quiet --disable-pip-version-check -e .
	@touch $@

$(VENV)/.installed-test: pyproject.toml .ci/easyocr.txt
	$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 10) and "Python >= 3.10 is needed, this is " + sys.version)'
	test -x $(BIN)/python || $(PYTHON) -m venv $(VENV)
	$(BIN)/python -m pip install --quiet --disable-pip-version-check -e '.[test,dask]'
	@# EasyOCR's own tests need torch (1 GB). Where these versions do not exist, those tests are skipped; not in CI.
	$(BIN)/python -m pip install --quiet --disable-pip-version-check -r .ci/easyocr.txt || test -z "$(CI)"
	@touch $@ $(VENV)/.installed

demo: $(VENV)/.installed
	$(BIN)/signpost run params/demo.yml $(if $(WORKERS),--workers $(WORKERS))

test: $(VENV)/.installed-test
	$(BIN)/python -m pytest -n $(or $(WORKERS),auto)

bench: $(VENV)/.installed-test
	$(BIN)/python -m pytest tests/bench -p no:xdist -s

lint: $(VENV)/.installed-test
	$(BIN)/python -m pip install --quiet --disable-pip-version-check -e '.[dev]'
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/pyright --pythonpath $(BIN)/python

clean:
	rm -rf $(VENV) runs build *.egg-info .pytest_cache .ruff_cache .benchmarks .hypothesis
	find figures -mindepth 1 -maxdepth 1 ! -name gallery -exec rm -rf {} +
	find . -name __pycache__ -type d -prune -exec rm -rf {} +
