//go:build cgo

package vk

import (
	"bytes"
	"testing"

	"github.com/sftseq/sftseq/internal/testenv"
)

// FuzzPipelineFile checks that only sealed content of the pipeline cache's file reaches a driver,
// and no bit of it may be changed.
func FuzzPipelineFile(f *testing.F) {
	f.Add(sealed(nil), uint(0), false)
	f.Add(sealed([]byte("what a driver has compiled")), uint(3), true)
	f.Add(sealed([]byte("more"))[:33], uint(300), false)
	f.Add([]byte("short"), uint(1), false)
	f.Fuzz(func(t *testing.T, file []byte, bit uint, seal bool) {
		defer testenv.FuzzLimits(t, 1<<20+10*len(file))()
		if seal {
			file = sealed(file)
		}
		data := unsealed(file)
		if data == nil {
			if seal {
				t.Fatal("the sealed content is not accepted")
			}
			return
		}
		if !bytes.Equal(sealed(data), file) {
			t.Fatalf("%x is read of %x", data, file)
		}
		damaged := bytes.Clone(file)
		damaged[bit/8%uint(len(file))] ^= 1 << (bit % 8)
		if unsealed(damaged) != nil || unsealed(file[:len(file)-1]) != nil || unsealed(append(damaged, 0)) != nil {
			t.Fatalf("damage passes in bit %d of %x", bit, file)
		}
	})
}
