# Builds an image of the program for CPUs, or an image that also has Vulkan:
#
#     docker build --tag sftseq .
#     docker build --tag sftseq:vulkan --target vulkan .
#
# The build context is a clone with its .git folder, because the program reports its commit.
FROM golang:1.26.8-trixie AS source
WORKDIR /src
COPY go.mod go.sum ./
RUN go mod download
COPY . .

# Builds the release archive for this architecture, as make dist does, and extracts it.
FROM source AS build-cpu
RUN CGO_ENABLED=0 go run -trimpath ./internal/dist -out /dist -targets "linux/$(go env GOARCH)" \
    && mkdir /data /out \
    && tar --extract --gzip --file /dist/*.tar.gz --strip-components=1 --directory /out

FROM source AS build-vulkan
RUN CGO_ENABLED=0 go run -trimpath ./internal/dist -out /dist -targets "linux/$(go env GOARCH)/vulkan" \
    && mkdir /data /out \
    && tar --extract --gzip --file /dist/*.tar.gz --strip-components=1 --directory /out

# Mesa has drivers for AMD, Intel and other GPUs, and a CPU driver. NVIDIA's driver comes from
# the host; it needs the EGL, GLX and X11 libraries.
FROM debian:trixie-slim AS vulkan
RUN apt-get update \
    && apt-get install --yes --no-install-recommends \
        libegl1 libglx0 libvulkan1 libx11-6 libxext6 mesa-vulkan-drivers \
    && rm -rf /var/lib/apt/lists/*
COPY --from=build-vulkan /out/LICENSE /out/NOTICE /usr/share/doc/sftseq/
COPY --from=build-vulkan /out/sftseq /usr/local/bin/sftseq
COPY --from=build-vulkan --chown=65532:65532 /data /data
ENV HOME=/data NVIDIA_VISIBLE_DEVICES=all NVIDIA_DRIVER_CAPABILITIES=graphics,compute,utility
USER 65532:65532
WORKDIR /data
ENTRYPOINT ["/usr/local/bin/sftseq"]
CMD ["--help"]

FROM scratch AS cpu
COPY --from=build-cpu /out/LICENSE /out/NOTICE /usr/share/doc/sftseq/
COPY --from=build-cpu /out/sftseq /usr/local/bin/sftseq
COPY --from=build-cpu --chown=65532:65532 /data /data
ENV HOME=/data
USER 65532:65532
WORKDIR /data
ENTRYPOINT ["/usr/local/bin/sftseq"]
CMD ["--help"]
