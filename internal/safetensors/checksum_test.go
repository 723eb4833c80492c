package safetensors

import (
	"bytes"
	"math"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/sftseq/sftseq/internal/must"
)

// writtenFile returns the bytes of a file that Write writes.
func writtenFile(t testing.TB, tensors []Tensor, metadata map[string]string) []byte {
	t.Helper()
	path := filepath.Join(t.TempDir(), "model")
	must.Succeed(t, Write(path, tensors, metadata))
	return must.Get(os.ReadFile(path))(t)
}

// someTensors returns two tensors with n numbers each.
func someTensors(n int) []Tensor {
	out := []Tensor{{Name: "embed.weight", Shape: []int{n / 4, 4}}, {Name: "head.bias", Shape: []int{n}}}
	for i := range out {
		for j := range n {
			out[i].Data = append(out[i].Data, float32(math.Sin(float64(i*n+j))))
		}
	}
	return out
}

// TestEveryDamagedByte changes each byte of a file in several ways and checks that reading returns
// the original tensors and metadata, or an error.
func TestEveryDamagedByte(t *testing.T) {
	tensors, metadata := someTensors(64), map[string]string{"sftseq.run": `{"step":12}`, "text": noDigits}
	whole := writtenFile(t, tensors, metadata)
	again, gotMetadata := must.Get2(readBytes(whole))(t)
	expectTensors(t, again, tensors)
	if len(gotMetadata) != 2 || gotMetadata["text"] != noDigits {
		t.Errorf("got metadata %q, want %q", gotMetadata, metadata)
	}
	random := rand.New(rand.NewPCG(16, 7))
	undetected := 0
	for at := range whole {
		for _, flip := range []byte{1, 0x20, 0x80, byte(1 + random.IntN(255))} {
			damaged := bytes.Clone(whole)
			damaged[at] ^= flip
			got, found, err := readBytes(damaged)
			if err != nil {
				continue
			}
			undetected++
			expectTensors(t, got, tensors)
			for key, want := range metadata {
				if found[key] != want {
					t.Errorf("byte %d xor %#x: got metadata %s = %q, want %q", at, flip, key, found[key], want)
				}
			}
		}
	}
	if limit := 4 * len(checksumKey); undetected > limit { // these changes damage the key of the checksum
		t.Errorf("%d changes were not detected, want at most %d", undetected, limit)
	}
}

// TestChecksumRefused checks that the error for a wrong checksum states both checksums and a possible
// cause. Checksums that are malformed, of an unknown kind or not unique in the header are refused, too.
func TestChecksumRefused(t *testing.T) {
	whole := writtenFile(t, someTensors(8), nil)
	damaged := bytes.Clone(whole)
	damaged[len(damaged)-1] ^= 1
	for name, c := range map[string]struct {
		file []byte
		want []string
	}{
		"damaged": {damaged, []string{"model.safetensors", "expected the checksum xxh128:", "found xxh128:",
			`kept "sftseq.checksum" in its __metadata__`}},
		"unknown kind": {bytes.Replace(whole, []byte("xxh128"), []byte("xxh999"), 1),
			[]string{"sftseq.checksum", "expected KIND:DIGITS"}},
		"digits twice": {file(`{"__metadata__":{"sftseq.checksum":"xxh128:`+strings.Repeat("0",
			32)+`","x":"`+strings.Repeat("0", 32)+`"}}`, 0), []string{"once in the header, found it 2 times"}},
		"escaped digits": {file(`{"__metadata__":{"sftseq.checksum":"xxh128:\u0061`+strings.Repeat("0", 31)+`"}}`, 0),
			[]string{"found it 0 times"}},
		"not a number": {file(`{"__metadata__":{"sftseq.checksum":"later"}}`, 0), []string{"expected KIND:DIGITS"}},
	} {
		_, _, err := readBytes(c.file)
		if err == nil {
			t.Errorf("%s: got no error", name)
			continue
		}
		for _, s := range c.want {
			if !strings.Contains(err.Error(), s) {
				t.Errorf("%s: got error %q, want it to contain %q", name, err, s)
			}
		}
	}
}

// BenchmarkRead reads 64 MiB of tensors, from a file with a checksum and from one without.
func BenchmarkRead(b *testing.B) {
	sealed := writtenFile(b, someTensors(8<<20), nil)
	plain := bytes.Replace(sealed, []byte(checksumKey), []byte("sftseq.checksun"), 1)
	for name, f := range map[string][]byte{"stated": sealed, "plain": plain} {
		b.Run(name, func(b *testing.B) {
			b.SetBytes(int64(len(f)))
			for b.Loop() {
				if _, _, err := readBytes(f); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}

// BenchmarkWrite measures the checksum of 64 MiB of tensors, and writing the file.
func BenchmarkWrite(b *testing.B) {
	tensors := someTensors(8 << 20)
	header := must.Get(encodeHeader(tensors, nil))(b)
	b.Run("checksum", func(b *testing.B) {
		b.SetBytes(64 << 20)
		for b.Loop() {
			if _, err := withChecksum(header, tensors); err != nil {
				b.Fatal(err)
			}
		}
	})
	b.Run("file", func(b *testing.B) {
		path := filepath.Join(b.TempDir(), "model")
		b.SetBytes(64 << 20)
		for b.Loop() {
			if err := Write(path, tensors, nil); err != nil {
				b.Fatal(err)
			}
		}
	})
}
