package simd

import (
	"bytes"
	"encoding/binary"
	"testing"
	"unsafe"
)

// TestWiden: every byte, at every length and start that vectors and remainders may have,
// between pages that must not be touched.
func TestWiden(t *testing.T) {
	const most = 4096
	text, room := asBytes(fenced(t, most/4)), asBytes(fenced(t, most/2))
	for i := range text {
		text[i] = byte(i * 167)
	}
	for _, k := range Levels() {
		for n := range 300 {
			for _, start := range []int{0, 1, most - n} { // the last ends at the page
				in := text[start : start+n]
				var want []byte
				for _, b := range in {
					want = binary.LittleEndian.AppendUint16(want, uint16(b)+1)
				}
				clear(room)
				k.Widen(room[2*start:], unsafe.String(unsafe.SliceData(in), n))
				if got := room[2*start : 2*(start+n)]; !bytes.Equal(got, want) {
					t.Fatalf("%s: %d bytes from %d: %v, want %v", k.Name, n, start, got, want)
				}
				clear(room[2*start : 2*(start+n)])
				if at := bytes.IndexFunc(room, func(r rune) bool { return r != 0 }); at >= 0 {
					t.Fatalf("%s: %d bytes from %d: byte %d was written, too", k.Name, n, start, at)
				}
			}
		}
		func() {
			defer func() {
				if recover() == nil {
					t.Errorf("%s: no panic for 3 bytes into room for 2", k.Name)
				}
			}()
			k.Widen(make([]byte, 5), "abc")
		}()
	}
}

func asBytes(x []float32) []byte {
	return unsafe.Slice((*byte)(unsafe.Pointer(unsafe.SliceData(x))), 4*len(x))
}

func BenchmarkWiden(b *testing.B) {
	text, to := string(make([]byte, 1300)), make([]byte, 2600)
	for _, k := range Levels() {
		b.Run(k.Name, func(b *testing.B) {
			b.SetBytes(int64(len(text)))
			for b.Loop() {
				k.Widen(to, text)
			}
		})
	}
}
