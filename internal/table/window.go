package table

import (
	"io"
	"strings"
)

// window is the part of a text that has been read but not consumed. The values of rows are substrings of
// the window and are not copied. A value therefore keeps the whole block that contains it in memory.
type window struct {
	in    io.Reader
	text  string
	err   error // read error after text, io.EOF at the end of the input, or nil
	block int   // minimum number of bytes that readMore adds
	piece []byte
}

// A window grows by at least blockBytes, except at the end of the input. A single read has at most
// pieceBytes, which fit into the CPU cache.
const (
	blockBytes = 256 << 10
	pieceBytes = 64 << 10
)

func newWindow(in io.Reader) *window {
	w := &window{in: in, block: blockBytes, piece: make([]byte, pieceBytes)}
	w.readMore()
	w.text = strings.TrimPrefix(w.text, byteOrderMark)
	return w
}

// byteOrderMark is UTF-8's byte-order mark, with which some programs begin a text.
const byteOrderMark = "\xef\xbb\xbf"

// readMore reads w.block bytes, or as many bytes as the window has if that is more. The window thus at
// least doubles, which bounds how often a long row is scanned again. At the end of the input or after a
// read error, readMore adds fewer bytes and sets w.err.
func (w *window) readMore() {
	n := max(w.block, len(w.text))
	var text strings.Builder
	text.Grow(len(w.text) + n)
	text.WriteString(w.text)
	for emptyReads := 0; n > 0 && w.err == nil; {
		var got int
		got, w.err = w.in.Read(w.piece[:min(n, len(w.piece))])
		text.Write(w.piece[:got])
		if n -= got; got > 0 {
			emptyReads = 0
		} else if emptyReads++; emptyReads == 100 && w.err == nil {
			w.err = io.ErrNoProgress
		}
	}
	w.text = text.String()
}

// line returns the next line without its line end, "\n" or "\r\n". A line of more than limit bytes is
// skipped: line is "" and long is true.
func (w *window) line(limit int) (line string, long bool, err error) {
	for {
		end := strings.IndexByte(w.text, '\n')
		switch {
		case end >= 0 || w.atEnd():
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
		w.readMore()
	}
}

// skip discards the first n bytes.
func (w *window) skip(n int) { w.text = w.text[n:] }

// atEnd reports whether the window reaches the end of the text.
func (w *window) atEnd() bool { return w.err == io.EOF }
