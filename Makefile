# The commands of this project. `make run` and `make test` need Python 3.11+ and make, nothing else.
#
#   make run                          start everything on http://127.0.0.1:8000
#   make run ARGS="--port N --data DIR"
#   make test  ARGS="-k words"        the tests, on services of their own
#   make test-vllm                    the model API in front of a real vLLM on the CPU: 3.4 GB, ten minutes
#   make check                        format, lint, types, import directions, templates, scripts, settings, migrations
PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
COMPILE := $(BIN)/pip-compile --quiet --strip-extras --no-emit-index-url --no-emit-trusted-host --no-emit-find-links
TEMPLATES := templates

.PHONY: run test test-faults test-vllm check check-scripts fmt bench lock vendor screenshots
.DELETE_ON_ERROR:

$(BIN)/python:
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11) and "Python 3.11 or newer is needed; this is " + sys.version.split()[0] + ". Try: make PYTHON=python3.11")'
	@$(PYTHON) -m venv $(VENV)

$(VENV)/installed-run: requirements.txt requirements-embedded.txt | $(BIN)/python
	@$(BIN)/python embedded/install.py requirements.txt requirements-embedded.txt
	@touch $@

$(VENV)/installed-dev: requirements-dev.txt $(VENV)/installed-run
	@$(BIN)/python embedded/install.py requirements-dev.txt
	@touch $@

# The SDK of the earlier major version cannot share an environment with the one that the project uses.
$(VENV)/installed-sdk1: requirements-sdk1.txt | $(BIN)/python
	@$(PYTHON) -m venv --without-pip $(VENV)/sdk1
	@$(BIN)/python -m pip --python $(VENV)/sdk1/bin/python install --quiet --no-deps -r requirements-sdk1.txt
	@touch $@

# The servers that benchmarks.fixed_batch measures beside ours.
$(VENV)/installed-peers: requirements-peers.txt | $(BIN)/python
	@$(PYTHON) -m venv --without-pip $(VENV)/peers
	@$(BIN)/python -m pip --python $(VENV)/peers/bin/python install --quiet -r requirements-peers.txt
	@touch $@

# The prompt registries that benchmarks.registry_peers measures beside ours: 1.3 GB.
$(VENV)/installed-registry-peers: requirements-registry-peers.txt | $(BIN)/python
	@$(PYTHON) -m venv --without-pip $(VENV)/registry-peers
	@$(BIN)/python -m pip --python $(VENV)/registry-peers/bin/python install --quiet -r requirements-registry-peers.txt
	@touch $@

# The TypeScript SDK, where there is Node.js.
node_modules/.package-lock.json: package-lock.json
	@if command -v npm > /dev/null; then npm ci --silent --no-audit --no-fund && touch $@; fi

# exec: Ctrl-C and SIGTERM reach the supervisor itself.
run: $(VENV)/installed-run
	@exec $(BIN)/python manage.py up $(ARGS)

test: $(VENV)/installed-dev $(VENV)/installed-sdk1 node_modules/.package-lock.json
	$(BIN)/python -m pytest -n auto -m "not faults and not vllm" $(ARGS)
	@if [ -d node_modules ]; then npm test --silent; else echo "Tests of the scripts skipped: no node_modules (npm ci)."; fi

test-faults: $(VENV)/installed-dev $(VENV)/installed-sdk1 node_modules/.package-lock.json
	$(BIN)/python -m pytest -n auto -m "faults and not alone" $(ARGS)
	$(BIN)/python -m pytest -n 0 -m "faults and alone" $(ARGS)

# vLLM on the CPU and the embedded model's weights as it wants them: 3.4 GB, minutes. `make test-vllm` alone needs it.
var/vllm/installed: requirements-vllm.txt tests/inference_backend/vllm/convert.py $(VENV)/installed-dev
	$(PYTHON) -m venv var/vllm/venv
	var/vllm/venv/bin/pip install --quiet --no-deps -r requirements-vllm.txt
	HF_HUB_OFFLINE=1 var/vllm/venv/bin/python tests/inference_backend/vllm/convert.py \
	  "$$($(BIN)/python -c "from embedded.engine import find_model_file; print(find_model_file())")" var/vllm/model
	@touch $@

test-vllm: var/vllm/installed $(VENV)/installed-sdk1 node_modules/.package-lock.json
	$(BIN)/python -m pytest -n 0 -m vllm tests/inference_backend/vllm $(ARGS)

check: $(VENV)/installed-dev check-scripts
	$(BIN)/ruff format --check --quiet .
	$(BIN)/ruff check --quiet .
	$(BIN)/lint-imports --no-logo
	$(BIN)/mypy .
	$(BIN)/djlint --quiet --check $(TEMPLATES)
	$(BIN)/djlint --quiet --lint $(TEMPLATES)
	env -i PATH="$$PATH" HOME="$$HOME" $$(grep -v '^#' .ci/production.env) \
	  $(BIN)/python manage.py check --deploy --fail-level WARNING
	$(BIN)/python -m embedded.throw_away $(BIN)/python manage.py makemigrations --check --dry-run

check-scripts:
	@if [ -d node_modules ]; then npm run --silent check; \
	elif command -v npm > /dev/null; then npm ci --silent --no-audit --no-fund && npm run --silent check; \
	else echo "Checks of the scripts skipped: no Node.js on this machine."; fi

fmt: $(VENV)/installed-dev
	$(BIN)/ruff format --quiet .
	$(BIN)/ruff check --fix --quiet .
	$(BIN)/djlint --quiet --reformat $(TEMPLATES)

$(VENV)/installed-bench: requirements-bench.txt $(VENV)/installed-dev
	@$(BIN)/python embedded/install.py requirements-bench.txt
	@touch $@

bench: $(VENV)/installed-bench $(VENV)/installed-peers $(VENV)/installed-registry-peers
	ALLOWED_HOSTS=testserver,127.0.0.1 $(BIN)/python -m benchmarks $(ARGS)

# The pictures of docs/tour.md, from the running application.
screenshots: $(VENV)/installed-dev
	$(BIN)/python -m tests.browser.screenshots

# The browser libraries in static/vendor, from the versions in package-lock.json.
vendor:
	npm ci --silent --no-audit --no-fund
	npm run --silent vendor

lock: $(VENV)/installed-dev
	$(COMPILE) -o requirements.txt requirements.in
	$(COMPILE) -o requirements-embedded.txt requirements-embedded.in
	cat requirements-model.in >> requirements-embedded.txt
	$(COMPILE) -o requirements-safety.txt requirements-safety.in
	$(COMPILE) -o requirements-dev.txt requirements-dev.in
