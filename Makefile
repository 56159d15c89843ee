# Everything a developer does, in one place. Only Go is needed; the module proxy gives the rest.

STATICCHECK = honnef.co/go/tools/cmd/staticcheck@v0.8.2
TESTTIME   ?= 20m
FUZZSECONDS ?= 60

# The program, and the lab, which only measures it. Without lab/ the program is built, checked and tested alone. The tests
# of the web page in a browser are a module of go.work as well; all their files have the tag browser.
ifneq ($(wildcard lab/go.mod),)
ALL         = ./... ./lab/...
else
ALL         = ./...
export GOWORK = off
endif

# make bench BENCH=PageRank PKG=./graph COUNT=10; compare two runs with `make benchstat OLD=old.out`
BENCH      ?= .
PKG        ?= $(ALL)
COUNT      ?= 1
BENCHTIME  ?= 1s
BENCHSTAT   = golang.org/x/perf/cmd/benchstat@v0.0.0-20260908200009-22c9c6c9d4da

# make bench-peers DIR=path: the folder of the generator and the peers
SCRATCH    ?=
SIZES      ?= 10000 100000
TASKS      ?=
PEERFLAGS  ?=

# make quality DIR=path KEEP=path: a run that was interrupted goes on with the reports in KEEP
KEEP       ?=

.PHONY: build run test-browser page-shots install test conformance lint lint-api fmt bench bench-guard benchstat bench-peers quality firstcontact recompute wordvectors golden mutation soak fuzz completions package vulncheck licences reproducible

# gin's decoder of MessagePack is linked into every program that uses gin unless this tag is set; nothing here
# reads MessagePack. Without it and the symbols the program is 45 MB instead of 72.
# A workspace refuses -mod=mod.
export GOFLAGS := $(filter-out -mod=mod,$(GOFLAGS)) -tags=nomsgpack

# The version that the program reports; empty: that of the working copy.
VERSION ?=

build: ## bin/waymark and bin/waymark-hook, static and reproducible; names each library while it is compiled
	@echo "building bin/waymark; the first build compiles all libraries and takes one to three minutes"
	GOWORK=off CGO_ENABLED=0 go build -v -trimpath -ldflags "-s -w$(if $(VERSION), -X main.stamped=$(VERSION))" -o bin/ ./cmd/waymark ./cmd/waymark-hook

run: build ## serve the bundled sample on http://127.0.0.1:7070
	@echo "starting with the data directory ./.waymark; the first start imports the sample, which takes half a minute"
	bin/waymark serve --data ./.waymark --sample

test-browser: build ## the web page in chromium, on the program as it is built; skipped where there is none
	cd server/page/browser && WAYMARK="$(CURDIR)/bin/waymark" go test -vet=off -count=1 -timeout 30m -v -tags=browser,nomsgpack -run Browser .

page-shots: build ## docs/pictures: the pictures of the README, from the page with the sample in chromium
	cd server/page/browser && WAYMARK="$(CURDIR)/bin/waymark" PICTURES="$(CURDIR)/docs/pictures" go test -vet=off -count=1 -v -tags=browser,nomsgpack -run Pictures .

install: build ## waymark, and what hosts call for their hooks, into go's bin directory
	@bin="$$(go env GOBIN)"; bin="$${bin:-$$(go env GOPATH)/bin}"; mkdir -p "$$bin"; install -m 755 bin/waymark bin/waymark-hook "$$bin"; echo "installed in $$bin"

# Packages with goroutines or locks of their own, or with numeric.Each: all others have nothing to race. cmd/waymark starts the program
# as it is built, without the detector; score/contribution uses sync for tables that are read once.
RACED = $(shell { GOFLAGS='$(GOFLAGS)' GOWORK='$(GOWORK)' go list -f '{{range .Imports}}{{if or (eq . "sync") (eq . "sync/atomic")}}{{$$.ImportPath}} {{end}}{{end}}' $(ALL) | tr ' ' '\n'; \
	grep -rl --include='*.go' --exclude='*_test.go' --exclude-dir=lab 'numeric[.]Each' . | sed 's|/[^/]*$$||; s|^\.|waymark|'; } | sort -u | grep -v '/cmd/waymark$$\|/score/contribution$$')

# Of these, kernels compute or ask on several processors and have nothing else to race: the tests that do so say it in
# their names.
KERNELS = $(filter waymark/graph waymark/suggest/evaluate waymark/suggest/learn waymark/suggest/learn/% waymark/score waymark/suggest/semantic waymark/spectral waymark/suggest,$(RACED))
SPREAD  = OnAnyNumberOf|Readers|Concurrently

# Everywhere else sums run without the detector, which slows them down twentyfold: half the time of a server's tests.
SUMS = $(foreach p,waymark/graph waymark/suggest/learn/... waymark/suggest/semantic waymark/spectral gonum.org/...,-gcflags='$(p)=-race=false')

# Tests of servers wait for much of their time, so more of them run at once than there are processors.
TESTP ?= $(shell expr $$(getconf _NPROCESSORS_ONLN 2>/dev/null || echo 2) + 2)
TESTFLAGS = -vet=off -p $(TESTP) -timeout $(TESTTIME)

# Tests of processes and disks depend on the machine, so what failed is run once more. What passes only then is listed in
# bin/flaky.txt: such a test is mended or deleted next.
GOTESTSUM = go run gotest.tools/gotestsum@v1.13.0 --format pkgname --hide-summary=skipped --rerun-fails=1 --rerun-fails-max-failures=5 --rerun-fails-report=bin/flaky.txt

# The race detector needs cgo and a C compiler; without them the tests still run.
test: ## vet, then all tests, then those of what is concurrent under the race detector
	go vet $(ALL)
	@mkdir -p bin; : >bin/flaky.txt
	$(GOTESTSUM) --packages="$(ALL)" -- $(TESTFLAGS)
	@cat bin/flaky.txt
	@set -e; if [ "$$(go env CGO_ENABLED)" = 1 ] && command -v "$$(go env CC)" >/dev/null; then \
		$(GOTESTSUM) --packages="$(filter-out $(KERNELS),$(RACED))" -- $(TESTFLAGS) -race -short $(SUMS); \
		cat bin/flaky.txt; \
		$(GOTESTSUM) --packages="$(KERNELS)" -- $(TESTFLAGS) -race -short -run '$(SPREAD)'; \
	else \
		echo "no C compiler: nothing is tested under the race detector"; \
	fi

# The official MCP software is written for Node. It is installed for the test and removed after it.
conformance: ## the official TypeScript client and the official conformance suites; needs Node 22 or newer
	@node -e 'process.exit(parseInt(process.versions.node) >= 22 ? 0 : 1)' 2>/dev/null || { \
		echo 'make conformance needs Node 22 or newer, found: '"$$(node --version 2>/dev/null || echo none)"'. To get it for this shell:'; \
		echo '  d=$$(mktemp -d) && npm install --prefix "$$d" node@22 && PATH="$$d/node_modules/.bin:$$PATH"'; exit 1; }
	@$(MAKE) --no-print-directory build
	@set -e; dir=$$(mktemp -d); trap 'rm -rf "$$dir"' EXIT; cp server/conformance/* "$$dir"; \
	npm install --silent --no-audit --no-fund --no-package-lock --prefix "$$dir"; \
	go test -vet=off -trimpath -c -o "$$dir/fixtures" ./server; \
	node "$$dir/run.mjs" "$$PWD/bin/waymark" "$$dir/fixtures"

# Of the scorers spectral takes the schemas in the examples for schemas of the API.
lint-api: build ## the OpenAPI description under redocly and spectral, both without a warning; needs Node 20 or newer
	@set -e; dir=$$(mktemp -d); trap 'kill $$pid 2>/dev/null; rm -rf "$$dir"' EXIT; \
	bin/waymark serve --data "$$dir/data" --addr 127.0.0.1:0 --json >"$$dir/urls" & pid=$$!; \
	until [ -s "$$dir/urls" ]; do sleep 1; done; cd "$$dir"; \
	curl -sf -o openapi.json "$$(sed -n 's,.*"api": *"\([^"]*\)/v1".*,\1,p' urls)/openapi.json"; \
	printf '%s\n' 'extends: ["spectral:oas"]' 'overrides: [{files: ["openapi.json#/paths/~1v1~1scorers"], rules: {array-items: "off"}}]' >.spectral.yaml; \
	npm install --silent --no-audit --no-fund --no-package-lock @redocly/cli@2.77.0 @stoplight/spectral-cli@6.16.3; \
	npx redocly lint --extends recommended --format stylish openapi.json 2>&1 | tee redocly.out; ! grep -q warning redocly.out; \
	npx spectral lint --fail-severity hint openapi.json

lint: ## formatting, vet with each module by itself, staticcheck
	@unformatted=$$(gofmt -l .); if [ -n "$$unformatted" ]; then echo "not formatted (make fmt):"; echo "$$unformatted"; exit 1; fi
	GOWORK=off go vet ./...
	[ ! -d lab ] || (cd lab && GOWORK=off go vet ./...)
	cd server/page/browser && GOWORK=off go vet -tags=browser,nomsgpack ./...
	go run $(STATICCHECK) $(ALL)

fmt: ## format all Go files
	gofmt -w .

completions: build ## bin/completions: what the shells complete, for packages
	@mkdir -p bin/completions; bin/waymark completion bash >bin/completions/waymark.bash; bin/waymark completion zsh >bin/completions/_waymark
	@bin/waymark completion fish >bin/completions/waymark.fish; bin/waymark completion powershell >bin/completions/waymark.ps1

package: VERSION := v$(shell sed -n 's/^version: //p' packaging/nfpm/nfpm.yaml)
package: completions ## validate packaging by what is here; TOOLS=run fetches validators
	TOOLS=$(TOOLS) sh packaging/check.sh

# A folder with an offline copy of the database of vulnerabilities (index/db.json, ID/…); the net without it.
VULNDB     ?=
GOVULNCHECK = golang.org/x/vuln/cmd/govulncheck@v1.9.0

vulncheck: ## known vulnerabilities in code that is called; VULNDB=path: an offline copy of the database
	GOWORK=off go run $(GOVULNCHECK) $(if $(VULNDB),-db "file://$(abspath $(VULNDB))") -test ./...

GOLICENSES = github.com/google/go-licenses@v1.6.0
ALLOWED    = Apache-2.0,BSD-2-Clause,BSD-3-Clause,CC0-1.0,ISC,MIT,MPL-2.0,Unlicense

licences: ## the licences of all packages in the programs; fails where one is unknown or not allowed
	GOWORK=off go run $(GOLICENSES) check --logtostderr=false --stderrthreshold=ERROR --log_file=/dev/null --allowed_licenses $(ALLOWED) ./cmd/waymark ./cmd/waymark-hook

# What is committed, not what is only in the working tree. FRESH=1 compiles all libraries again as well.
reproducible: ## build the last commit in two folders: the programs must have the same bytes
	@set -e; dir=$$(mktemp -d); trap 'chmod -R u+w "$$dir"; rm -rf "$$dir"' EXIT; for folder in a other/longer/b; do \
		git clone -q --no-hardlinks . "$$dir/$$folder"; \
		if [ -n "$(FRESH)" ]; then export GOCACHE="$$dir/cache-$$(basename $$folder)"; fi; \
		(cd "$$dir/$$folder" && GOWORK=off CGO_ENABLED=0 go build -trimpath -ldflags "-s -w" -o bin/waymark ./cmd/waymark); \
	done; cmp "$$dir/a/bin/waymark" "$$dir/other/longer/b/bin/waymark"; \
	echo "$$(git rev-parse --short HEAD) is built to the same bytes: sha256 $$(sha256sum <"$$dir/a/bin/waymark" | cut -d' ' -f1)"

bench: ## benchmarks by size, with gonum in the same run, then ratios and growth; the output stays in bench.out
	go test -run '^$$' -bench '$(BENCH)' -benchmem -benchtime $(BENCHTIME) -count $(COUNT) -timeout 4h $(PKG) | go run ./lab/bench/summary -keep bench.out

GUARDED = go test -vet=off -run '^$$' -benchtime 300ms -count 5 -timeout 1h

bench-guard: ## ten ratios beside the recorded ones (lab/bench/ratios.tsv), least of five runs; fails where one fell by a fifth. RECORD=1 records them
	{ $(GUARDED) -bench '^BenchmarkPageRank$$/1e-06/^tools=10{3,4}$$' ./graph && $(GUARDED) -bench '^Benchmark(Communities|Hops)$$/^tools=1000$$' ./graph && \
	$(GUARDED) -bench '^BenchmarkCommunities$$/^tools=10000$$/waymark' ./graph && \
	$(GUARDED) -bench '^BenchmarkClusterDense$$' ./spectral && \
	$(GUARDED) -bench '^BenchmarkSuggest$$/^op=(next|next-intent|search|dag)$$/^tools=10000$$' ./suggest || echo FAIL; } | \
	go run ./lab/bench/summary -guard lab/bench/ratios.tsv $(if $(RECORD),-record)

benchstat: ## what changed between OLD and bench.out
	go run $(BENCHSTAT) $(OLD) bench.out

bench-peers: ## ours beside other programs, on the same generated data; says which are missing
	@test -n "$(DIR)" || { echo "make bench-peers DIR=path: the folder of the generator and the peers (go run ./lab/bench/peers -h)"; exit 2; }
	go run ./lab/bench/peers -source "$(DIR)" -scratch "$(SCRATCH)" -sizes "$(SIZES)" -tasks "$(TASKS)" $(PEERFLAGS)

quality: build ## evaluate on every data set in DIR and write docs/lab/quality.md
	@test -n "$(DIR)" || { echo "make quality DIR=path: a folder of data sets, one folder each"; exit 2; }
	go run ./lab/quality -dir "$(DIR)" -program bin/waymark -keep "$(KEEP)"

firstcontact: ## ask for the requests and needs of DIR/reworded in other words; HALF=develop, held or both
	@test -n "$(DIR)" || { echo "make firstcontact DIR=path: a folder of data sets, one folder each, and reworded"; exit 2; }
	go run ./lab/firstcontact -datasets "$(DIR)" -half "$(or $(HALF),develop)" -everyday lab/firstcontact/testdata/everyday -foreign lab/firstcontact/testdata/foreign.jsonl

# The history that make recompute takes: at most 256 tools and capabilities.
DATASET    ?= sample

recompute: build ## 500 answers of profile seed by a program that shares no code: no rank may differ; needs Python 3.10 or newer
	@set -e; dir=$$(mktemp -d); trap 'kill $$pid 2>/dev/null; wait; rm -rf "$$dir"' EXIT; \
	bin/waymark import "$(DATASET)" --data "$$dir/data"; \
	bin/waymark serve --data "$$dir/data" --addr 127.0.0.1:0 --json >"$$dir/urls" & pid=$$!; \
	until [ -s "$$dir/urls" ]; do sleep 1; done; \
	python3 lab/seed/recompute.py "$(DATASET)" "$$(sed -n 's,.*"api": *"\([^"]*\)/v1".*,\1,p' "$$dir/urls")"

wordvectors: ## make the word vectors from DIR/mcp_catalog/tools.jsonl and from GLOVE, English vectors; NOTICE names sources and sha256
	@test -n "$(DIR)" -a -n "$(GLOVE)" || { echo "make wordvectors DIR=path GLOVE=file: a folder of data sets, one folder each, and English vectors as text"; exit 2; }
	go run ./lab/wordvectors -tools "$(DIR)/mcp_catalog/tools.jsonl" -english "$(GLOVE)"

# Answers that are kept as files, so that a change of any of them shows in review. What is written is to be read.
golden: ## write the files of the mission oracle, of the surface and SIZE anew
	go test -vet=off -count=1 ./cmd/waymark -run 'TestOracle|TestSurface' -update
	go test -vet=off -count=1 ./internal/importtest -run TestSize -update

mutation: ## change 60 constants and operators of the kernels and the predictor one by one: the short tests must notice them
	go run ./lab/mutation

# Rounds of each kill loop of make soak.
KILLS ?= 500

# Kills, power cuts, damage, full disks, clock steps, overload: their short forms are part of make test.
FAULTS = Kill|PowerCut|Damage|FailedCommit|Disk|Clock|Load|Attacks|Faults|Map|Histories|Postgres|Standby|Happens|Transcript
LONG   = WAYMARK_KILL_ROUNDS=$(KILLS) WAYMARK_CUTS=100 WAYMARK_DAMAGES=20 WAYMARK_MAPS=20000 WAYMARK_LOAD_TIME=10m WAYMARK_LOOP_ROUNDS=1000

# The long forms, then every fuzz target looks for new inputs. The minimiser gets five tries an input: with its minute
# for each, targets with large seeds do hardly anything else.
soak: ## long tests of faults; ends by itself; KILLS=10000
	$(LONG) go test -vet=off -p 1 -count=1 -v -timeout 24h -run '$(FAULTS)' ./...
	@$(MAKE) --no-print-directory fuzz

# With 10,000 executions a minute the mutator reaches beyond the seeds.
# go test now and then fails a target because its own time is over, without an input that failed.
fuzz: ## every fuzz target for FUZZSECONDS, with its executions; fails where one has fewer than 10,000 a minute
	@set -e; least=$$(($(FUZZSECONDS) * 10000 / 60)); slow=; for pkg in $$(go list $(ALL)); do \
		for target in $$(go test -list '^Fuzz' $$pkg | grep '^Fuzz' || true); do \
			out=$$(go test -vet=off -run '^$$' -fuzz "^$$target\$$" -fuzztime $(FUZZSECONDS)s -fuzzminimizetime 5x $$pkg 2>&1) || \
				{ ! echo "$$out" | grep -q 'Failing input' && echo "$$out" | grep -q 'context deadline exceeded'; } || { echo "$$out"; exit 1; }; \
			n=$$(echo "$$out" | grep -o 'execs: [0-9]*' | tail -1 | tr -dc 0-9); n=$${n:-0}; \
			printf '%10d  %s %s\n' "$$n" "$$pkg" "$$target"; \
			[ "$$n" -ge $$least ] || slow="$$slow $$pkg.$$target"; \
		done; \
	done; [ -z "$$slow" ] || { echo "fewer than $$least executions:$$slow"; exit 1; }
