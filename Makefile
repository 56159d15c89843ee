# Everything a developer does, in one place. Only Go is needed; the module proxy gives the rest.

STATICCHECK = honnef.co/go/tools/cmd/staticcheck@v0.8.2
TESTTIME   ?= 20m
FUZZTIME   ?= 60s

.PHONY: build run install test lint fmt bench soak

build: ## bin/waymark, static and reproducible
	CGO_ENABLED=0 go build -trimpath -o bin/waymark ./cmd/waymark

run: build ## serve the bundled sample on http://127.0.0.1:7070
	bin/waymark serve --data ./.waymark --sample

install: ## waymark into go's bin directory
	go install ./cmd/waymark

# The race detector needs cgo and a C compiler; without them the tests still run.
test: ## vet, then all tests under the race detector
	go vet ./...
	@if [ "$$(go env CGO_ENABLED)" = 1 ] && command -v "$$(go env CC)" >/dev/null; then \
		echo "go test -race -timeout $(TESTTIME) ./..."; \
		go test -race -timeout $(TESTTIME) ./...; \
	else \
		echo "no C compiler: testing without the race detector"; \
		go test -timeout $(TESTTIME) ./...; \
	fi

lint: ## formatting, vet, staticcheck
	@unformatted=$$(gofmt -l .); if [ -n "$$unformatted" ]; then echo "not formatted (make fmt):"; echo "$$unformatted"; exit 1; fi
	go vet ./...
	go run $(STATICCHECK) ./...

fmt: ## format all Go files
	gofmt -w .

bench: ## all benchmarks, once; add -count for benchstat through GOFLAGS
	go test -run '^$$' -bench . -benchmem ./...

# Kills a recording server hundreds of times, then lets every fuzz target look for new inputs.
soak: ## long tests; ends by itself
	WAYMARK_KILL_ROUNDS=500 go test -timeout 4h -run 'Kill' ./...
	@set -e; for pkg in $$(go list ./...); do \
		for target in $$(go test -list '^Fuzz' $$pkg | grep '^Fuzz' || true); do \
			echo "fuzz $$pkg $$target for $(FUZZTIME)"; \
			go test -run '^$$' -fuzz "^$$target\$$" -fuzztime $(FUZZTIME) $$pkg; \
		done; \
	done
