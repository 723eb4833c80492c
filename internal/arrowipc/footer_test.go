package arrowipc

import (
	"bytes"
	"encoding/binary"
	"errors"
	"io"
	"strings"
	"testing"

	"github.com/sftseq/sftseq/internal/must"
)

// footerIn returns the footer in the bytes of a file.
func footerIn(t *testing.T, data []byte) []byte {
	t.Helper()
	end := len(data) - fileEnd
	size := must.Get(footerSize(data[end:], int64(end)))(t)
	return data[end-int(size) : end]
}

// blocksIn returns the part of a footer from a field's vector of blocks to the end. The vector has 4 bytes
// for the number of blocks, then the blocks.
func blocksIn(t *testing.T, footer []byte, slot int) []byte {
	t.Helper()
	table := must.Get(flatRoot(footer))(t)
	start, _, err := table.vector(slot, 24)
	if err != nil || start == 0 {
		t.Fatalf("found no vector in field %d: %v", slot, err)
	}
	return footer[start-4:]
}

// Offsets of the second block's fields in the result of blocksIn.
const (
	secondOffset = 4 + 24
	secondMeta   = secondOffset + 8
	secondBody   = secondOffset + 16
)

// addTo adds n to the 64-bit number at the start of data.
func addTo(data []byte, n int64) {
	binary.LittleEndian.PutUint64(data, uint64(int64(binary.LittleEndian.Uint64(data))+n))
}

// TestFooterAgrees checks that a file is refused if its footer is damaged, lists dictionaries, or lists
// batches that differ from the file's batches.
func TestFooterAgrees(t *testing.T) {
	for name, c := range map[string]struct {
		damage func(data []byte)
		want   string
	}{
		"a missing batch": {func(data []byte) {
			binary.LittleEndian.PutUint32(blocksIn(t, footerIn(t, data), footerBatches), 1)
		}, "footer: expected 2 record batches as in the file, found 1"},
		"another offset": {func(data []byte) {
			addTo(blocksIn(t, footerIn(t, data), footerBatches)[secondOffset:], 8)
		}, "footer: record batch 1: expected offset"},
		"another metadata length": {func(data []byte) {
			blocksIn(t, footerIn(t, data), footerBatches)[secondMeta] += 8
		}, "footer: record batch 1: expected offset"},
		"another body length": {func(data []byte) {
			addTo(blocksIn(t, footerIn(t, data), footerBatches)[secondBody:], 8)
		}, "footer: record batch 1: expected offset"},
		"a dictionary": {func(data []byte) {
			binary.LittleEndian.PutUint32(blocksIn(t, footerIn(t, data), footerDictionaries), 1)
		}, "footer: dictionary-encoded columns are not supported"},
		"dictionaries beyond the footer": {func(data []byte) {
			binary.LittleEndian.PutUint32(blocksIn(t, footerIn(t, data), footerDictionaries), 1<<20)
		}, "footer: metadata is damaged"},
		"another magic": {func(data []byte) { data[len(data)-1]++ }, "expected a footer that ends with ARROW1"},
	} {
		data, _ := sample(t, true)
		c.damage(data)
		must.Fail(t, c.want, name)(readAll(data))
	}
}

// TestFooterOfStream checks that a Stream, too, refuses a file whose footer does not list all batches.
func TestFooterOfStream(t *testing.T) {
	data, _ := sample(t, true)
	binary.LittleEndian.PutUint32(blocksIn(t, footerIn(t, data), footerBatches), 1)
	s := must.Get(NewFileOrStream(bytes.NewReader(data), nil))(t)
	must.Fail(t, "footer: expected 2 record batches as in the file, found 1")(rest(s))
}

// TestFooterBlocks checks that a footer is refused if its blocks overlap or have invalid sizes.
func TestFooterBlocks(t *testing.T) {
	for name, damage := range map[string]func(blocks []byte){
		"the first batch twice": func(b []byte) { copy(b[secondOffset:], b[4:4+8]) },
		"overlaps the first":    func(b []byte) { addTo(b[secondOffset:], -8) },
		"no metadata":           func(b []byte) { binary.LittleEndian.PutUint32(b[secondMeta:], 7) },
		"a negative body":       func(b []byte) { binary.LittleEndian.PutUint64(b[secondBody:], 1<<64-8) },
		"a large body":          func(b []byte) { binary.LittleEndian.PutUint64(b[secondBody:], MaxBody+8) },
	} {
		data := footerOnly(t)
		damage(blocksIn(t, footerIn(t, data), footerBatches))
		must.Fail(t, "footer: block 1: expected an offset from", name)(
			NewFileOrStream(bytes.NewReader(data), section(data)))
	}
}

// TestFooterSize checks that a footer is refused if it is longer than the bytes before its length, or
// than the limit, or if the end of the file is truncated.
func TestFooterSize(t *testing.T) {
	end := func(size uint32) []byte { return append(binary.LittleEndian.AppendUint32(nil, size), magic...) }
	for _, c := range []struct {
		end    []byte
		before int64
		want   string
	}{
		{end(100), 100, ""},
		{end(101), 100, "footer length: expected at most 100, found 101"},
		{end(maxFooter), 1 << 40, ""},
		{end(maxFooter + 1), 1 << 40, "footer length: expected at most 67108864, found 67108865"},
		{end(1)[1:], 100, "the file is truncated or damaged: copy or create it again"},
		{nil, -10, "the file is truncated or damaged: copy or create it again"}, // shorter than the fixed-size end
	} {
		_, err := footerSize(c.end, c.before)
		if (err == nil) != (c.want == "") || err != nil && !strings.Contains(err.Error(), c.want) {
			t.Errorf("%x after %d bytes: got error %v, want %q", c.end, c.before, err, c.want)
		}
	}
}

// limitedZeros is a reader of a limited number of zero bytes, after which it returns errReadTooMuch.
type limitedZeros struct{ remaining int }

var errReadTooMuch = errors.New("the reader read beyond the limit")

func (r *limitedZeros) Read(p []byte) (int, error) {
	if r.remaining == 0 {
		return 0, errReadTooMuch
	}
	n := min(len(p), r.remaining)
	r.remaining -= n
	clear(p[:n])
	return n, nil
}

var _ io.Reader = (*limitedZeros)(nil)

// TestFooterLimit checks that reading stops one byte after the maximum footer size.
func TestFooterLimit(t *testing.T) {
	f := framer{r: &limitedZeros{remaining: maxFooter + 1}, isFile: true}
	must.Fail(t, "the footer exceeds the limit of 67108864 bytes")(f.restFooter())
}
