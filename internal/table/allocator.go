package table

import (
	"fmt"

	"github.com/apache/arrow/go/v15/arrow/memory"
)

// allocationError is the panic value of an allocation that exceeds the limit.
type allocationError struct{ size, limit int }

func (t *allocationError) Error() string {
	return fmt.Sprintf("expected allocations of at most %d bytes, found %d: is a row too long?", t.limit, t.size)
}

// allocator panics on allocations of more bytes than its limit, because running out of memory would end
// the program.
type allocator struct {
	memory.GoAllocator
	limit int
}

func (a *allocator) check(size int) {
	if size > a.limit {
		panic(&allocationError{size, a.limit})
	}
}

// Allocate returns size bytes or panics.
func (a *allocator) Allocate(size int) []byte {
	a.check(size)
	return a.GoAllocator.Allocate(size)
}

// Reallocate resizes b to size bytes or panics.
func (a *allocator) Reallocate(size int, b []byte) []byte {
	a.check(size)
	return a.GoAllocator.Reallocate(size, b)
}
