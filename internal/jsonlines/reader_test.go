package jsonlines

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"
	"testing"
	"testing/iotest"

	"github.com/sftseq/sftseq/internal/must"
	"github.com/sftseq/sftseq/internal/testenv"
)

// read returns each line as "number:text", and each line above the limit as "number!bytes".
func read(r *Reader) ([]string, error) {
	var out []string
	for {
		line, err := r.Next()
		var long *TooLong
		switch {
		case err == io.EOF:
			return out, nil
		case errors.As(err, &long):
			out = append(out, fmt.Sprintf("%d!%d", r.Line(), long.Bytes))
		case err != nil:
			return out, err
		default:
			out = append(out, fmt.Sprintf("%d:%s", r.Line(), line))
		}
	}
}

// TestReader checks line numbers, line ends, blank lines and lines above the limit.
func TestReader(t *testing.T) {
	for _, c := range []struct {
		text string
		want []string
	}{
		{"", nil},
		{"\n\r\n  \n", nil},
		{"a\nb\n", []string{"1:a", "2:b"}},
		{"a\r\n\nb", []string{"1:a", "3:b"}},
		{"a\r\r\n", []string{"1:a\r"}},
		{"12345678\n", []string{"1:12345678"}},
		{"12345678\r\n", []string{"1:12345678"}},
		{"12345678", []string{"1:12345678"}},
		{"123456789\nb", []string{"1!10", "2:b"}},
		{"123456789\r\nb", []string{"1!11", "2:b"}},
		{"123456789abcdef\nb\n", []string{"1!16", "2:b"}},
		{"123456789abcdef", []string{"1!15"}},
		{"\xef\xbb\xbf{}\n\xef\xbb\xbf{}", []string{"1:{}", "2:\xef\xbb\xbf{}"}},
		{"\x00\n\xff", []string{"1:\x00", "2:\xff"}},
	} {
		for _, one := range []bool{false, true} {
			var in io.Reader = strings.NewReader(c.text)
			if one {
				in = iotest.OneByteReader(in)
			}
			got, err := read(NewReader(in, 8))
			if err != nil || !slices.Equal(got, c.want) {
				t.Errorf("%q: got %q, error %v, want %q", c.text, got, err, c.want)
			}
		}
	}
}

// TestReaderReportsFailure checks that the complete lines before a read error are returned, and then the error.
func TestReaderReportsFailure(t *testing.T) {
	broken := errors.New("broken")
	r := NewReader(io.MultiReader(strings.NewReader("a\nb"), iotest.ErrReader(broken)), 8)
	got, err := read(r)
	if !errors.Is(err, broken) || !slices.Equal(got, []string{"1:a"}) {
		t.Errorf("got %q, error %v, want the first line and the error", got, err)
	}
}

// repeated is an endless reader of one byte value.
type repeated byte

func (b repeated) Read(p []byte) (int, error) {
	for i := range p {
		p[i] = byte(b)
	}
	return len(p), nil
}

// TestLongLineTakesLittleMemory checks that the reader reports the length of a line of 100 MB above the limit
// and keeps no large buffer after it.
func TestLongLineTakesLittleMemory(t *testing.T) {
	in := io.MultiReader(io.LimitReader(repeated('x'), 100e6), strings.NewReader("\nb\n"))
	r := NewReader(in, 1<<16)
	got, err := read(r)
	if err != nil || !slices.Equal(got, []string{"1!100000001", "2:b"}) {
		t.Errorf("got %q, error %v, want the length of the long line, and the next line", got, err)
	}
	if cap(r.buf) > keep {
		t.Errorf("got a buffer of %d bytes after a long line, want at most %d", cap(r.buf), keep)
	}
}

// TestLongLineIsExact checks that long lines are returned unchanged, in a buffer that is not much
// longer.
func TestLongLineIsExact(t *testing.T) {
	for _, length := range []int{keep - 1, keep, keep + 1, 5 * keep, 5*keep + 12345} {
		want := make([]byte, length)
		for i := range want {
			want[i] = 'a' + byte(i%23)
		}
		r := NewReader(io.MultiReader(bytes.NewReader(want), strings.NewReader("\r\nb\n")), length)
		got, err := r.Next()
		if err != nil || !bytes.Equal(got, want) || cap(got) > length+length/4+64 {
			t.Errorf("got %d bytes in a buffer of %d, error %v, want %d bytes", len(got), cap(got), err, length)
		}
		if length > 2*keep && cap(got) > length+64 {
			t.Errorf("got a buffer of %d bytes for a line of %d, want at most 64 more", cap(got), length)
		}
		if got, err := r.Next(); string(got) != "b" {
			t.Errorf("got next line %q, error %v, want b", got, err)
		}
	}
}

// TestRoom checks that a line is kept while Room grants memory. If Room refuses, the error has the
// head of the line, and the next line can be read.
func TestRoom(t *testing.T) {
	long := strings.Repeat("x", 5*Free/2)
	r := NewReader(strings.NewReader("short\n"+long+"\n"+long+"\n"+strings.Repeat("y", 4*Free)+"\nb\n"), 3*Free)
	room := 3 * Free
	r.Room = func(bytes int) bool {
		if bytes > room {
			return false
		}
		room -= bytes
		return true
	}
	if got, err := r.Next(); string(got) != "short" || room != 3*Free {
		t.Fatalf("got line %q, error %v, room for %d; want short and room for %d", got, err, room, 3*Free)
	}
	first, err := r.Next()
	if string(first) != long || room != Free {
		t.Fatalf("got a line of %d bytes, error %v, room for %d; want the line of %d x and room for %d", len(first),
			err, room, len(long), Free)
	}
	r.Detach()
	var none *NoRoom
	if _, err = r.Next(); !errors.As(err, &none) || none.Bytes != int64(len(long))+1 ||
		len(none.Head) != HeadBytes || r.buf != nil {
		t.Errorf("got error %v and a buffer of %d bytes, want a NoRoom error and no buffer", err, cap(r.buf))
	}
	var tooLong *TooLong // the limit applies regardless of Room
	if _, err = r.Next(); !errors.As(err, &tooLong) || !strings.HasPrefix(string(tooLong.Head), "yyy") {
		t.Errorf("got error %v, want a TooLong error with the head of the line", err)
	}
	if got, err := r.Next(); string(got) != "b" || string(first) != long {
		t.Errorf("got %s, error %v, want b; the detached line is unchanged: %v", got, err, string(first) == long)
	}
}

// TestRoomOfBlankLines checks that blank lines reuse memory that was requested once.
func TestRoomOfBlankLines(t *testing.T) {
	blank := strings.Repeat(" ", 5*Free/2) + "\n"
	r := NewReader(strings.NewReader(strings.Repeat(blank, 20)+"a\n"), 3*Free)
	taken := 0
	r.Room = func(bytes int) bool { taken += bytes; return true }
	if got, err := r.Next(); string(got) != "a" || taken != 2*Free {
		t.Errorf("got %s, error %v, %d requested bytes, want 2*Free", got, err, taken)
	}
}

// FuzzReader compares the lines with the lines of bytes.Split.
func FuzzReader(f *testing.F) {
	for _, text := range []string{"", "a\nb", "\r\n\r\n", "a\r\n\n123456789\nb", "\xef\xbb\xbf{}\n", "\x00\n\xff\n",
		"1234567890123\r\n8\r\r\n"} {
		f.Add([]byte(text))
	}
	f.Fuzz(func(t *testing.T, text []byte) {
		defer testenv.FuzzLimits(t, 1<<20+500*len(text))()
		got := must.Get(read(NewReader(bytes.NewReader(text), 8)))(t)
		var want []string
		for i, line := range bytes.Split(text, []byte("\n")) {
			line = bytes.TrimSuffix(line, []byte("\r"))
			long := len(line) > 8
			if i == 0 {
				line = bytes.TrimPrefix(line, []byte("\xef\xbb\xbf"))
			}
			if long {
				want = append(want, fmt.Sprintf("%d!", i+1))
			} else if len(bytes.TrimSpace(line)) > 0 {
				want = append(want, fmt.Sprintf("%d:%s", i+1, line))
			}
		}
		for i, g := range got {
			if at := strings.IndexByte(g, '!'); at >= 0 && !strings.Contains(g[:at], ":") {
				got[i] = g[:at+1]
			}
		}
		if !slices.Equal(got, want) {
			t.Errorf("%q: got %q, want %q", text, got, want)
		}
	})
}
