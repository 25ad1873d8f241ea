# The commands of this project. `make run` and `make test` need Python 3.11+ and make, nothing else.
PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
PIP := $(BIN)/python -m pip --disable-pip-version-check
COMPILE := $(BIN)/pip-compile --quiet --strip-extras --no-emit-index-url --no-emit-trusted-host --no-emit-find-links

.PHONY: run test check fmt lock

$(BIN)/python:
	$(PYTHON) -m venv $(VENV)

$(VENV)/installed-run: requirements.txt requirements-embedded.txt | $(BIN)/python
	$(PIP) install --quiet --no-deps -r requirements.txt -r requirements-embedded.txt
	@touch $@

$(VENV)/installed-dev: requirements-dev.txt $(VENV)/installed-run
	$(PIP) install --quiet --no-deps -r requirements-dev.txt
	@touch $@

run: $(VENV)/installed-run
	$(BIN)/python manage.py up $(ARGS)

lock: $(VENV)/installed-dev
	$(COMPILE) -o requirements.txt requirements.in
	$(COMPILE) -o requirements-embedded.txt requirements-embedded.in
	cat requirements-model.in >> requirements-embedded.txt
	$(COMPILE) -o requirements-dev.txt requirements-dev.in
