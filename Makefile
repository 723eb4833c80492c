# Everything a developer does. `make test` installs what it needs.
GO ?= go
STATICCHECK := honnef.co/go/tools/cmd/staticcheck@v0.8.2
DOCKERFILE_UTILS := dockerfile-utils@0.16.3
SUDO := $(shell [ "$$(id -u)" = 0 ] || command -v sudo)

.PHONY: build check test test-race test-race-models test-subgroups test-calls test-go test-pure test-dist ci cross dist fuzz kills lint bench bench-gpu-kit deps cover shaders asm asm-check

build: ## the program, in ./sftseq
	$(GO) build -o sftseq ./cmd/sftseq

dist: ## archives of a release, in dist; see docs/install.md
	rm -rf dist && CGO_ENABLED=0 $(GO) run -trimpath ./internal/dist -out dist

# What says within a minute whether a change is sound. It installs nothing: what needs
# Vulkan, MPI, PyTorch or Node.js is left to make test, and so is what tries every byte of a
# file, every pair of operands, or many of anything.
EXHAUSTIVE := ^Test(BitFlips|Damaged.*|Torn.*|Long.*|Many.*|SwappedOperands|ReplaceUnits|Threads|BatchesChangeNoBit|MemoryOfLists)$$
check:
	@test -z "$$(gofmt -l .)" || { gofmt -l .; echo "run gofmt -w on these"; exit 1; }
	$(GO) vet ./...
	$(GO) test -short -skip '$(EXHAUSTIVE)' $$($(GO) list ./internal/... | grep -v /mpi) ./seq ./sinusoid ./tokenizers ./device
	$(GO) test -short -run 'Golden|Config' ./sft

# The whole suite, of one package more than there are processors, as the first waits a lot.
# Then, as many at once as there are processors: what is concurrent under the race detector;
# the shaders with subgroups of 4, beside the 8 of most processors, and those that ask their
# subgroup also with 16 and 32, where more of the others' invocations go in step, and nothing
# can fail that does not with 4; the calls into Vulkan with their pointers checked, and under
# the race detector; what computes on the processor without assembly; what is there without
# cgo; and of a release what needs no archive. go vet is of check and lint. What
# the race detector watches is in two parts, so that no processor waits for it at the end; the
# second comes after the shaders, when the first has compiled what both import.
PROCESSORS := $(shell nproc 2>/dev/null || echo 2)
test: deps
	$(GO) test -p $$(($(PROCESSORS) + 1)) -vet=off -timeout 9m $$($(GO) list ./... | grep -v '/internal/dist$$')
	@$(MAKE) --no-print-directory -j $(PROCESSORS) test-race test-subgroups test-race-models test-go test-calls test-pure

AGAIN := $(GO) test -p 1 -vet=off -timeout 9m
test-race:
	$(AGAIN) -race -short -skip $(APART)$(ALIKE) ./cmd/sftseq
	$(AGAIN) -race -short -skip $(APART) ./internal/serve/... ./internal/convert ./internal/index
test-race-models:
	$(AGAIN) -race -short -skip $(APART) ./sft ./internal/cpu ./seq
test-subgroups:
	LP_NATIVE_VECTOR_WIDTH=128 $(AGAIN) -run '$(SUBGROUPS)|^TestConformance$$' ./vk
	for bits in 512 1024; do LP_NATIVE_VECTOR_WIDTH=$$bits $(AGAIN) -run '$(SUBGROUPS)|$(ASKING)' ./vk || exit 1; done
test-calls:
	GOEXPERIMENT=cgocheck2 $(AGAIN) -race $(VKCALLS) ./vk
test-go:
	SFTSEQ_SIMD=go $(AGAIN) -short -skip 'LockStep|FreeSteps|CheckedStep|Elsewhere|Ranks' ./sft
	SFTSEQ_SIMD=go $(AGAIN) -short -run $(COMPUTES) ./cmd/sftseq
test-pure:
	CGO_ENABLED=0 $(AGAIN) ./vk ./device
	$(AGAIN) -short ./internal/dist

# All that a change must pass.
ci: test lint cross test-dist

# The archives and images of a release, which take long because they compile the program for
# other systems.
test-dist:
	$(GO) test -timeout 30m ./internal/dist

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

# What runs with each size of subgroups; and the cases of the shaders that ask their subgroup.
SUBGROUPS := ^Test(Subgroups|AskingShaders|LongSample|Philox|Cosines)$$
ASKING := ^TestConformance$$/^(adamw|embed|leak|pool|residualscale)$$|^TestConformance$$/^attention$$/^attention_backward_.*score_0,_probability_0

# The tests of the program in which a model is trained or computes; sft has those of each task.
COMPUTES := '^Test(Predict|Grads|Embed|Eval|Train|Pretrain|CheckGolden$$|Starts|Repeat|Input|FullOutput)'

# What the race detector need not see: a browser, benchmarks, damage, trainings and simple models
# like others, comparisons with slow loops in float64 and of each launch on two devices, and
# launches that TestThreads makes, too, with more threads.
APART := 'Browser|^TestDataConvertOthers$$|^TestBench|^TestFlippedBits$$|^Test(Custom.*|MultiLabel|Regression|Tagging|Join)$$|Reference$$|^TestExplain$$|^TestCheck(edStep)?$$|^TestConformance$$'

# In cmd/sftseq also: Vulkan, whose calls VKCALLS watch; studies that measure or train, and
# simulations; runs that are repeated; a table of 150 MB; and tasks and examples of clouds, graphs
# and molecules, which go the ways of TestClouds, TestConvertCloud and TestGraphs. Their simple
# models are loops on one thread, and many times as slow there.
ALIKE := '|Vulkan|^Test(Devices|ValidationFails|ResumeOnAnotherDevice|Study(Measurements|Training|Models)|InfoCluster.*|RepeatCommand|TableMemory|Cloud(Parts|Tables)|GeneratedClouds|AugmentedClouds|MaxPooling|Component.*|Molecules.*|ModelNet40|ShapeNetPart|Peptides.*|PascalVOC|Superpixels|.*Example)$$'

# What stresses the calls into Vulkan, and what goes on there at once.
VKCALLS := -run '^Test(Endurance|EveryFailure|FreeOfASilentDevice|Slots|RecordingsAreBounded|Transfers|ManySmallWrites|Writers|PipelineFile.*)$$'

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
	cd examples/go && $(GO) vet ./...
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
	cp -r internal/bench/gpukit/run.sh internal/bench/gpukit/configs sft/testdata/golden $(KIT)
	@if [ -n '$(PEER)' ]; then cp '$(PEER)' $(KIT)/sft_torch_gpu.py && chmod u+w $(KIT)/sft_torch_gpu.py; \
	    else echo 'without PyTorch to compare with: PEER=path/to/sft_torch_gpu.py takes its program along'; fi
	@d=$$(mktemp -d) && trap 'rm -rf "$$d"' EXIT && cd $$d && if apt-get -o APT::Sandbox::User=root download -qq $(KIT_PACKAGES); then \
	    for p in *.deb; do dpkg -x $$p . || exit 1; done && find usr/lib -type l -name 'lib*.so.*' -exec cp -L {} '$(CURDIR)/$(KIT)/lib' ';'; \
	    else echo 'without a Vulkan loader: the machine must have one'; fi
	@size=$$(du -sm $(KIT) | cut -f 1); echo "$(KIT): $$size MiB"; [ $$size -lt 100 ]

cover:
	$(GO) test -coverprofile=cover.out ./...
	$(GO) tool cover -func=cover.out | tail -1

# Debian's PyTorch checks docs/python.md; Mesa's processor driver runs the Vulkan
# device, watched by the validation layer; the compilers check the shaders; jq and
# Node.js, wherever it is from, run the clients in examples/, and ONNX Runtime in it exported
# models; Chromium opens reports, whose text needs a font; QEMU runs tests for arm64; GNU parallel and the launchers of MPI
# and Slurm start several processes; fish, zsh and man show completions and the manual page;
# Buildah builds images, of a Debian that mmdebstrap makes. Without apt all that is left to the user.
PACKAGES := mesa-vulkan-drivers libvulkan1 vulkan-validationlayers glslang-tools spirv-tools fonts-dejavu-core qemu-user-static libpmix-dev
COMMANDS := jq:jq mpirun.openmpi:openmpi-bin mpirun.mpich:mpich ip:iproute2 parallel:parallel \
    sbatch:slurm-client slurmctld:slurmctld slurmd:slurmd munged:munge node:nodejs npm:npm chromium:chromium \
    fish:fish zsh:zsh man:man-db buildah:buildah mmdebstrap:mmdebstrap systemd-analyze:systemd
NODE_PACKAGES := examples/node examples/onnx examples/web clients/typescript
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
