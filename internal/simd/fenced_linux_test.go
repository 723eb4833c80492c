package simd

import (
	"testing"
	"unsafe"

	"golang.org/x/sys/unix"
)

// fenced returns memory for words float32s between two pages that must not be
// touched.
func fenced(t *testing.T, words int) []float32 {
	page := unix.Getpagesize()
	size := (4*words + page - 1) / page * page
	b, err := unix.Mmap(-1, 0, size+2*page, unix.PROT_READ|unix.PROT_WRITE, unix.MAP_ANON|unix.MAP_PRIVATE)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := unix.Munmap(b); err != nil {
			t.Error(err)
		}
	})
	for _, fence := range [][]byte{b[:page], b[page+size:]} {
		if err := unix.Mprotect(fence, unix.PROT_NONE); err != nil {
			t.Fatal(err)
		}
	}
	return unsafe.Slice((*float32)(unsafe.Pointer(&b[page])), size/4)
}
