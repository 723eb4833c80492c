//go:build cgo

package vk

import (
	"bytes"
	"testing"

	"github.com/sftseq/sftseq/internal/testenv"
)

// FuzzPipelineFile checks that unseal accepts exactly the output of seal, and rejects a file
// with a changed bit, a missing byte or a further byte.
func FuzzPipelineFile(f *testing.F) {
	f.Add(seal(nil), uint(0), false)
	f.Add(seal([]byte("what a driver has compiled")), uint(3), true)
	f.Add(seal([]byte("more"))[:33], uint(300), false)
	f.Add([]byte("short"), uint(1), false)
	f.Fuzz(func(t *testing.T, file []byte, bit uint, valid bool) {
		defer testenv.FuzzLimits(t, 1<<20+10*len(file))()
		if valid {
			file = seal(file)
		}
		data := unseal(file)
		if data == nil {
			if valid {
				t.Fatalf("unseal rejects %x, want the data, because it is an output of seal", file)
			}
			return
		}
		if !bytes.Equal(seal(data), file) {
			t.Fatalf("unseal returned %x for %x, which is not an output of seal", data, file)
		}
		damaged := bytes.Clone(file)
		damaged[bit/8%uint(len(file))] ^= 1 << (bit % 8)
		if unseal(damaged) != nil || unseal(file[:len(file)-1]) != nil || unseal(append(bytes.Clone(file), 0)) != nil {
			t.Fatalf("unseal accepts %x with bit %d flipped: %t, shortened: %t, extended: %t; want false", file, bit,
				unseal(damaged) != nil, unseal(file[:len(file)-1]) != nil, unseal(append(bytes.Clone(file), 0)) != nil)
		}
	})
}
