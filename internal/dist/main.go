// Command dist builds the archives of a release, one for each target, and SHA256SUMS:
//
//	go run ./internal/dist -out dist -targets linux/amd64,windows/amd64
//
// An archive contains the program, its manual page and shell completions, README.md, and the
// licences of the program and of all code linked into it. A target linux/ARCH/vulkan is built with cgo, using
// this machine's C compiler and C library. All other targets are built without cgo and have no Vulkan.
// Their archives are reproducible: they depend only on the commit and the Go version, not on paths or users.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"os"
	"os/signal"
	"runtime"
	"strings"
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	err := run(ctx)
	stop()
	if err != nil {
		fmt.Fprintln(os.Stderr, "dist:", err)
		os.Exit(1)
	}
}

func run(ctx context.Context) (err error) {
	out := flag.String("out", "dist", "folder for the archives and SHA256SUMS")
	list := flag.String("targets", strings.Join(defaultTargets(), ","),
		"targets separated by commas: OS/ARCH or linux/ARCH/vulkan")
	flag.Parse()
	if flag.NArg() > 0 {
		return fmt.Errorf("expected flags only, found %q", flag.Arg(0))
	}
	var targets []target
	for name := range strings.SplitSeq(*list, ",") {
		t, err := parseTarget(name)
		if err != nil {
			return fmt.Errorf("-targets: %w", err)
		}
		targets = append(targets, t)
	}
	scratch, err := os.MkdirTemp("", "sftseq-dist")
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, os.RemoveAll(scratch)) }()
	r := &release{root: ".", out: *out, scratch: scratch}
	return r.build(ctx, targets)
}

// defaultTargets returns the default of the flag -targets. On Linux, it includes a target with Vulkan.
func defaultTargets() []string {
	list := []string{"linux/amd64", "linux/arm64", "darwin/arm64", "darwin/amd64", "windows/amd64"}
	if h := host(); h.system == "linux" && targetName.MatchString("linux/"+h.arch) {
		list = append(list, "linux/"+runtime.GOARCH+"/vulkan")
	}
	return list
}
