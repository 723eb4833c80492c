//go:build cgo

package vk

import (
	"bytes"
	"testing"

	"github.com/sftseq/sftseq/internal/testenv"
)

// FuzzPipelineFile checks that unsealed accepts exactly the output of sealed, and rejects a file
// with a changed bit, a missing byte or a further byte.
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
				t.Fatal("unsealed rejects the output of sealed")
			}
			return
		}
		if !bytes.Equal(sealed(data), file) {
			t.Fatalf("unsealed returned %x for %x, which sealed does not give", data, file)
		}
		damaged := bytes.Clone(file)
		damaged[bit/8%uint(len(file))] ^= 1 << (bit % 8)
		if unsealed(damaged) != nil || unsealed(file[:len(file)-1]) != nil || unsealed(append(damaged, 0)) != nil {
			t.Fatalf("unsealed accepts %x with bit %d flipped, or shortened or extended", bit, file)
		}
	})
}
