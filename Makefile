# The tasks of a developer. `make test` installs nothing; `make deps` installs the optional dependencies of the tests.
GO ?= go
STATICCHECK := honnef.co/go/tools/cmd/staticcheck@v0.8.2
DOCKERFILE_UTILS := dockerfile-utils@0.16.3
SUDO := $(shell [ "$$(id -u)" = 0 ] || command -v sudo)

.PHONY: build check test test-again test-race test-race-models test-subgroups test-calls test-go test-pure test-dist ci cross dist fuzz kills edits lint bench bench-gpu-kit deps cover shaders asm asm-check

build: ## compile the program to ./sftseq
	$(GO) build -o sftseq ./cmd/sftseq

dist: ## write the archives of a release to dist; see docs/install.md
	rm -rf dist && CGO_ENABLED=0 $(GO) run -trimpath ./internal/dist -out dist

# Checks a change within a minute: gofmt, go vet, and the tests of most packages with -short.
# It leaves out cmd, sft, sft/train and vk, the larger half of the suite; make test runs all packages.
check:
	@test -z "$$(gofmt -l .)" || { gofmt -l .; echo "run gofmt -w on these"; exit 1; }
	$(GO) vet ./...
	$(GO) test -short -vet=off $$($(GO) list ./... | grep -vE '/(cmd/.*|sft|sft/train|vk)$$')

# Runs the whole suite. It installs nothing and does not need root. Its last lines name the skipped tests
# and the missing dependencies. With CI=true a missing dependency is a failure (internal/testenv).
# It tests CPUS + 1 packages concurrently, because the longest packages mostly wait.
CPUS := $(shell nproc 2>/dev/null || echo 2)
test:
	@list=$$(mktemp) && trap 'rm -f "$$list"' EXIT && status=0; \
	SFTSEQ_LEFT_OUT=$$list $(GO) test -p $$(($(CPUS) + 1)) -vet=off -timeout 20m ./... || status=$$?; \
	sort -u "$$list" | awk -F '\t' '$(LIST_SKIPPED)'; exit $$status

# Prints each missing dependency, followed by the tests that need it.
LIST_SKIPPED = NR == 1 { print "\nSkipped tests, by missing dependency:" } \
    $$1 != dependency { printf "%s  %s:", dependency == "" ? "" : "\n", $$1; dependency = $$1; package = "" } \
    $$2 != package { printf " %s", $$2; package = $$2 } \
    { printf " %s", $$3 } \
    END { if (NR) print "\nmake deps installs programs, drivers and packages on Debian." }

# Repeats tests under other conditions; each test decides whether a condition applies to it. The
# conditions run concurrently, at most one per CPU: the race detector for concurrent code; shaders with
# subgroups of 4, 16 and 32 in addition to the usual 8; calls into Vulkan with checked pointers and
# the race detector; CPU kernels without assembly; and devices without cgo. The packages for the race
# detector are divided into two targets, so that no CPU waits for the longest package at the end. The
# second target comes after the shaders, when the first has compiled the common imports.
test-again:
	@$(MAKE) --no-print-directory -j $(CPUS) test-race test-subgroups test-race-models test-go test-calls test-pure

AGAIN := $(GO) test -p 1 -vet=off -timeout 20m
test-race:
	$(AGAIN) -race -short ./cmd/sftseq ./internal/serve/... ./internal/convert ./internal/index
test-race-models:
	$(AGAIN) -race -short ./sft/... ./internal/cpu ./seq
test-subgroups:
	for bits in 128 512 1024; do LP_NATIVE_VECTOR_WIDTH=$$bits $(AGAIN) ./vk || exit 1; done
test-calls:
	GOEXPERIMENT=cgocheck2 $(AGAIN) -race ./vk
test-go:
	SFTSEQ_SIMD=go $(AGAIN) -short ./sft/... ./cmd/sftseq
test-pure:
	CGO_ENABLED=0 $(AGAIN) ./vk ./device

# Runs all checks that a change must pass.
ci: deps
	$(MAKE) test test-again lint cross test-dist

# Tests the archives and images of a release. It is slow because it compiles the program for other
# systems.
test-dist:
	SFTSEQ_DIST=1 $(GO) test -timeout 30m ./internal/dist

# Compiles all packages without cgo, for other systems and architectures and for this one. If an
# emulator is installed, it also tests the numerical packages on arm64. Because of -trimpath, which
# releases use as well, test-dist reuses the packages for Windows that this target has compiled.
EMULATOR := $(shell command -v qemu-aarch64-static)
cross:
	for target in linux/arm64 darwin/arm64 windows/amd64; do \
	    CGO_ENABLED=0 GOOS=$${target%/*} GOARCH=$${target#*/} $(GO) build -trimpath -o /dev/null ./... || exit 1; \
	done
	CGO_ENABLED=0 $(GO) build -trimpath ./...
	@[ -n '$(EMULATOR)' ] || echo 'qemu-aarch64-static is not installed: nothing was run on arm64'
	[ -z '$(EMULATOR)' ] || CGO_ENABLED=0 GOARCH=arm64 $(GO) test -timeout 15m -short -exec '$(EMULATOR)' \
	    ./internal/fmath ./internal/philox ./internal/simd ./internal/tensor ./internal/cpu

# Runs the fuzz targets one after the other, FUZZTIME each. FUZZ selects targets by a regular
# expression, such as seq or table.FuzzJSON. A failing input is stored in the package's
# testdata/fuzz, where go test finds it.
FUZZTIME ?= 10s
FUZZ ?= .
fuzz:
	$(GO) run ./internal/fuzz -time $(FUZZTIME) -match '$(FUZZ)'

# Kills the program at random moments while it trains, pretrains, generates, converts, predicts shards
# and serves an index. Each of the eight tests makes KILLS/6 kills. They check that no file is
# half-written, that no acknowledged change is lost, and that a resumed run is bitwise identical to an
# uninterrupted one. The ordinary tests make three kills each.
KILLS ?= 1000
kills:
	$(GO) test ./cmd/sftseq -count 1 -timeout 0 -v -run '^TestKills' -kills $(KILLS)

# Edits documents of chunked models at random, and compares each result with a computation from
# scratch, on the CPU, on Vulkan and through the server. The ordinary tests make about 200 edits.
EDITS ?= 10000
edits:
	$(GO) test ./sft -count 1 -timeout 0 -v -run 'Edits$$' -edits $(EDITS)
	$(GO) test ./internal/serve -count 1 -timeout 0 -v -run '^TestEditChunks' -edits $(EDITS)

lint: asm-check
	@test -z "$$(gofmt -l .)" || { gofmt -l .; echo "run gofmt -w on these"; exit 1; }
	$(GO) vet ./...
	for d in go components molecules superpixels; do (cd examples/$$d && $(GO) vet ./...) || exit 1; done
	$(GO) run $(STATICCHECK) ./...
	npx --yes $(DOCKERFILE_UTILS) lint Dockerfile

bench:
	$(GO) test -run '^$$' -bench . -benchmem ./internal/... ./sinusoid/... ./seq/...

# Packs the GPU benchmarks into one folder for a machine that has only a driver; run.sh in the folder starts
# them (see docs/performance.md). The packed libraries are the Vulkan loader and the libraries that drivers
# need on a machine without a display. run.sh uses them only if the machine's own libraries find no GPU.
KIT := gpu-kit
KIT_PACKAGES := libvulkan1 libglvnd0 libglx0 libegl1 libx11-6 libxext6 libxcb1 libxau6 libxdmcp6 libbsd0 libmd0
PEER ?= $(wildcard ../shared/peer/sft_torch_gpu.py)
bench-gpu-kit:
	rm -rf $(KIT) && mkdir -p $(KIT)/lib
	CGO_ENABLED=1 $(GO) build -trimpath -ldflags '-s -w' -o $(KIT)/sftseq ./cmd/sftseq
	CGO_ENABLED=0 $(GO) build -trimpath -ldflags '-s -w' -o $(KIT)/report ./internal/bench/gpukit
	cp -r internal/bench/gpukit/run.sh internal/bench/gpukit/configs sft/testdata/golden $(KIT)
	@if [ -n '$(PEER)' ]; then cp '$(PEER)' $(KIT)/sft_torch_gpu.py && chmod u+w $(KIT)/sft_torch_gpu.py; \
	    else echo 'no PyTorch program to compare with: set PEER=path/to/sft_torch_gpu.py to include it'; fi
	@d=$$(mktemp -d) && trap 'rm -rf "$$d"' EXIT && cd $$d && if apt-get -o APT::Sandbox::User=root download -qq $(KIT_PACKAGES); then \
	    for p in *.deb; do dpkg -x $$p . || exit 1; done && find usr/lib -type l -name 'lib*.so.*' -exec cp -L {} '$(CURDIR)/$(KIT)/lib' ';'; \
	    else echo 'the folder has no Vulkan loader: the other machine must have one'; fi
	@size=$$(du -sm $(KIT) | cut -f 1); echo "$(KIT): $$size MiB"; [ $$size -lt 100 ]

cover:
	SFTSEQ_DIST=1 $(GO) test -coverprofile=cover.out -timeout 30m ./...
	$(GO) tool cover -func=cover.out | tail -1

# Installs the optional dependencies of the tests. Without apt it installs only Go and npm packages.
#   PyTorch                       checks docs/python.md
#   Mesa's CPU driver             runs the Vulkan device under the validation layer
#   glslang, SPIRV-Tools          check the shaders
#   jq, Node.js, ONNX Runtime     run the clients in examples/ and exported models
#   Chromium, a font              open reports
#   QEMU                          runs tests for arm64
#   GNU parallel, MPI, Slurm      start several processes
#   Neovim                        shows spans
#   nginx, Caddy                  are proxies in front of the server
#   Compose                       checks a deployment file
#   systemd                       checks a service unit
#   iproute2                      connects network namespaces
#   flit                          builds the client for Python
#   fish, zsh, man                show completions and the manual page
#   Buildah, mmdebstrap           build images
PACKAGES := mesa-vulkan-drivers libvulkan1 vulkan-validationlayers glslang-tools spirv-tools fonts-dejavu-core qemu-user-static libpmix-dev
COMMANDS := jq:jq mpirun.openmpi:openmpi-bin mpirun.mpich:mpich ip:iproute2 parallel:parallel \
    sbatch:slurm-client slurmctld:slurmctld slurmd:slurmd munged:munge node:nodejs npm:npm chromium:chromium \
    fish:fish zsh:zsh man:man-db buildah:buildah mmdebstrap:mmdebstrap systemd-analyze:systemd flit:flit nvim:neovim \
    nginx:nginx-light caddy:caddy docker-compose:docker-compose
NODE_PACKAGES := examples/node examples/onnx examples/web clients/typescript cmd/sftseq/testdata/npm cmd/sftseq/testdata/web-clients
SHADER_TOOLS := .tools
deps:
	$(GO) mod download
	@command -v apt-get >/dev/null || exit 0; \
	missing=; \
	/usr/bin/python3 -c 'import torch' 2>/dev/null || missing=python3-torch; \
	for p in $(PACKAGES); do \
	    dpkg -s $$p 2>/dev/null | grep -q '^Status: .* installed$$' || missing="$$missing $$p"; \
	done; \
	for c in $(COMMANDS); do \
	    command -v $${c%:*} >/dev/null || missing="$$missing $${c#*:}"; \
	done; \
	[ -z "$$missing" ] || $(SUDO) apt-get update -qq; \
	for p in $$missing; do \
	    $(SUDO) apt-get install -y -qq --no-install-recommends $$p >/dev/null || \
	    echo "could not install $$p: the tests that need it will be skipped"; \
	done
	@[ -x $(SHADER_TOOLS)/bin/spirv-val ] || shaders/newer-tools.sh $(SHADER_TOOLS) >/dev/null || \
	    echo "could not install newer shader compilers: shaders with cooperative matrices will not be checked"
	@for d in $(NODE_PACKAGES); do \
	    [ $$d/node_modules/.package-lock.json -nt $$d/package-lock.json ] || \
	    (cd $$d && npm ci --silent --ignore-scripts && npm run --silent --if-present build) || \
	    echo "could not install the npm packages of $$d: the tests that need them will be skipped"; \
	done

# Compiles changed shaders to SPIR-V. Cooperative matrices need newer tools than those of Debian 12.
shaders: $(SHADER_TOOLS)/bin/spirv-val
	$(GO) run ./shaders/internal/gen -glslang-coopmat $(SHADER_TOOLS)/bin/glslang -spirv-val-coopmat $(SHADER_TOOLS)/bin/spirv-val

$(SHADER_TOOLS)/bin/spirv-val:
	shaders/newer-tools.sh $(SHADER_TOOLS)

# Generates the assembly of internal/simd.
SIMD ?= internal/simd
asm:
	cd $(SIMD)/gen && for f in gemm attention elementwise peak; do \
	    $(GO) run . -family $$f -out ../$${f}_amd64.s || exit 1; \
	done

# Checks that the committed assembly equals the generator's output.
asm-check:
	@d=$$(mktemp -d) && trap 'rm -rf "$$d"' EXIT && cp -r internal/simd/gen $$d && $(MAKE) -s asm SIMD=$$d && \
	    for f in $$d/*amd64*; do cmp $$f internal/simd/$$(basename $$f) || { echo "run make asm"; exit 1; }; done
