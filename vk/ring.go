//go:build cgo

package vk

// ringWords is the number of words of scratch memory that successive launches use cyclically. As a rule,
// a launch does not overwrite the memory of the previous launch, and so does not wait for it.
const ringWords = 16 << 20

// ring allocates scratch memory, launch by launch.
type ring struct {
	next, size int  // next free word; number of words that the launches have needed so far
	from       int  // first word of the current launch
	wrapped    bool // true if the current launch has continued at the start of the ring
}

// launch begins a launch, which may reuse the memory of earlier launches.
func (r *ring) launch() {
	if r.next >= ringWords {
		r.next = 0
	}
	r.from, r.wrapped = r.next, false
}

// allocate returns the offset of free words, which do not overlap other allocations of the current
// launch.
func (r *ring) allocate(words int) int {
	switch {
	case !r.wrapped && r.next+words > ringWords && words <= r.from:
		r.next, r.wrapped = 0, true
	case r.wrapped && r.next+words > r.from:
		r.next, r.wrapped, r.from = r.size, false, 0 // grow the ring; the launch does not wrap again
	}
	at := r.next
	r.next += words
	r.size = max(r.size, r.next)
	return at
}
