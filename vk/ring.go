//go:build cgo

package vk

// ringWords is the number of words of scratch memory that launches use in turn. A launch does not
// overwrite the scratch memory of the previous launch, so it does not wait for that launch.
const ringWords = 16 << 20

// ring allocates scratch memory, launch by launch.
type ring struct {
	at, size int // next free word; number of words that the launches need so far
	from     int // first word of the current launch
	wrapped  bool
}

// launch begins a launch, which may reuse the memory of launches before the previous launch.
func (r *ring) launch() {
	if r.at >= ringWords {
		r.at = 0
	}
	r.from, r.wrapped = r.at, false
}

// take returns the offset of free words. They do not overlap other words that the current launch
// has taken.
func (r *ring) take(words int) int {
	switch {
	case !r.wrapped && r.at+words > ringWords && words <= r.from:
		r.at, r.wrapped = 0, true
	case r.wrapped && r.at+words > r.from:
		r.at, r.wrapped, r.from = r.size, false, 0 // grow the ring; the launch does not wrap again
	}
	at := r.at
	r.at += words
	r.size = max(r.size, r.at)
	return at
}
