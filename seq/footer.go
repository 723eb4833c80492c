package seq

import (
	"encoding/binary"
	"errors"
	"fmt"
	"io"
)

// magic begins and ends an IPC file; at the beginning it is padded to 8 bytes.
const magic = "ARROW1"

// maxFooter bounds the table of a file's record batches (24 bytes for each).
const maxFooter = 64 << 20

// A block says where a record batch lies.
type block struct {
	offset int64
	meta   int64 // length with the eight bytes before it
	body   int64
}

func (m *message) block() block {
	return block{offset: m.offset, meta: 8 + int64(len(m.meta)), body: int64(len(m.body))}
}

// checkFooter reads the rest of a file after its last message, of which head
// has been read already, and compares the footer's blocks with those found on
// the way: a file without its end, or with batches missing, is damaged.
func checkFooter(r io.Reader, head []byte, found []block) error {
	rest, err := io.ReadAll(io.LimitReader(r, maxFooter+1))
	if err != nil {
		return fmt.Errorf("reading the footer: %w", err)
	}
	rest = append(head, rest...)
	if len(rest) > maxFooter {
		return fmt.Errorf("the footer exceeds the limit of %d bytes", maxFooter)
	}
	end := len(rest) - 4 - len(magic)
	if end < 0 || string(rest[end+4:]) != magic {
		return fmt.Errorf("expected a footer that ends with %s; the file was cut off or is damaged: %w", magic, io.ErrUnexpectedEOF)
	}
	size := int64(binary.LittleEndian.Uint32(rest[end:]))
	if size > int64(end) {
		return fmt.Errorf("footer length: expected at most %d, found %d", end, size)
	}
	blocks, err := footerBlocks(rest[int64(end)-size : end])
	if err != nil {
		return fmt.Errorf("footer: %w", err)
	}
	if len(blocks) != len(found) {
		return fmt.Errorf("footer: expected %d record batches as in the file, found %d", len(found), len(blocks))
	}
	for i := range blocks {
		if blocks[i] != found[i] {
			return fmt.Errorf("footer: record batch %d: expected offset %d, metadata %d, body %d as in the file, found %d, %d, %d",
				i, found[i].offset, found[i].meta, found[i].body, blocks[i].offset, blocks[i].meta, blocks[i].body)
		}
	}
	return nil
}

func footerBlocks(footer []byte) ([]block, error) {
	table, err := flatRoot(footer)
	if err != nil {
		return nil, err
	}
	_, dictionaries, err := table.vector(2, 24)
	if err != nil {
		return nil, err
	}
	if dictionaries > 0 {
		return nil, errors.New("dictionary-encoded columns are not supported: expected plain ones")
	}
	start, count, err := table.vector(3, 24)
	if err != nil {
		return nil, err
	}
	blocks := make([]block, count)
	for i := range blocks {
		at := start + 24*i
		meta, _ := flatUint32(footer, at+8)
		blocks[i] = block{offset: table.int64At(at), meta: int64(int32(meta)), body: table.int64At(at + 16)}
	}
	return blocks, nil
}
