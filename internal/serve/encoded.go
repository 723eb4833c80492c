package serve

import "slices"

// encoded has the text of a document's last publication and the text's tokens. If each byte is a token,
// the next publication changes only the tokens of the edited bytes.
type encoded struct {
	text   string
	tokens []int32
}

// memory returns the bytes that the text and the tokens take.
func (e *encoded) memory() int64 { return int64(len(e.text)) + tokenBytes*int64(cap(e.tokens)) }

// takeEncoded removes the text and tokens of the last publication from the document and returns them, or nil
// if none are kept. It releases their reserved memory. The caller holds d.mu.
func (d *document) takeEncoded() *encoded {
	e := d.encoded
	if e != nil {
		d.session.release(e.memory())
	}
	d.encoded = nil
	return e
}

// keepEncoded keeps the text and tokens of a publication for the next publication, if the document is neither
// closed nor broken, the model has chunks, each byte is a token, and memory is free. No computation may
// use the tokens any longer. The caller holds d.mu.
func (d *document) keepEncoded(c *call, q *sequence, text string) {
	e := &encoded{text, q.tokens}
	if c.model.chunked && c.model.parser.EncodesBytes() && !d.closed && d.broken == nil &&
		d.session.reserve(e.memory()) {
		d.takeEncoded()
		d.encoded = e
	}
}

// encodeEdited tokenizes a text. It reuses the tokens of last, which may be nil, if each byte is a token.
func (c *call) encodeEdited(field, text string, last *encoded) ([]int32, error) {
	if last == nil || !c.model.parser.EncodesBytes() {
		return c.encodeText(field, text)
	}
	prefix, suffix := sharedEnds(last.text, text)
	middle, err := c.encodeText(field, text[prefix:len(text)-suffix])
	if err != nil {
		return nil, err
	}
	if err := c.reserve(tokenBytes * int64(len(text))); err != nil {
		return nil, err
	}
	return slices.Replace(last.tokens, prefix, len(last.text)-suffix, middle...), nil
}

// sharedEnds returns the numbers of leading and trailing bytes that two texts share.
func sharedEnds(a, b string) (prefix, suffix int) {
	const block = 1024 // comparing blocks is many times as fast as a loop over bytes
	n := min(len(a), len(b))
	for prefix+block <= n && a[prefix:prefix+block] == b[prefix:prefix+block] {
		prefix += block
	}
	for prefix < n && a[prefix] == b[prefix] {
		prefix++
	}
	a, b, n = a[prefix:], b[prefix:], n-prefix
	for suffix+block <= n && a[len(a)-suffix-block:len(a)-suffix] == b[len(b)-suffix-block:len(b)-suffix] {
		suffix += block
	}
	for suffix < n && a[len(a)-suffix-1] == b[len(b)-suffix-1] {
		suffix++
	}
	return prefix, suffix
}
