# `make ask Q="…"` and `make test` work on a fresh clone: they install into .venv, once.
#
#   make ask Q="a question"      an answer with citations from the sample papers
#   make ask PAPERS=path Q="…"   the same from your own papers, a file or a folder
#   make chat [PAPERS=path]      questions and answers in the browser
#   make eval                    scores on the sample questions; fails if one has dropped; RECORD=1 records them anew
#   make test [ARGS="-k text"]   every test; ARGS go to pytest
#   make lint                    style, format and types
#   make bench                   speed and memory, measured
#   make pins                    newest versions into constraints.txt
#
# TORCH_INDEX=address takes torch from that package index. The usual index gives Linux a CUDA build of several GB;
# an index of CPU-only builds saves that. It counts when .venv is made: remove .venv to change it.
# PYTHON=path makes .venv with that Python instead of the first fit one of these.

PYTHON = python3 python3.13 python3.12 python3.11
TORCH_INDEX ?=

VENV = .venv
QUOTH = $(VENV)/bin/quoth
INSTALL = $(VENV)/bin/python -m pip --disable-pip-version-check install -c constraints.txt

# The words of the user reach the shell through the environment alone, as they are: nothing in them is expanded.
unexport Q PAPERS
export QQ = $(value Q)
ifeq ($(strip $(value PAPERS)),)
export PP = samples/papers.jsonl
LIBRARY = --library sample --home .quoth
else
export PP = $(value PAPERS)
LIBRARY = --library default --home .quoth
endif

ifneq ($(filter ask,$(MAKECMDGOALS)),)
ifeq ($(strip $(value Q)),)
$(error Usage: make ask Q="a question" [PAPERS="file or folder"])
endif
endif

.NOTPARALLEL: # the goals share one .venv

.PHONY: help ask chat eval test lint bench pins

help:
	@sed -n 's/^#   //p' Makefile

ask: $(VENV)/.ready
	@$(QUOTH) index $(LIBRARY) -- "$$PP" >&2
	@$(QUOTH) ask $(LIBRARY) -- "$$QQ"

chat: $(VENV)/.ready
	@$(QUOTH) index $(LIBRARY) -- "$$PP"
	@$(QUOTH) ui $(LIBRARY)

# A fresh library and a fresh run: what is left of an earlier one must not count.
EVAL = .quoth/eval
eval: $(VENV)/.ready
	@rm -rf $(EVAL)
	@$(QUOTH) index --library sample --home $(EVAL) -- samples/papers.jsonl >&2
	@$(QUOTH) eval run --library sample --home $(EVAL) --answerer extractive --out $(EVAL)/run samples/items.jsonl >&2
	@$(QUOTH) eval score $(if $(RECORD),--record,--floor) samples/recorded.json $(EVAL)/run

test: $(VENV)/.ready-dev
	$(VENV)/bin/python -m pytest $(ARGS)

lint: $(VENV)/.ready-dev
	$(VENV)/bin/ruff check .
	$(VENV)/bin/ruff format --check .
	$(VENV)/bin/mypy

bench: $(VENV)/.ready-dev
	$(VENV)/bin/python -m pytest tests/bench -s $(ARGS)

# While something is being installed .ready is away, so an interrupted installation is made anew by the next run.
$(VENV)/.ready: pyproject.toml constraints.txt
	@test -e $@ && exit; \
	for python in $(PYTHON); do \
	  "$$python" -c 'import sys, ensurepip, venv; sys.exit(sys.version_info < (3, 11))' 2>/dev/null || continue; \
	  echo "Installing into $(VENV) (once, some minutes)" >&2; \
	  exec "$$python" -m venv --clear $(VENV); \
	done; \
	echo "quoth needs Python 3.11 or newer with its venv module (Debian, Ubuntu: apt install python3-venv);" >&2; \
	echo "none of these is one: $(PYTHON). Name yours: make PYTHON=path/to/python" >&2; \
	exit 1
	@rm -f $@
	@$(INSTALL) --quiet hatchling
	@test -z "$(TORCH_INDEX)" || $(INSTALL) --no-deps --index-url "$(TORCH_INDEX)" torch >&2
	@$(INSTALL) --no-build-isolation -e . >&2
	@touch $@

$(VENV)/.ready-dev: $(VENV)/.ready
	@rm -f $(VENV)/.ready
	@echo "Installing the tools for tests and style (once)" >&2
	@$(INSTALL) --quiet --no-build-isolation -e '.[dev]'
	@touch $(VENV)/.ready $@

UNPINNED = -e '^pip==' -e '^nvidia-' -e '^cuda-' -e '^triton=='
pins: $(VENV)/.ready
	$(VENV)/bin/python -m venv --clear $(VENV)/pins
	grep '^torch==' constraints.txt > $(VENV)/pins/held.txt
	$(VENV)/pins/bin/python -m pip install -c $(VENV)/pins/held.txt -e '.[dev]' hatchling
	{ grep '^#' constraints.txt; { grep '^[^#].*; ' constraints.txt; \
	  $(VENV)/pins/bin/python -m pip freeze --all --exclude-editable | sed 's/+.*//' | grep -v $(UNPINNED); } \
	  | LC_ALL=C sort -f; } > $(VENV)/pins/constraints.txt
	mv $(VENV)/pins/constraints.txt constraints.txt
	rm -r $(VENV)/pins
