//go:build cgo

package vk

// ringWords is the size of the scratch memory that launches use in turn. A launch does not
// overwrite the scratch memory of the previous one, and so need not wait for it.
const ringWords = 16 << 20

// ring allocates scratch memory, launch by launch.
type ring struct {
	at, size int // next free word; words in use so far
	from     int // start of the launch's memory
	wrapped  bool
}

// launch begins a launch: the memory of earlier launches may be reused.
func (r *ring) launch() {
	if r.at >= ringWords {
		r.at = 0
	}
	r.from, r.wrapped = r.at, false
}

// take returns the offset of words that the launch does not use yet.
func (r *ring) take(words int) int {
	switch {
	case !r.wrapped && r.at+words > ringWords && words <= r.from:
		r.at, r.wrapped = 0, true
	case r.wrapped && r.at+words > r.from:
		r.at, r.wrapped, r.from = r.size, false, 0 // at the end; the launch does not wrap again
	}
	at := r.at
	r.at += words
	r.size = max(r.size, r.at)
	return at
}
