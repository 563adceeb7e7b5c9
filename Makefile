# `make demo` and `make test` need nothing but Python (3.10 or later) and make.
PYTHON ?= python3
VENV ?= .venv
BIN = $(VENV)/bin

# Packages are installed without bytecode (below): what is imported is to be compiled once, not at every start.
unexport PYTHONDONTWRITEBYTECODE

.PHONY: demo paper paper-tables paper-bleu test coverage test-slow test-ray test-pythons torture lint bench docs dist clean

# What the default recipe needs, and nothing else: enough for the demo. Most of it is never imported, so that to
# compile all of it to bytecode would take longer than the rest.
$(VENV)/.installed: pyproject.toml
	$(PYTHON) -m venv $(VENV)
	$(BIN)/python -m pip install --quiet --no-compile -e .
	@touch $@

# Everything that tests, checks and the paper's recipe need.
$(VENV)/.installed-dev: $(VENV)/.installed constraints.txt
	$(BIN)/python -m pip install --quiet -c constraints.txt -e '.[dev,paper,serve]'
	@touch $@

# What the paper's recipe needs.
$(VENV)/.installed-paper: $(VENV)/.installed constraints.txt
	$(BIN)/python -m pip install --quiet -c constraints.txt -e '.[paper]'
	@touch $@

# The paper in two minutes: its table 1, one pair's scores, its neighbors, on the embedded sample.
paper: $(VENV)/.installed-paper
	$(BIN)/bitweft demo --recipe paper

demo: $(VENV)/.installed
	$(BIN)/bitweft demo -o bitweft-demo --force

test: $(VENV)/.installed-dev
	$(BIN)/python -m pytest -n auto --dist loadfile

coverage: $(VENV)/.installed-dev
	$(BIN)/python -m pytest -n auto --dist loadfile --cov=bitweft --cov-report=term:skip-covered

test-slow: $(VENV)/.installed-dev
	$(BIN)/python -m pytest -m slow

# Aligning and training on Ray, with kills: a cluster of two nodes on this machine.
test-ray: $(VENV)/.installed-dev
	$(BIN)/python -m pip install --quiet -c constraints.txt -e '.[ray,remote,parquet,pandas]'
	$(BIN)/python -m pytest -m slow tests/test_ray.py tests/test_examples.py

bench: $(VENV)/.installed-dev
	$(BIN)/python -m pip install --quiet -c constraints.txt -e '.[bench]'
	$(BIN)/python benchmarks/accuracy.py --docs
	$(BIN)/python benchmarks/speed.py --docs

# The paper's tables 1 to 3 on all 1.13 million pairs: days of CPU time, but it goes on where it was stopped.
# PRESET=published: as the paper trains (docs/paper.md). They come to build/paper: those of benchmarks/results are of
# 20,000 pairs.
PRESET ?= bitweft
paper-tables: $(VENV)/.installed-dev
	$(BIN)/python benchmarks/paper.py 1 2 3 --text en-fr --pairs all --systems --preset $(PRESET) \
		--output build/paper

# BLEU of the paper's ensemble beside fast_align, five tunings on 1,000 sentences each; goes on, too.
paper-bleu: $(VENV)/.installed-dev
	$(BIN)/python -m pip install --quiet -c constraints.txt -e '.[bench]'
	$(BIN)/python benchmarks/bleu.py --tune 1000 --rounds 10 --systems bitweft-paper-ensemble-gdfa fast_align \
		--output benchmarks/results/tune-1000

# Fuzzed input, kills, failing disks, flipped bytes, threads and a busy server, for HOURS: docs/reliability.md.
HOURS ?= 0.05
torture: $(VENV)/.installed-dev
	$(BIN)/python tests/torture --hours $(HOURS)

# The documentation, into build/site: pages that load nothing from elsewhere.
$(VENV)/.installed-docs: $(VENV)/.installed
	$(BIN)/python -m pip install --quiet -e '.[docs]'
	@touch $@

docs: $(VENV)/.installed-docs
	NO_MKDOCS_2_WARNING=1 $(BIN)/mkdocs build --quiet --strict
	@echo "build/site/index.html; with its search: $(BIN)/python -m http.server --directory build/site"

# Wheel and sdist; the wheel is installed in a new environment outside of this tree, and runs the demo there.
$(VENV)/.installed-dist: $(VENV)/.installed
	$(BIN)/python -m pip install --quiet -e '.[dist]'
	@touch $@

dist: $(VENV)/.installed-dist
	rm -rf build/lib dist
	$(BIN)/python -m build
	$(BIN)/python -m twine check --strict dist/*
	$(BIN)/python scripts/try_wheel.py

# The same, and the tests that need no extra, with every Python of this machine that bitweft is for.
PYTHONS ?= $(wildcard $(foreach version,3.10 3.11 3.12 3.13 3.14,$(HOME)/.pyenv/versions/$(version).*/bin/python))
test-pythons: dist
	$(BIN)/python scripts/try_wheel.py --tests $(or $(PYTHONS),$(PYTHON))

lint: $(VENV)/.installed-dev
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy

clean:
	rm -rf $(VENV) build dist src/*.egg-info .mypy_cache .ruff_cache .pytest_cache .hypothesis
