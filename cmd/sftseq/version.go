package main

import (
	"io"
	"runtime"
	"runtime/debug"
	"strings"

	"github.com/urfave/cli/v2"

	"github.com/sftseq/sftseq/device"
	"github.com/sftseq/sftseq/internal/simd"
)

func versionCommand() *cli.Command {
	return &cli.Command{
		Name:  "version",
		Usage: "show the version and the kernels of the program",
		UsageText: `sftseq version [--json]

Example: sftseq version`,
		Description: `Shows the tag of the commit, or a version made from its date, with +dirty if files were modified. The
program uses the kernels for the CPU's fastest instruction set; SFTSEQ_SIMD chooses another set.`,
		Flags: []cli.Flag{&cli.BoolFlag{Name: "json", Usage: "print JSON"}},
		Action: func(c *cli.Context) error {
			if err := noArguments(c); err != nil {
				return err
			}
			return printVersion(c)
		},
	}
}

// versionInfo is version information for bug reports.
type versionInfo struct {
	Version   string   `json:"version"`
	Revision  string   `json:"revision,omitempty"` // commit, if built from a checkout
	Committed string   `json:"committed,omitempty"`
	Modified  bool     `json:"modified"`
	Go        string   `json:"go"`
	System    string   `json:"system"`
	Kernels   string   `json:"kernels"`
	Available []string `json:"available"` // kernels that this CPU supports, fastest first
	Vulkan    bool     `json:"vulkan"`    // supported by the program, not necessarily by the machine
}

func printVersion(c *cli.Context) error {
	kernels, err := simd.Best()
	if err != nil {
		return err
	}
	info := buildInfo()
	info.Kernels, info.Vulkan = kernels.Name, device.Vulkan
	for _, k := range simd.Levels() {
		info.Available = append(info.Available, k.Name)
	}
	return show(c, info, func(w io.Writer) error { return writeVersion(w, info) })
}

func writeVersion(w io.Writer, info versionInfo) error {
	l := &lineWriter{w: w}
	l.add("sftseq %s", info)
	if info.Committed != "" {
		l.add("committed %s", info.Committed)
	}
	l.add("%s, %s", info.Go, info.System)
	l.add("%s kernels (this CPU runs %s)", info.Kernels, strings.Join(info.Available, ", "))
	if info.Vulkan {
		l.add("with Vulkan")
	} else {
		l.add("without Vulkan: built without cgo")
	}
	return l.err
}

// String returns the module's version and, if built from a checkout, the revision and whether files were
// modified.
func (i versionInfo) String() string {
	text := i.Version
	if i.Revision != "" {
		text += " " + i.Revision
	}
	if i.Modified {
		text += " (modified)"
	}
	return text
}

// buildInfo returns the build information that the compiler stored in the program.
func buildInfo() versionInfo {
	i := versionInfo{Version: "unknown", Go: runtime.Version(), System: runtime.GOOS + "/" + runtime.GOARCH}
	info, ok := debug.ReadBuildInfo()
	if !ok {
		return i
	}
	i.Version = info.Main.Version
	for _, s := range info.Settings {
		switch s.Key {
		case "vcs.revision":
			i.Revision = s.Value
		case "vcs.time":
			i.Committed = s.Value
		case "vcs.modified":
			i.Modified = s.Value == "true"
		}
	}
	return i
}

// version returns the text that identifies the program in its output and in provenance.
func version() string { return buildInfo().String() }
