package table

import (
	"io"
	"strings"
)

// window is what lies ahead in a text, as far as it has been read. Rows are parts of its
// memory: reading them costs none of their own, and a value keeps alive the block that
// it was read with.
type window struct {
	in    io.Reader
	text  string
	err   error // error behind the text, or io.EOF
	block int   // bytes by which it grows at least
	piece []byte
}

// A window grows by a block, which is read in pieces that fit into the CPU's cache.
const (
	blockBytes = 256 << 10
	pieceBytes = 64 << 10
)

func newWindow(in io.Reader) *window {
	w := &window{in: in, block: blockBytes, piece: make([]byte, pieceBytes)}
	w.more()
	w.text = strings.TrimPrefix(w.text, byteOrderMark)
	return w
}

// byteOrderMark is what some programs begin a text with.
const byteOrderMark = "\xef\xbb\xbf"

// more reads a block, or as much as there is already, so that a long row is not looked
// through too often.
func (w *window) more() {
	n := max(w.block, len(w.text))
	var text strings.Builder
	text.Grow(len(w.text) + n)
	text.WriteString(w.text)
	for stuck := 0; n > 0 && w.err == nil; {
		var got int
		got, w.err = w.in.Read(w.piece[:min(n, len(w.piece))])
		text.Write(w.piece[:got])
		if n -= got; got > 0 {
			stuck = 0
		} else if stuck++; stuck == 100 && w.err == nil {
			w.err = io.ErrNoProgress
		}
	}
	w.text = text.String()
}

// line takes the next line, without its end, "\n" or "\r\n". One of more bytes than the
// limit is passed over.
func (w *window) line(limit int) (line string, long bool, err error) {
	for {
		end := strings.IndexByte(w.text, '\n')
		switch {
		case end >= 0 || w.last():
			if end < 0 {
				end = len(w.text)
			}
			line = strings.TrimSuffix(w.text[:end], "\r")
			w.skip(min(end+1, len(w.text)))
			if long = long || len(line) > limit; long {
				line = ""
			}
			return line, long, nil
		case w.err != nil:
			return "", false, w.err
		case len(w.text) > limit+len("\r"):
			w.text, long = "", true
		}
		w.more()
	}
}

// skip leaves the first bytes behind.
func (w *window) skip(n int) { w.text = w.text[n:] }

// last reports whether nothing comes behind the text.
func (w *window) last() bool { return w.err == io.EOF }
