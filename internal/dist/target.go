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

// target is the platform of an archive.
type target struct {
	system, arch string
	vulkan       bool
}

var targetName = regexp.MustCompile(`^(linux|darwin|windows)/(amd64|arm64)(/vulkan)?$`)

func parseTarget(name string) (target, error) {
	m := targetName.FindStringSubmatch(name)
	if m == nil {
		return target{}, fmt.Errorf("%q: expected OS/ARCH or linux/ARCH/vulkan, where OS is linux, darwin "+
			"or windows, and ARCH is amd64 or arm64", name)
	}
	t := target{m[1], m[2], m[3] != ""}
	if t.vulkan && (t.system != "linux" || runtime.GOOS != "linux" || t.arch != runtime.GOARCH) {
		return target{}, fmt.Errorf("%q: a target with Vulkan must be built on Linux, for Linux and the architecture "+
			"of this machine, which is %s/%s", name, runtime.GOOS, runtime.GOARCH)
	}
	return t, nil
}

// host returns the target of this machine, without Vulkan.
func host() target { return target{system: runtime.GOOS, arch: runtime.GOARCH} }

// suffix returns the platform at the end of an archive's name, such as linux-amd64.
func (t target) suffix() string {
	text := t.system + "-" + t.arch
	if t.vulkan {
		text += "-vulkan"
	}
	return text
}

// executable returns a program's file name on the target's system.
func (t target) executable(name string) string {
	if t.system == "windows" {
		return name + ".exe"
	}
	return name
}

// environment returns the environment of the go command. Settings that change the compiled code have
// the values for releases instead of the user's. GOENV=off disables the file of go env -w, whose values
// would otherwise replace empty variables.
func (t target) environment() []string {
	cgo := "CGO_ENABLED=0"
	if t.vulkan {
		cgo = "CGO_ENABLED=1"
	}
	return append(os.Environ(), "GOOS="+t.system, "GOARCH="+t.arch, cgo, "GOENV=off",
		"GOFLAGS=", "GOEXPERIMENT=", "GOWORK=off", "GOAMD64=v1", "GOARM64=v8.0", "GOFIPS140=off",
		"CGO_CFLAGS=", "CGO_CPPFLAGS=", "CGO_LDFLAGS=")
}

// goCommand runs the go command for the target in a folder, and returns its output.
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
