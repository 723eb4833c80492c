# Everything a developer does. `make test` installs nothing; `make deps` installs what else the tests can use.
GO ?= go
STATICCHECK := honnef.co/go/tools/cmd/staticcheck@v0.8.2
DOCKERFILE_UTILS := dockerfile-utils@0.16.3
SUDO := $(shell [ "$$(id -u)" = 0 ] || command -v sudo)

.PHONY: build check test test-again test-race test-race-models test-subgroups test-calls test-go test-pure test-dist ci cross dist fuzz kills lint bench bench-gpu-kit deps cover shaders asm asm-check

build: ## the program, in ./sftseq
	$(GO) build -o sftseq ./cmd/sftseq

dist: ## archives of a release, in dist; see docs/install.md
	rm -rf dist && CGO_ENABLED=0 $(GO) run -trimpath ./internal/dist -out dist

# Checks a change within a minute: gofmt, go vet, and the tests of most packages with -short.
# The larger half of the suite is cmd/sftseq, sft/train and vk; make test runs all of it.
check:
	@test -z "$$(gofmt -l .)" || { gofmt -l .; echo "run gofmt -w on these"; exit 1; }
	$(GO) vet ./...
	$(GO) test -short -vet=off $$($(GO) list ./... | grep -vE '/(cmd/.*|sft|sft/train|vk)$$')

# The whole suite. It installs nothing and needs no root: its last lines name the tests that were
# left out because the machine lacks something. With CI=true such a test fails (internal/testenv).
# One package more is tested at a time than there are processors, because the longest ones wait a lot.
PROCESSORS := $(shell nproc 2>/dev/null || echo 2)
test:
	@list=$$(mktemp) && trap 'rm -f "$$list"' EXIT && status=0; \
	SFTSEQ_LEFT_OUT=$$list $(GO) test -p $$(($(PROCESSORS) + 1)) -vet=off -timeout 20m ./... || status=$$?; \
	sort -u "$$list" | awk -F '\t' '$(LEFT_OUT)'; exit $$status

# Prints for each thing that is missing the tests that need it.
LEFT_OUT = NR == 1 { print "\nLeft out, because this machine lacks what these tests need:" } \
    $$1 != what { printf "%s  %s:", what == "" ? "" : "\n", $$1; what = $$1; package = "" } \
    $$2 != package { printf " %s", $$2; package = $$2 } \
    { printf " %s", $$3 } \
    END { if (NR) print "\nmake deps installs programs, drivers and packages on Debian." }

# Repeats the tests that find more under another condition; the tests decide which ones do. As
# many run at once as there are processors: concurrent code under the race detector; shaders
# with subgroups of 4, 16 and 32 beside the 8 of most processors; calls into Vulkan with their pointers checked,
# and under the race detector; kernels of the processor without assembly; and the program
# without cgo. The race detector's packages are in two parts, so that no processor waits for
# the longest one at the end; the second comes after the shaders, when the first has compiled
# what both import.
test-again:
	@$(MAKE) --no-print-directory -j $(PROCESSORS) test-race test-subgroups test-race-models test-go test-calls test-pure

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

# All that a change must pass.
ci: deps
	$(MAKE) test test-again lint cross test-dist

# The archives and images of a release, which take long because they compile the program for
# other systems.
test-dist:
	SFTSEQ_DIST=1 $(GO) test -timeout 30m ./internal/dist

# Without cgo the program compiles for other systems and processors; what computes is
# tested on arm64, too, where an emulator is installed. -trimpath as for releases, whose test
# has compiled the packages for Windows already.
EMULATOR := $(shell command -v qemu-aarch64-static)
cross:
	for target in linux/arm64 darwin/arm64 windows/amd64; do \
	    CGO_ENABLED=0 GOOS=$${target%/*} GOARCH=$${target#*/} $(GO) build -trimpath -o /dev/null ./... || exit 1; \
	done
	CGO_ENABLED=0 $(GO) build -trimpath ./...
	@[ -n '$(EMULATOR)' ] || echo 'qemu-aarch64-static is not installed: nothing was run on arm64'
	[ -z '$(EMULATOR)' ] || CGO_ENABLED=0 GOARCH=arm64 $(GO) test -timeout 15m -short -exec '$(EMULATOR)' \
	    ./internal/fmath ./internal/philox ./internal/simd ./internal/tensor ./internal/cpu

# Every fuzz target for a time, one after the other; FUZZ picks some by a regular
# expression, such as seq or table.FuzzJSON. An input that fails is kept in the package's
# testdata/fuzz, where go test finds it.
FUZZTIME ?= 10s
FUZZ ?= .
fuzz:
	$(GO) run ./internal/fuzz -time $(FUZZTIME) -match '$(FUZZ)'

# The program is killed at random moments while it trains, pretrains, generates, converts and serves an
# index: nothing is torn, nothing that was acknowledged is lost, a resumed run has the same
# bits. The tests do it 20 times.
KILLS ?= 1000
kills:
	$(GO) test ./cmd/sftseq -count 1 -timeout 0 -v -run '^TestKills' -kills $(KILLS)

lint: asm-check
	@test -z "$$(gofmt -l .)" || { gofmt -l .; echo "run gofmt -w on these"; exit 1; }
	$(GO) vet ./...
	for d in go components molecules superpixels; do (cd examples/$$d && $(GO) vet ./...) || exit 1; done
	$(GO) run $(STATICCHECK) ./...
	npx --yes $(DOCKERFILE_UTILS) lint Dockerfile

bench:
	$(GO) test -run '^$$' -bench . -benchmem ./internal/... ./sinusoid/... ./seq/...

# What measures a graphics processor, in one folder to be taken to a machine with
# nothing but a driver; see docs/performance.md. There ./run.sh. The libraries are
# the loader, and what drivers ask for on a machine without a display; they are used
# only where those of the machine find nothing.
KIT := gpu-kit
KIT_PACKAGES := libvulkan1 libglvnd0 libglx0 libegl1 libx11-6 libxext6 libxcb1 libxau6 libxdmcp6 libbsd0 libmd0
PEER ?= $(wildcard ../shared/peer/sft_torch_gpu.py)
bench-gpu-kit:
	rm -rf $(KIT) && mkdir -p $(KIT)/lib
	CGO_ENABLED=1 $(GO) build -trimpath -ldflags '-s -w' -o $(KIT)/sftseq ./cmd/sftseq
	CGO_ENABLED=0 $(GO) build -trimpath -ldflags '-s -w' -o $(KIT)/report ./internal/bench/gpukit
	cp -r internal/bench/gpukit/run.sh internal/bench/gpukit/configs sft/testdata/golden $(KIT)
	@if [ -n '$(PEER)' ]; then cp '$(PEER)' $(KIT)/sft_torch_gpu.py && chmod u+w $(KIT)/sft_torch_gpu.py; \
	    else echo 'without PyTorch to compare with: PEER=path/to/sft_torch_gpu.py takes its program along'; fi
	@d=$$(mktemp -d) && trap 'rm -rf "$$d"' EXIT && cd $$d && if apt-get -o APT::Sandbox::User=root download -qq $(KIT_PACKAGES); then \
	    for p in *.deb; do dpkg -x $$p . || exit 1; done && find usr/lib -type l -name 'lib*.so.*' -exec cp -L {} '$(CURDIR)/$(KIT)/lib' ';'; \
	    else echo 'without a Vulkan loader: the machine must have one'; fi
	@size=$$(du -sm $(KIT) | cut -f 1); echo "$(KIT): $$size MiB"; [ $$size -lt 100 ]

cover:
	SFTSEQ_DIST=1 $(GO) test -coverprofile=cover.out -timeout 30m ./...
	$(GO) tool cover -func=cover.out | tail -1

# Debian's PyTorch checks docs/python.md; Mesa's processor driver runs the Vulkan
# device, watched by the validation layer; the compilers check the shaders; jq and
# Node.js, wherever it is from, run the clients in examples/, and ONNX Runtime in it exported
# models; Chromium opens reports, whose text needs a font; QEMU runs tests for arm64; GNU parallel and the launchers of MPI
# and Slurm start several processes; Neovim shows spans; nginx and Caddy stand in front of the server; Compose checks a
# file; flit builds the client for Python; fish, zsh and man show completions and the manual page;
# Buildah builds images, of a Debian that mmdebstrap makes. Without apt all that is left to the user.
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
	    echo "$$p is not to be had: the tests that need it will be skipped"; \
	done
	@[ -x $(SHADER_TOOLS)/bin/spirv-val ] || shaders/newer-tools.sh $(SHADER_TOOLS) >/dev/null || \
	    echo "newer compilers are not to be had: shaders with cooperative matrices will not be checked"
	@for d in $(NODE_PACKAGES); do \
	    [ $$d/node_modules/.package-lock.json -nt $$d/package-lock.json ] || \
	    (cd $$d && npm ci --silent --ignore-scripts && npm run --silent --if-present build) || \
	    echo "npm's packages of $$d are not to be had: the tests that need them will be skipped"; \
	done

# The SPIR-V of shaders that have changed. Cooperative matrices need newer tools
# than Debian 12 has.
shaders: $(SHADER_TOOLS)/bin/spirv-val
	$(GO) run ./shaders/internal/gen -glslang-coopmat $(SHADER_TOOLS)/bin/glslang -spirv-val-coopmat $(SHADER_TOOLS)/bin/spirv-val

$(SHADER_TOOLS)/bin/spirv-val:
	shaders/newer-tools.sh $(SHADER_TOOLS)

# The assembly of internal/simd, from its generator.
SIMD ?= internal/simd
asm:
	cd $(SIMD)/gen && for f in gemm attention elementwise peak; do \
	    $(GO) run . -family $$f -out ../$${f}_amd64.s || exit 1; \
	done

# What is committed is what the generator writes.
asm-check:
	@d=$$(mktemp -d) && trap 'rm -rf "$$d"' EXIT && cp -r internal/simd/gen $$d && $(MAKE) -s asm SIMD=$$d && \
	    for f in $$d/*amd64*; do cmp $$f internal/simd/$$(basename $$f) || { echo "run make asm"; exit 1; }; done
