package simd

import (
	"testing"
	"unsafe"

	"golang.org/x/sys/unix"

	"github.com/sftseq/sftseq/internal/must"
)

// fenced returns at least the given number of float32 words: whole pages between two inaccessible
// guard pages.
func fenced(t *testing.T, words int) []float32 {
	page := unix.Getpagesize()
	size := (4*words + page - 1) / page * page
	b := must.Get(unix.Mmap(-1, 0, size+2*page, unix.PROT_READ|unix.PROT_WRITE, unix.MAP_ANON|unix.MAP_PRIVATE))(t)
	t.Cleanup(func() {
		must.Check(t, unix.Munmap(b))
	})
	for _, fence := range [][]byte{b[:page], b[page+size:]} {
		must.Succeed(t, unix.Mprotect(fence, unix.PROT_NONE))
	}
	return unsafe.Slice((*float32)(unsafe.Pointer(&b[page])), size/4)
}
