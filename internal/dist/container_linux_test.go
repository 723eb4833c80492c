package main

import (
	"bytes"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"runtime"
	"slices"
	"strings"
	"testing"

	"github.com/sftseq/sftseq/internal/must"
	"github.com/sftseq/sftseq/internal/testenv"
)

// Base images of the Dockerfile. The test builds them from Debian's packages and this machine's Go
// instead of pulling them from a registry.
const (
	debianImage = "debian:trixie-slim"
	goImage     = "golang:%s-trixie"
)

// compilerImage is the Dockerfile from which the test builds goImage. Go itself is mounted.
const compilerImage = `FROM ` + debianImage + `
RUN apt-get update && apt-get install -y --no-install-recommends ca-certificates gcc git libc6-dev
ENV GOPATH=/go GOCACHE=/go/cache GOTOOLCHAIN=local PATH=/go/bin:/usr/local/go/bin:/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin
`

// TestDockerfile builds two images with Buildah, without and with Vulkan, and runs sftseq in each.
func TestDockerfile(t *testing.T) {
	needSwitch(t)
	testenv.NeedPrograms(t, "buildah", "mmdebstrap")
	testenv.NeedRoot(t, "Buildah runs steps in a chroot")
	dir := checkout(t)
	release := regexp.MustCompile(`(?m)^go (\S+)$`).FindSubmatch(read(t, filepath.Join(dir, "go.mod")))
	golang := strings.Replace(goImage, "%s", string(release[1]), 1)
	var from []string
	for _, m := range regexp.MustCompile(`(?m)^FROM (\S+:\S+)`).FindAllSubmatch(read(t,
		filepath.Join(dir, "Dockerfile")), -1) {
		from = append(from, string(m[1]))
	}
	if want := []string{golang, debianImage}; !slices.Equal(from, want) ||
		"go"+string(release[1]) != runtime.Version() {
		t.Fatalf("the Dockerfile builds from %q, expected %q, with the Go version of go.mod; the test runs with %s",
			from, want, runtime.Version())
	}

	b := newBuilder(t)
	b.base(t)
	compiler := t.TempDir()
	must.Succeed(t, os.WriteFile(filepath.Join(compiler, "Dockerfile"), []byte(compilerImage), 0o666))
	b.build(t, compiler, golang)
	mounts := []string{"--volume", goVariable(t, "GOROOT") + ":/usr/local/go:ro", "--volume",
		goVariable(t, "GOMODCACHE") + ":/go/pkg/mod",
		"--volume", goVariable(t, "GOCACHE") + ":/go/cache"}
	revision := strings.TrimSpace(command(t, dir, "git", "rev-parse", "HEAD"))

	b.build(t, dir, "sftseq", mounts...)
	cpu := b.container(t, "sftseq")
	out := b.run(t, cpu, "version")
	if !strings.Contains(out, revision+"\n") || !strings.Contains(out, "without Vulkan") {
		t.Errorf("expected the commit %s, unmodified, and no Vulkan, found\n%s", revision, out)
	}
	b.run(t, cpu, "data", "generate", "listops", "--out", "listops", "--train", "3", "--val", "1", "--test", "1", "--no-baselines") // runs in /data, as the image's user

	b.build(t, dir, "sftseq:vulkan", append(mounts, "--target", "vulkan")...)
	vulkan := b.container(t, "sftseq:vulkan")
	out = b.run(t, vulkan, "version")
	if !strings.Contains(out, revision+"\n") || !strings.Contains(out, "with Vulkan") {
		t.Errorf("expected the commit %s, unmodified, and Vulkan, found\n%s", revision, out)
	}
	if out := b.run(t, vulkan, "devices", "--quick"); !strings.Contains(out, "vulkan:0") {
		t.Errorf("the image finds no Vulkan driver, not even the CPU driver:\n%s", out)
	}
}

func goVariable(t *testing.T, name string) string {
	return strings.TrimSpace(command(t, root, "go", "env", name))
}

// builder runs Buildah with separate image storage.
type builder struct{ flags []string }

func newBuilder(t *testing.T) *builder {
	dir, err := os.MkdirTemp("", "images") // the paths of t.TempDir are too long for Buildah's lock
	must.Succeed(t, err)
	b := &builder{[]string{"--root", dir + "/images", "--runroot", dir + "/run", "--storage-driver", "overlay"}}
	t.Cleanup(func() {
		if out, err := exec.Command("buildah",
			append(slices.Clip(b.flags), "rm", "--all")...).CombinedOutput(); err != nil {
			t.Errorf("buildah rm --all: %v\n%s", err, out)
		}
		// The driver may have mounted its folder on itself. An error means that nothing is mounted.
		exec.Command("umount", "--recursive", dir+"/images/overlay").Run()
		must.Check(t, os.RemoveAll(dir))
	})
	return b
}

func (b *builder) buildah(t *testing.T, args ...string) string {
	t.Helper()
	return strings.TrimSpace(command(t, root, "buildah", append(slices.Clip(b.flags), args...)...))
}

// base builds the Debian image with the essential packages and apt.
func (b *builder) base(t *testing.T) {
	archive := filepath.Join(t.TempDir(), "debian.tar")
	suite := strings.TrimSuffix(strings.TrimPrefix(debianImage, "debian:"), "-slim")
	command(t, root, "mmdebstrap", "--quiet", "--variant=apt", suite, archive, "http://deb.debian.org/debian")
	c := b.buildah(t, "from", "scratch")
	b.buildah(t, "add", "--quiet", c, archive, "/")
	b.buildah(t, "commit", "--quiet", "--rm", c, "docker.io/library/"+debianImage)
}

// build builds an image from the Dockerfile of a folder, without access to a registry.
func (b *builder) build(t *testing.T, dir, name string, more ...string) {
	t.Helper()
	if strings.HasPrefix(name, "golang:") {
		name = "docker.io/library/" + name
	}
	b.buildah(t, slices.Concat([]string{"build", "--isolation", "chroot", "--pull-never", "--layers", "--tag",
		name}, more, []string{dir})...)
}

// container creates a container from an image and returns the container's name.
func (b *builder) container(t *testing.T, image string) string {
	return b.buildah(t, "from", "--pull-never", "localhost/"+image)
}

// run runs the image's entry point, as the image's user and in its working directory, and returns the
// standard output.
func (b *builder) run(t *testing.T, container string, args ...string) string {
	t.Helper()
	entry := strings.Trim(b.buildah(t, "inspect", "--format", "{{.OCIv1.Config.Entrypoint}}", container), "[]")
	c := exec.CommandContext(t.Context(), "buildah",
		slices.Concat(b.flags, []string{"run", "--isolation", "chroot", container, "--", entry}, args)...)
	var out, errs bytes.Buffer
	c.Stdout, c.Stderr = &out, &errs
	if err := c.Run(); err != nil {
		t.Fatalf("sftseq %s: %v\n%s%s", strings.Join(args, " "), err, &out, &errs)
	}
	return out.String()
}
