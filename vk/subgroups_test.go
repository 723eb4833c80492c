//go:build cgo

package vk

import (
	"maps"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"
)

// TestSubgroups checks that subgroups have the width that the environment requests. Without a
// request it is 8 on most CPUs; make test-again repeats tests that depend on the width with 4, 16
// and 32.
func TestSubgroups(t *testing.T) {
	d := open(t, Options{}, subgroupWidths)
	t.Logf("subgroups of %d", d.Info().SubgroupSize)
	bits := os.Getenv(vectorWidth)
	if bits == "" {
		return
	}
	if n, err := strconv.Atoi(bits); err != nil || d.Info().SubgroupSize != n/32 {
		t.Errorf("%s has subgroups of %d for vectors of %s bits; error %v", d.Name(), d.Info().SubgroupSize, bits, err)
	}
}

// subgroupShaders maps each shader that uses subgroup operations to the conformance suite of its
// kernel. Products with cooperative matrices also depend on the subgroup size, but the conformance
// tests use float32.
var subgroupShaders = map[string]string{
	"attention_backward_leak": "attention",
	"embed_backward":          "embed",
	"leak":                    "leak",
	"pool":                    "pool",
	"pool_total":              "pool",
	"residualscale_backward":  "residualscale",
	"sumsquares":              "adamw",
}

// usesSubgroup reports whether a conformance case dispatches one of subgroupShaders. Reruns
// with subgroups of more than 8 skip all other cases. Their shaders do not depend on the subgroup size, and
// a missing barrier shows up first in small subgroups, where fewer invocations run in lockstep.
func usesSubgroup(suite, name string) bool {
	if suite == "attention" { // the backward pass dispatches such a shader only for these options
		return strings.HasPrefix(name, "attention_backward ") && strings.Contains(name, "score 0, probability 0")
	}
	return slices.Contains(slices.Collect(maps.Values(subgroupShaders)), suite)
}

// TestSubgroupShaders checks that subgroupShaders lists exactly the shaders that use subgroup operations.
func TestSubgroupShaders(t *testing.T) {
	files, err := filepath.Glob("../shaders/*.comp")
	if err != nil || len(files) < 50 {
		t.Fatalf("found %d shaders, want at least 50; error %v", len(files), err)
	}
	operation := regexp.MustCompile(`GL_KHR_shader_subgroup|reduce\.glsl`)
	var found []string
	for _, path := range files {
		name := strings.TrimSuffix(filepath.Base(path), ".comp")
		if text, err := os.ReadFile(path); err != nil {
			t.Fatal(err)
		} else if operation.Match(text) {
			found = append(found, name)
		}
	}
	if want := slices.Sorted(maps.Keys(subgroupShaders)); !slices.Equal(found, want) {
		t.Errorf("shaders that use subgroup operations: got %q, want %q", found, want)
	}
}
