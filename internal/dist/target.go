package main

import (
	"bytes"
	"context"
	"fmt"
	"os"
	"os/exec"
	"regexp"
	"runtime"
	"strings"
)

// target is what an archive is for.
type target struct {
	system, processor string
	vulkan            bool
}

var targetName = regexp.MustCompile(`^(linux|darwin|windows)/(amd64|arm64)(/vulkan)?$`)

func parseTarget(name string) (target, error) {
	m := targetName.FindStringSubmatch(name)
	if m == nil {
		return target{}, fmt.Errorf("%q: expected linux, darwin or windows, then /amd64 or /arm64, as in linux/amd64", name)
	}
	t := target{m[1], m[2], m[3] != ""}
	if t.vulkan && (t.system != "linux" || runtime.GOOS != "linux" || t.processor != runtime.GOARCH) {
		return target{}, fmt.Errorf("%q: a program with Vulkan is built on Linux for the same processor, found %s/%s here", name, runtime.GOOS, runtime.GOARCH)
	}
	return t, nil
}

// host is the target that this machine runs without a C library.
func host() target { return target{system: runtime.GOOS, processor: runtime.GOARCH} }

// suffix ends the name of an archive.
func (t target) suffix() string {
	text := t.system + "-" + t.processor
	if t.vulkan {
		text += "-vulkan"
	}
	return text
}

// executable is a program's name on the system.
func (t target) executable(name string) string {
	if t.system == "windows" {
		return name + ".exe"
	}
	return name
}

// environment is that of Go's command. What a user may have set to change the code that is
// compiled is set to what releases have. Without a file of defaults (go env -w) an empty variable is
// empty: it would be what the file says.
func (t target) environment() []string {
	cgo := "CGO_ENABLED=0"
	if t.vulkan {
		cgo = "CGO_ENABLED=1"
	}
	return append(os.Environ(), "GOOS="+t.system, "GOARCH="+t.processor, cgo, "GOENV=off",
		"GOFLAGS=", "GOEXPERIMENT=", "GOWORK=off", "GOAMD64=v1", "GOARM64=v8.0", "GOFIPS140=off",
		"CGO_CFLAGS=", "CGO_CPPFLAGS=", "CGO_LDFLAGS=")
}

// goCommand runs Go's command for the target in a folder, and returns what it prints.
func (t target) goCommand(ctx context.Context, dir string, args ...string) ([]byte, error) {
	c := exec.CommandContext(ctx, "go", args...)
	c.Dir, c.Env = dir, t.environment()
	var errs bytes.Buffer
	c.Stderr = &errs
	out, err := c.Output()
	if err != nil {
		return nil, fmt.Errorf("%s: go %s: %w\n%s", t.suffix(), strings.Join(args, " "), err,
			bytes.TrimSpace(errs.Bytes()))
	}
	return out, nil
}
