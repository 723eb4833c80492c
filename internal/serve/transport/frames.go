package transport

import (
	"bufio"
	"bytes"
	"errors"
	"fmt"
	"io"
	"mime"
	"regexp"
	"strconv"
	"strings"

	"github.com/sftseq/sftseq/internal/jsonlines"
)

// Framings of a stream.
const (
	Lines = "lines" // one message per line
	LSP   = "lsp"   // Content-Length and other headers before each message
)

// Message is a message read from a stream.
type Message struct {
	Body []byte
	Line int    // number of the message's line; with LSP framing the number of the message; from 1
	Err  error  // reason why Body is missing; the stream continues
	Head []byte // beginning of the message; always set by Frames if Body is missing
	Room int64  // bytes borrowed from the lender
}

// Frames reads and writes the messages of a stream. It must withstand hostile clients.
type Frames interface {
	// Read returns the next message, or an error at the end of the stream.
	Read() (Message, error)
	// Write writes a message. Calls must not be concurrent.
	Write(body []byte) error
}

// NewFrames returns the frames of a stream whose messages have at most limit bytes. Memory for long
// messages is borrowed from the lender, which may be nil.
func NewFrames(framing string, r io.Reader, w io.Writer, limit int, lender Lender) Frames {
	if framing == LSP {
		return &lspFrames{r: bufio.NewReaderSize(r, 1<<16), w: w, limit: limit, loan: loan{lender: lender}}
	}
	f := &lineFrames{r: jsonlines.NewReader(r, limit), w: w, loan: loan{lender: lender}}
	f.r.Room = f.loan.extend
	return f
}

type lineFrames struct {
	r    *jsonlines.Reader
	loan loan
	w    io.Writer
}

func (f *lineFrames) Read() (Message, error) {
	line, err := f.r.Next()
	f.r.Detach()
	if err != nil {
		f.loan.giveBack()
	}
	head := line
	var long *jsonlines.TooLong
	var noRoom *jsonlines.NoRoom
	switch {
	case errors.As(err, &long):
		head = long.Head
	case errors.As(err, &noRoom):
		head = noRoom.Head
	case err != nil:
		return Message{}, err
	}
	if f.r.Line() == 1 && (isHTTP(string(head)) || isHeader(string(head))) {
		f.loan.giveBack()
		if isHTTP(string(head)) {
			return Message{}, errHTTP
		}
		return Message{}, BadHeader{errors.New("expected one message per line, found LSP framing (use --framing lsp)")}
	}
	return Message{Body: line, Line: f.r.Line(), Err: err, Head: head, Room: f.loan.handOver()}, nil
}

func (f *lineFrames) Write(body []byte) error {
	_, err := f.w.Write(append(body, '\n'))
	return err
}

type lspFrames struct {
	r     *bufio.Reader
	limit int
	loan  loan
	count int
	w     io.Writer
}

// Limits of LSP's headers: bytes per line, and number of lines.
const (
	maxHeader  = 4096
	maxHeaders = 32
)

// BadHeader is the error for a malformed header, a truncated message, or another protocol or framing. It ends
// the stream, because the start of the next message is unknown.
type BadHeader struct{ error }

// errHTTP ends a stream that starts with HTTP. Otherwise the body of a request would be read as
// messages, and any web page can make a browser send a request to a local port.
var errHTTP = BadHeader{errors.New("found an HTTP request, expected JSON-RPC")}

// requestLine matches the request line of HTTP, or its method and the first 500 characters of a long
// target.
var requestLine = regexp.MustCompile(`^[A-Z]+ (\S+ HTTP/|\S{500})`)

// isHTTP reports whether a stream with the given first line is HTTP.
func isHTTP(line string) bool { return requestLine.MatchString(line[:min(len(line), maxHeader)]) }

// isHeader reports whether a stream with the given first line has LSP framing.
func isHeader(line string) bool {
	name, _, ok := strings.Cut(line[:min(len(line), maxHeader)], ":")
	return ok && strings.EqualFold(name, contentLength)
}

const contentLength = "Content-Length"

func (f *lspFrames) Read() (Message, error) {
	length, err := f.header()
	if err != nil {
		return Message{}, err
	}
	f.count++
	if length > int64(f.limit) {
		head, _ := f.r.Peek(int(min(length, jsonlines.HeadBytes)))
		head = bytes.Clone(head)
		return f.skip(length, 0, head, &jsonlines.TooLong{Bytes: length, Limit: f.limit, Head: head})
	}
	// Memory grows with the bytes received, because the client may send fewer than announced.
	var body []byte
	for n := 0; n < int(length); n = len(body) {
		step := min(int(length)-n, max(n, jsonlines.Free)) // doubling keeps the number of copies small
		if n > 0 && !f.loan.extend(step) {
			head := bytes.Clone(body[:jsonlines.HeadBytes])
			return f.skip(length, int64(n), head, &jsonlines.NoRoom{Bytes: length, Head: head})
		}
		body = append(make([]byte, 0, n+step), body...)[:n+step]
		if got, err := io.ReadFull(f.r, body[n:]); err != nil {
			f.loan.giveBack()
			return Message{}, errTruncated(length, int64(n+got))
		}
	}
	return Message{Body: body, Line: f.count, Room: f.loan.handOver()}, nil
}

// skip discards the rest of a message after its first n bytes, and returns a message with reason as its Err.
func (f *lspFrames) skip(length, n int64, head []byte, reason error) (Message, error) {
	f.loan.giveBack()
	if more, err := io.CopyN(io.Discard, f.r, length-n); err != nil {
		return Message{}, errTruncated(length, n+more)
	}
	return Message{Line: f.count, Err: reason, Head: head}, nil
}

// errTruncated returns the error for a stream that ended after n bytes of a message.
func errTruncated(length, n int64) error {
	return BadHeader{fmt.Errorf("Content-Length %d: the stream ended after %d bytes", length, n)}
}

// header reads the headers up to the blank line and returns the message's length.
func (f *lspFrames) header() (int64, error) {
	length := int64(-1)
	var names []string
	for n := 0; ; n++ {
		line, err := f.headerLine()
		if err == io.EOF && n == 0 && line == "" {
			return 0, io.EOF
		}
		if err != nil {
			return 0, BadHeader{fmt.Errorf("header: %w", err)}
		}
		if f.count == 0 && n == 0 && isHTTP(line) {
			return 0, errHTTP
		}
		if line == "" && length >= 0 {
			return length, nil
		}
		name, value, ok := strings.Cut(line, ":")
		if line == "" {
			return 0, BadHeader{fmt.Errorf("expected Content-Length among the headers, found %.80q", names)}
		}
		names = append(names, name)
		if !ok {
			return 0, BadHeader{fmt.Errorf("expected a header such as Content-Length: 42, found %.40q: "+
				"use --framing lines for one message per line", line)}
		}
		if n == maxHeaders {
			return 0, BadHeader{fmt.Errorf("expected at most %d headers, found more", maxHeaders)}
		}
		value = strings.TrimSpace(value)
		switch name = strings.TrimSpace(name); {
		case strings.EqualFold(name, contentLength):
			v, err := strconv.ParseUint(value, 10, 40)
			switch {
			case length >= 0:
				return 0, BadHeader{errors.New("Content-Length: expected one per message, found two")}
			case errors.Is(err, strconv.ErrRange):
				return 0, BadHeader{fmt.Errorf("Content-Length: expected at most %d bytes (--max-line), found %.40s",
					f.limit, value)}
			case err != nil:
				return 0, BadHeader{fmt.Errorf("Content-Length: expected a decimal number, found %.40q", value)}
			}
			length = int64(v)
		case strings.EqualFold(name, "Content-Type"):
			if _, p, err := mime.ParseMediaType(value); err == nil && p["charset"] != "" && !IsUTF8(p["charset"]) {
				return 0, BadHeader{fmt.Errorf("Content-Type: expected the charset utf-8, found %.40q", p["charset"])}
			}
		}
	}
}

// utf8Name matches the names of UTF-8 in current and early versions of LSP.
var utf8Name = regexp.MustCompile(`(?i)^utf-?8$`)

// IsUTF8 reports whether a charset is UTF-8.
func IsUTF8(charset string) bool { return utf8Name.MatchString(charset) }

func (f *lspFrames) headerLine() (string, error) {
	var line []byte
	for {
		b, err := f.r.ReadByte()
		if err != nil {
			if len(line) > 0 {
				err = io.ErrUnexpectedEOF
			}
			return "", err
		}
		if b == '\n' {
			return strings.TrimSuffix(string(line), "\r"), nil
		}
		if line = append(line, b); line[0] == '{' {
			return "", errors.New("expected the header Content-Length, found \"{\": use --framing lines for one message " +
				"per line")
		}
		if len(line) > maxHeader {
			return "", fmt.Errorf("the line has more than %d bytes", maxHeader)
		}
	}
}

func (f *lspFrames) Write(body []byte) error {
	head := fmt.Sprintf("Content-Length: %d\r\n\r\n", len(body))
	_, err := f.w.Write(append([]byte(head), body...))
	return err
}
