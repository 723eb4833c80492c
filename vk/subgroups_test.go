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

// TestSubgroups: Mesa's processor driver has subgroups of as many invocations as
// LP_NATIVE_VECTOR_WIDTH has words, so that `make test`, which runs the conformance
// suite, or those of [asking], with each, does what it says.
func TestSubgroups(t *testing.T) {
	d := open(t, Options{})
	t.Logf("subgroups of %d", d.Info().SubgroupSize)
	bits := os.Getenv("LP_NATIVE_VECTOR_WIDTH")
	if bits == "" {
		return
	}
	if n, err := strconv.Atoi(bits); err != nil || d.Info().SubgroupSize != n/32 {
		t.Errorf("%s has subgroups of %d, %s bits were asked for; error %v", d.Name(), d.Info().SubgroupSize, bits, err)
	}
}

// asking are the shaders that ask their subgroup, with the cases that launch them. Cooperative
// matrices are of the subgroup, too, but Mesa's driver has none.
var asking = map[string]string{
	"attention_backward_leak": "attention",
	"embed_backward":          "embed",
	"leak":                    "leak",
	"pool":                    "pool",
	"pool_total":              "pool",
	"residualscale_backward":  "residualscale",
	"sumsquares":              "adamw",
}

// TestAskingShaders: no other shader asks its subgroup, and make test runs the cases of these
// with large ones.
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
	text, err := os.ReadFile("../Makefile")
	if err != nil {
		t.Fatal(err)
	}
	_, run, _ := strings.Cut(string(text), "\nASKING := ")
	run, _, _ = strings.Cut(run, "\n")
	for shader, cases := range asking {
		if !regexp.MustCompile(`[(^|]` + cases + `[)$|]`).MatchString(run) {
			t.Errorf("%s: make test does not run the cases of %s with large subgroups: %s", shader, cases, run)
		}
	}
}
