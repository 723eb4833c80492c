package seq

import (
	"errors"
	"fmt"
	"strconv"
	"strings"
)

// Window selects the tokens of a sequence that are read. It selects all tokens of a sequence of at
// most Length tokens. Of a longer sequence, it selects the first Length − Tail and the last Tail
// tokens, with 0 ≤ Tail ≤ Length. The zero value selects all tokens.
type Window struct {
	Length int // maximum number of tokens read, 0 for all
	Tail   int // number of tokens read from the end of a longer sequence
}

// ParseWindow parses N or N:tail=M, where M of the N tokens are the tail. N = 0 means all tokens.
func ParseWindow(text string) (Window, error) {
	length, rest, tailed := strings.Cut(text, ":")
	n, err := strconv.Atoi(length)
	w := Window{Length: n}
	if tailed && err == nil {
		tail, named := strings.CutPrefix(rest, "tail=")
		if w.Tail, err = strconv.Atoi(tail); err == nil && (!named || w.Tail < 1 || w.Tail > n) {
			err = strconv.ErrRange
		}
	}
	if err != nil || n < 0 {
		return Window{}, fmt.Errorf("%q: expected N or N:tail=M with 1 ≤ M ≤ N, for example 1024:tail=256", text)
	}
	return w, nil
}

// String returns the window in a form that [ParseWindow] reads.
func (w Window) String() string {
	if w.Tail == 0 {
		return strconv.Itoa(w.Length)
	}
	return fmt.Sprintf("%d:tail=%d", w.Length, w.Tail)
}

// parts returns the bounds of the tokens that the window keeps of a sequence of n tokens: the tokens
// with indices below head, and the tokens with indices of at least tail.
func (w Window) parts(n int) (head, tail int) {
	if w.Length == 0 || n <= w.Length {
		return n, n
	}
	return w.Length - w.Tail, n - w.Tail
}

// Count returns how many of n tokens the window keeps.
func (w Window) Count(n int) int {
	head, tail := w.parts(n)
	return head + n - tail
}

// Position returns the index that token i of the window has in a sequence of n tokens.
func (w Window) Position(i, n int) int {
	head, tail := w.parts(n)
	if i < head {
		return i
	}
	return tail + i - head
}

// Holds reports whether w keeps every token that other keeps, for sequences of any length. Then
// other keeps the same tokens whether or not w was applied before.
func (w Window) Holds(other Window) bool {
	if w.Length == 0 {
		return true
	}
	return other.Length > 0 && other.Tail <= w.Tail && other.Length-other.Tail <= w.Length-w.Tail
}

// Cut returns the items of the tokens that the window keeps. It copies the items only if the window
// has a tail and drops tokens.
func Cut[T any](w Window, items []T) []T {
	head, tail := w.parts(len(items))
	if tail == len(items) {
		return items[:head]
	}
	out := make([]T, 0, head+len(items)-tail)
	return append(append(out, items[:head]...), items[tail:]...)
}

// check returns an error for a malformed window, and for a tail if tokens have labels or edges.
func (w Window) check(spec *Spec) error {
	switch {
	case w.Length < 0 || w.Tail < 0 || w.Tail > w.Length:
		return fmt.Errorf("input window of %d tokens with a tail of %d: expected 0 ≤ tail ≤ window", w.Length, w.Tail)
	case w.Tail > 0 && spec.Task == Tagging:
		return errors.New("input window: expected no tail, because each token has a label")
	case w.Tail > 0 && spec.EdgeFeatureNames != nil:
		return errors.New("input window: expected no tail, because the tokens have edges")
	}
	return nil
}
