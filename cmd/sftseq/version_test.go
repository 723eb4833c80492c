package main

import (
	"runtime"
	"strings"
	"testing"

	"github.com/sftseq/sftseq/device"
	"github.com/sftseq/sftseq/internal/must"
	"github.com/sftseq/sftseq/internal/simd"
)

// TestVersion checks that the JSON and the text output name the kernels and the compiler.
func TestVersion(t *testing.T) {
	kernels := must.Get(simd.Best())(t)
	info := decode[versionInfo](t, succeed(t, "", "version", "--json"))
	if info.Kernels != kernels.Name || info.Go != runtime.Version() || len(info.Available) != len(simd.Levels()) ||
		info.Vulkan != device.Vulkan || info.Version == "" {
		t.Errorf("got %#v, want a version, %s kernels, %d available kernels, %s and Vulkan: %t", info, kernels.Name,
			len(simd.Levels()), runtime.Version(), device.Vulkan)
	}
	text := succeed(t, "", "version")
	if !strings.HasPrefix(text, "sftseq "+info.String()+"\n") ||
		!strings.Contains(text, "\n"+kernels.Name+" kernels (") || !strings.Contains(text, runtime.Version()) {
		t.Errorf("got %q, want sftseq %s, %s kernels and %s", text, info, kernels.Name, runtime.Version())
	}
}

// TestVersionText checks that the text has the commit, if known, and marks modified files.
func TestVersionText(t *testing.T) {
	for want, info := range map[string]versionInfo{
		"v1.2.3":                  {Version: "v1.2.3"},
		"v1.2.3 5eed":             {Version: "v1.2.3", Revision: "5eed"},
		"(devel) 5eed (modified)": {Version: "(devel)", Revision: "5eed", Modified: true},
	} {
		equal(t, info.String(), want)
	}
}
