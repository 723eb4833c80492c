// Package rope stores an editable text. The time to edit a few characters or to read a byte grows with
// the logarithm of the text's length. Positions are in bytes, UTF-16 code units or characters.
//
// The text is in WTF-8, which is UTF-8 extended by lone surrogates of three bytes. Callers that
// count UTF-16 units may split characters and join them again; other callers only see UTF-8.
package rope

import (
	"unsafe"
)

// Rope is a text that can be edited. The zero value is an empty text.
type Rope struct{ root *node }

// A leaf has at most maxLeaf bytes. It has at least minLeaf bytes unless it is the only leaf.
const (
	maxLeaf = 2048
	minLeaf = maxLeaf / 4
)

// size has the length of a text in several units, and its numbers of lone surrogates and surrogate pairs.
type size struct {
	bytes          int
	units          int // UTF-16 code units
	loneSurrogates int
	pairs          int // characters with two code units
}

// characters returns the number of characters. A lone surrogate counts as a character.
func (s size) characters() int { return s.units - s.pairs }

func (s size) plus(t size) size {
	return size{s.bytes + t.bytes, s.units + t.units, s.loneSurrogates + t.loneSurrogates, s.pairs + t.pairs}
}
func (s size) minus(t size) size {
	return size{s.bytes - t.bytes, s.units - t.units, s.loneSurrogates - t.loneSurrogates, s.pairs - t.pairs}
}

// node is a leaf, which has text, or an inner node with two subtrees whose heights differ by at
// most one.
type node struct {
	size
	height      int
	allocated   int // bytes allocated for the subtree
	left, right *node
	text        []byte
}

const nodeBytes = int(unsafe.Sizeof(node{}))

// Len returns the length of the text in bytes.
func (r *Rope) Len() int { return r.root.measured().bytes }

// Units returns the length of the text in UTF-16 code units.
func (r *Rope) Units() int { return r.root.measured().units }

// Characters returns the length of the text in Unicode characters.
func (r *Rope) Characters() int { return r.root.measured().characters() }

// characterAt returns the byte offset of the character with the given index.
func (r *Rope) characterAt(character int) (offset int) {
	n := r.root
	if n == nil {
		return 0
	}
	for n.left != nil {
		if left := n.left.characters(); character < left {
			n = n.left
		} else {
			offset, character, n = offset+n.left.bytes, character-left, n.right
		}
	}
	for text := n.text; character > 0; character-- {
		bytes, _ := CharacterLength(text[0])
		text, offset = text[bytes:], offset+bytes
	}
	return offset
}

// Allocated returns the number of bytes that are allocated for the text.
func (r *Rope) Allocated() int {
	if r.root == nil {
		return 0
	}
	return r.root.allocated
}

// measure returns the size of a text.
func measure(text []byte) size {
	s := size{bytes: len(text)}
	for i := 0; i < len(text); {
		bytes, units := CharacterLength(text[i])
		if bytes == SurrogateBytes && Surrogate(text[i:]) >= 0 {
			s.loneSurrogates++
		}
		i += bytes
		s.units += units
		s.pairs += units - 1
	}
	return s
}

// measured returns the size of the text below n, or zero if n is nil.
func (n *node) measured() size {
	if n == nil {
		return size{}
	}
	return n.size
}

// Byte returns the byte at an offset below Len.
func (r *Rope) Byte(at int) byte {
	n := r.root
	for n.left != nil {
		if at < n.left.bytes {
			n = n.left
		} else {
			at, n = at-n.left.bytes, n.right
		}
	}
	return n.text[at]
}

// String returns the text.
func (r *Rope) String() string {
	out := make([]byte, 0, r.Len())
	r.root.eachLeaf(func(text []byte) { out = append(out, text...) })
	return unsafe.String(unsafe.SliceData(out), len(out)) // no other reference exists
}

// eachLeaf calls f for the text of each leaf, in order.
func (n *node) eachLeaf(f func([]byte)) {
	switch {
	case n == nil:
	case n.left == nil:
		f(n.text)
	default:
		n.left.eachLeaf(f)
		n.right.eachLeaf(f)
	}
}

// Replace replaces bytes start … end−1 by text. start and end must be at the start of a character,
// or at the end of the text.
func (r *Rope) Replace(start, end int, text []byte) {
	if r.root != nil && r.root.edit(start, end, text) {
		return
	}
	if r.root == nil {
		r.root = build(text)
		return
	}
	before, first, after := r.root.removeLeaf(start)
	at := start - before.measured().bytes
	head, tail := first.text[:at], []byte(nil)
	if endAt := end - before.measured().bytes; endAt <= first.bytes {
		tail = first.text[endAt:]
	} else {
		endAt -= first.bytes
		between, last, rest := after.removeLeaf(endAt)
		tail, after = last.text[endAt-between.measured().bytes:], rest
	}
	// A text that is too short for a leaf is joined with an adjacent leaf.
	if length := len(head) + len(text) + len(tail); length > 0 && length < minLeaf {
		switch {
		case before != nil:
			rest, last, _ := before.removeLeaf(before.bytes)
			before, head = rest, concat(last.text, head)
		case after != nil:
			_, first, rest := after.removeLeaf(0)
			after, tail = rest, concat(tail, first.text)
		}
	}
	r.root = join(join(before, build(concat(head, text, tail))), after)
}

func concat(parts ...[]byte) []byte {
	n := 0
	for _, p := range parts {
		n += len(p)
	}
	out := make([]byte, 0, n)
	for _, p := range parts {
		out = append(out, p...)
	}
	return out
}

// edit replaces bytes within one leaf. It returns false, without a change, if the range is not
// within one leaf or the new length of the leaf is below minLeaf or above maxLeaf.
func (n *node) edit(start, end int, text []byte) bool {
	if n.left == nil {
		length := n.bytes - (end - start) + len(text)
		if length < minLeaf || length > maxLeaf {
			return false
		}
		n.size = n.minus(measure(n.text[start:end])).plus(measure(text))
		if length > cap(n.text) {
			n.text = append(make([]byte, 0, min(maxLeaf, 2*length)), n.text...)
		}
		tail := n.text[end:]
		n.text = n.text[:length]
		copy(n.text[start+len(text):], tail)
		copy(n.text[start:], text)
		n.allocated = nodeBytes + cap(n.text)
		return true
	}
	child := n.left
	if start > n.left.bytes || start == n.left.bytes && end > start {
		child, start, end = n.right, start-n.left.bytes, end-n.left.bytes
	}
	if end > child.bytes || !child.edit(start, end, text) {
		return false
	}
	n.update()
	return true
}

// removeLeaf removes the leaf that contains the byte before the given offset, or the first leaf if the
// offset is 0. It returns the leaf, and the trees before and after the leaf.
func (n *node) removeLeaf(at int) (before, leaf, after *node) {
	if n.left == nil {
		return nil, n, nil
	}
	if at <= n.left.bytes {
		before, leaf, after = n.left.removeLeaf(at)
		return before, leaf, join(after, n.right)
	}
	before, leaf, after = n.right.removeLeaf(at - n.left.bytes)
	return join(n.left, before), leaf, after
}
