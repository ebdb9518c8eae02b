# make demo    judge a few kernels on this machine and say why
# make test    the tests
# make check   lint, format, types, layers
# make clean   remove the environment and caches
# Each sets up .venv first when pyproject.toml changed; nothing is installed outside this folder.

PYTHON ?= python3
TORCH ?= torch==2.13.0
STAMP := .venv/.set-up
export PIP_DISABLE_PIP_VERSION_CHECK := 1

.PHONY: demo test check clean

demo: $(STAMP)
	@.venv/bin/hotlap demo

test: $(STAMP)
	@.venv/bin/python -m pytest -q

check: $(STAMP)
	@.venv/bin/ruff check .
	@.venv/bin/ruff format --check .
	@.venv/bin/mypy
	@.venv/bin/lint-imports

clean:
	rm -rf .venv .pytest_cache .mypy_cache .ruff_cache .hypothesis .import_linter_cache dist build
	find . -name __pycache__ -type d -prune -exec rm -rf {} +

$(STAMP): pyproject.toml
	@command -v $(PYTHON) >/dev/null || { \
	  echo "error: $(PYTHON) not found; hotlap needs Python 3.11 or newer: install it, or run make PYTHON=/path/to/python3" >&2; exit 1; }
	@$(PYTHON) -c 'import sys; v = sys.version_info; v >= (3, 11) or sys.exit(f"error: {sys.executable} is Python {v[0]}.{v[1]}; hotlap needs 3.11 or newer: run make PYTHON=/path/to/python3.11")'
	@test -x .venv/bin/pip || $(PYTHON) -m venv --clear .venv || { \
	  echo "error: could not make .venv with $(PYTHON); on Debian and Ubuntu: apt-get install python3-venv" >&2; exit 1; }
	@echo "Setting up .venv"
	@.venv/bin/pip install --quiet --upgrade 'pip>=25.1'
	@if .venv/bin/python -c 'import importlib.util as u, sys; sys.exit(u.find_spec("torch") is None)'; then \
	  :; \
	elif [ -n "$(HOTLAP_TORCH_INDEX)" ]; then \
	  echo "Installing $(TORCH) from HOTLAP_TORCH_INDEX: the CPU build downloads about 200 MB"; \
	  .venv/bin/pip install --index-url "$(HOTLAP_TORCH_INDEX)" "$(TORCH)"; \
	else \
	  echo "Installing $(TORCH) from the default index: on Linux that is the CUDA build, a download of several GB."; \
	  echo "For the CPU build, about 200 MB, stop here (Ctrl-C) and set HOTLAP_TORCH_INDEX to the CPU wheel index that pytorch.org's install page names."; \
	  .venv/bin/pip install "$(TORCH)"; \
	fi
	@.venv/bin/pip install --quiet --editable '.[numba]' --group dev
	@command -v bwrap >/dev/null || echo "note: no bwrap on PATH; the bundled one is used where there is one. To install it: apt-get install bubblewrap"
	@command -v g++ >/dev/null || echo "note: no g++, so C++ kernels cannot be built. To install it: apt-get install g++"
	@touch $@
