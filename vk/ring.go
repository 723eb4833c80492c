//go:build cgo

package vk

// ringWords is the scratch memory that launches go round in: what one leaves is
// not overwritten by the next, which so need not wait for it.
const ringWords = 16 << 20

// ring hands out scratch memory, launch by launch.
type ring struct {
	at, size int // the next free word; words in use so far
	from     int // where the launch began
	wrapped  bool
}

// launch begins a launch: all memory of the one before may be handed out again.
func (r *ring) launch() {
	if r.at >= ringWords {
		r.at = 0
	}
	r.from, r.wrapped = r.at, false
}

// take returns the place of so many words, none of which the launch has.
func (r *ring) take(words int) int {
	switch {
	case !r.wrapped && r.at+words > ringWords && words <= r.from:
		r.at, r.wrapped = 0, true
	case r.wrapped && r.at+words > r.from:
		r.at, r.wrapped, r.from = r.size, false, 0 // beyond all; the launch does not wrap again
	}
	at := r.at
	r.at += words
	r.size = max(r.size, r.at)
	return at
}
