# Everything a person types. The environment is made in .venv the first time, and again when its inputs change.
# Another interpreter: make run PYTHON=python3.12

PYTHON ?= python3
VENV   := .venv
BIN    := $(VENV)/bin
STAMP  := $(VENV)/.made
SAMPLE := assets/samples/red_ball.world
MOVIE  := out/red_ball.mp4

.PHONY: help run test check endurance translations dist bundle clean

help:
	@echo "make run        open the playground (with no display: render a sample to $(MOVIE))"
	@echo "make test       run the tests"
	@echo "make check      run the linter, the formatter's check, the type checker and the layer rule"
	@echo "make endurance  run the long tests (minutes to an hour)"
	@echo "make translations  collect the window's texts and compile their translations"
	@echo "make dist       build the wheel and the source distribution into dist"
	@echo "make bundle     build a folder that runs without Python into dist (takes some gigabytes), and try it"
	@echo "make clean      delete .venv, out and everything that was built or cached"

$(STAMP): pyproject.toml setup.py constraints.txt
	@command -v "$(PYTHON)" > /dev/null || { \
		echo "There is no $(PYTHON) here: install Python 3.11 or newer, or name one: make PYTHON=/path/to/python3"; exit 1; }
	@"$(PYTHON)" -c 'import sys; sys.exit(not (3, 11) <= sys.version_info < (3, 15))' || { \
		echo "Python 3.11 to 3.14 is needed, and $(PYTHON) is another: name one with make PYTHON=/path/to/python3"; exit 1; }
	@"$(PYTHON)" -c 'import ensurepip, venv' 2> /dev/null || { \
		echo "$(PYTHON) cannot make environments: install its venv module (on Debian: apt-get install python3-venv)"; exit 1; }
	@echo "Making the environment in $(VENV): this takes some minutes, the first time only."
	"$(PYTHON)" -m venv $(VENV)
	$(BIN)/python -m pip install --quiet --constraint constraints.txt --editable '.[test,dev]'
	@touch $@

run: $(STAMP)
	@if [ -n "$$DISPLAY$$WAYLAND_DISPLAY" ]; then \
		$(BIN)/worldattention $(SAMPLE); \
	else \
		mkdir -p $(dir $(MOVIE)) && \
		echo "There is no display here, so the sample is rendered to a video." && \
		$(BIN)/worldattention render $(SAMPLE) -o $(MOVIE) && \
		echo "The video is $(CURDIR)/$(MOVIE)"; \
	fi

# A worker that dies ends the run: with another in its place, --dist loadfile may wait for ever (pytest-xdist#1378).
test: $(STAMP)
	@$(BIN)/python -c 'from PySide6 import QtWidgets' 2> /dev/null || { \
		echo "Qt, which the tests of the window need, cannot be loaded. On Debian, install what it needs:"; \
		echo "apt-get install --no-install-recommends $$(sed 's/#.*//' packaging/debian-packages.txt | xargs)"; exit 1; }
	@QT_QPA_PLATFORM=offscreen $(BIN)/pytest -n auto --maxprocesses 4 --dist loadfile --max-worker-restart 0

check: $(STAMP)
	@$(BIN)/ruff check .
	@$(BIN)/ruff format --check .
	@$(BIN)/mypy
	@PYTHONPATH=packaging/typing $(BIN)/lint-imports --no-cache

endurance: $(STAMP)
	@QT_QPA_PLATFORM=offscreen $(BIN)/pytest -m endurance --timeout 7200

translations: $(STAMP)
	@$(BIN)/pyside6-lupdate $$(find app -name "*.py" | sort) -no-obsolete -locations none \
		-target-language ko -ts app/translations/worldattention_ko.ts
	@$(BIN)/pyside6-lrelease app/translations/worldattention_ko.ts -qm app/translations/worldattention_ko.qm

dist: $(STAMP)
	$(BIN)/python -m build --no-isolation

# From the wheel and in an environment of its own: what is installed as a link into the tree cannot be followed.
bundle: dist
	"$(PYTHON)" -m venv build/bundle
	build/bundle/bin/python -m pip install --quiet --constraint constraints.txt \
		"$$(ls dist/worldattention-*.whl | tail -1)[bundle]"
	build/bundle/bin/pyinstaller --noconfirm --workpath build/pyinstaller packaging/pyinstaller/worldattention.spec
	"$(PYTHON)" packaging/pyinstaller/smoke.py dist/worldattention

clean:
	rm -rf $(VENV) out build dist worldattention.egg-info .coverage
	rm -rf .mypy_cache .ruff_cache .pytest_cache .hypothesis .import_linter_cache
	find . -name __pycache__ -type d -prune -exec rm -rf {} +
