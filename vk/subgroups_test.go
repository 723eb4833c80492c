//go:build cgo

package vk

import (
	"os"
	"strconv"
	"testing"
)

// TestSubgroups: Mesa's processor driver has subgroups of as many invocations as
// LP_NATIVE_VECTOR_WIDTH has words, so that `make test`, which runs the conformance
// suite with each, does what it says.
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
