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

// TestSubgroups checks that subgroups have the requested width. It is 8 on most CPUs; make
// test-again repeats the dependent tests with 4, 16 and 32.
func TestSubgroups(t *testing.T) {
	d := open(t, Options{}, widths)
	t.Logf("subgroups of %d", d.Info().SubgroupSize)
	bits := os.Getenv(vectorWidth)
	if bits == "" {
		return
	}
	if n, err := strconv.Atoi(bits); err != nil || d.Info().SubgroupSize != n/32 {
		t.Errorf("%s has subgroups of %d, %s bits were asked for; error %v", d.Name(), d.Info().SubgroupSize, bits, err)
	}
}

// asking lists the shaders that read their subgroup's size or rank, each with the suite of the
// kernel that launches it. Cooperative matrices also depend on the subgroup, but Mesa's driver has
// none.
var asking = map[string]string{
	"attention_backward_leak": "attention",
	"embed_backward":          "embed",
	"leak":                    "leak",
	"pool":                    "pool",
	"pool_total":              "pool",
	"residualscale_backward":  "residualscale",
	"sumsquares":              "adamw",
}

// asksSubgroup reports whether a case launches one of the asking shaders. In subgroups of more than
// 8, more invocations run in lockstep, so a shader that does not use its subgroup cannot fail there
// unless it fails in smaller ones.
func asksSubgroup(suite, name string) bool {
	if suite == "attention" { // its backward pass asks only if no scores are dropped
		return strings.HasPrefix(name, "attention_backward ") && strings.Contains(name, "score 0, probability 0")
	}
	return slices.Contains(slices.Collect(maps.Values(asking)), suite)
}

// TestAskingShaders checks that no other shader reads its subgroup.
func TestAskingShaders(t *testing.T) {
	files, err := filepath.Glob("../shaders/*.comp")
	if err != nil || len(files) < 50 {
		t.Fatalf("%d shaders, %v", len(files), err)
	}
	asks := regexp.MustCompile(`GL_KHR_shader_subgroup|reduce\.glsl`)
	var found []string
	for _, path := range files {
		name := strings.TrimSuffix(filepath.Base(path), ".comp")
		if text, err := os.ReadFile(path); err != nil {
			t.Fatal(err)
		} else if asks.Match(text) {
			found = append(found, name)
		}
	}
	if want := slices.Sorted(maps.Keys(asking)); !slices.Equal(found, want) {
		t.Errorf("%q ask their subgroup, expected %q", found, want)
	}
}
