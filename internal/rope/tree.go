package rope

import "unicode/utf8"

// build returns a tree for a text, with leaves of about equal length.
func build(text []byte) *node {
	// A leaf ends at a character boundary, so the next leaf may have up to UTFMax − 1 more bytes.
	const maxLength = maxLeaf - (utf8.UTFMax - 1)
	leaves := make([]*node, (len(text)+maxLength-1)/maxLength)
	start := 0
	for i := range leaves {
		end := len(text) * (i + 1) / len(leaves)
		for end < len(text) && !utf8.RuneStart(text[end]) {
			end--
		}
		leaves[i] = newLeaf(text[start:end])
		start = end
	}
	return buildBalanced(leaves)
}

// newLeaf returns a leaf with a copy of the text.
func newLeaf(text []byte) *node {
	n := &node{size: measure(text), text: append(make([]byte, 0, len(text)), text...)}
	n.allocated = nodeBytes + cap(n.text)
	return n
}

// buildBalanced returns a balanced tree of the leaves.
func buildBalanced(leaves []*node) *node {
	switch n := len(leaves); n {
	case 0:
		return nil
	case 1:
		return leaves[0]
	default:
		return newParent(buildBalanced(leaves[:n/2]), buildBalanced(leaves[n/2:]))
	}
}

func newParent(left, right *node) *node {
	n := &node{left: left, right: right}
	n.update()
	return n
}

// update recomputes the size, the height and the allocated bytes of a node after a change below it.
func (n *node) update() {
	n.size = n.left.plus(n.right.size)
	n.height = 1 + max(n.left.height, n.right.height)
	n.allocated = nodeBytes + n.left.allocated + n.right.allocated
}

// join returns the concatenation of two trees. Its time grows with the difference of their heights.
func join(a, b *node) *node {
	switch {
	case a == nil:
		return b
	case b == nil:
		return a
	case a.height > b.height+1:
		a.right = join(a.right, b)
		return a.balance()
	case b.height > a.height+1:
		b.left = join(a, b.left)
		return b.balance()
	}
	return newParent(a, b)
}

// balance updates a node whose subtrees' heights may differ by two, and rotates it if necessary.
func (n *node) balance() *node {
	switch d := n.left.height - n.right.height; {
	case d > 1:
		if n.left.right.height > n.left.left.height {
			n.left = n.left.rotateLeft()
		}
		return n.rotateRight()
	case d < -1:
		if n.right.left.height > n.right.right.height {
			n.right = n.right.rotateRight()
		}
		return n.rotateLeft()
	}
	n.update()
	return n
}

// rotateLeft makes the right subtree the root.
func (n *node) rotateLeft() *node {
	top := n.right
	n.right, top.left = top.left, n
	n.update()
	top.update()
	return top
}

// rotateRight makes the left subtree the root.
func (n *node) rotateRight() *node {
	top := n.left
	n.left, top.right = top.right, n
	n.update()
	top.update()
	return top
}
