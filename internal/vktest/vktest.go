// Package vktest opens Vulkan devices for the tests of other packages.
package vktest

import (
	"os"
	"testing"

	"github.com/sftseq/sftseq/internal/tensor"
	"github.com/sftseq/sftseq/vk"
)

// Open opens the machine's best device under the validation layer. At the end of
// the test it fails if the layer has complained of anything. Without Vulkan or
// the layer the test is skipped, except where CI=true, which installs them.
func Open(t testing.TB) tensor.Device {
	t.Helper()
	d, err := open(t, vk.Options{})
	if err != nil {
		if os.Getenv("CI") == "true" {
			t.Fatal(err)
		}
		t.Skip("Vulkan and its validation layer are needed: ", err)
	}
	return d
}

// OpenMixed is Open for mixed precision. Without cooperative matrices the test is
// skipped, also where CI=true: Mesa's driver for processors has them from version
// 26.1 on.
func OpenMixed(t testing.TB) tensor.Device {
	t.Helper()
	d, err := open(t, vk.Options{Mixed: true})
	if err != nil {
		t.Skip(err)
	}
	return d
}

func open(t testing.TB, o vk.Options) (tensor.Device, error) {
	t.Setenv("SFTSEQ_VK_VALIDATE", "1")
	d, err := vk.Open(o)
	if err != nil {
		return nil, err
	}
	t.Cleanup(func() {
		if err := d.Close(); err != nil {
			t.Error(err)
		}
		for _, m := range d.Messages() {
			t.Error("validation: ", m)
		}
	})
	return d.(tensor.Device), nil
}
