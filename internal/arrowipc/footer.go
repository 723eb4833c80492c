package arrowipc

import (
	"encoding/binary"
	"errors"
	"fmt"
	"io"
)

// magic is at the beginning and the end of an IPC file; at the beginning it is padded to 8 bytes.
const magic = "ARROW1"

// maxFooter is the maximum size of a footer in bytes. Each record batch adds 24 bytes to a footer.
const maxFooter = 64 << 20

// Field slots of a footer.
const (
	footerSchemaSlot   = 1
	footerDictionaries = 2
	footerBatches      = 3
)

// A block is the location of a record batch or a dictionary.
type block struct {
	offset int64
	meta   int64 // length of the metadata, including the eight bytes before it
	body   int64 // length of the body
}

func (m *message) block() block {
	return block{offset: m.offset, meta: 8 + int64(len(m.meta)), body: int64(len(m.body))}
}

// end returns the minimum offset of the message after the block.
func (b block) end() int64 { return b.offset + b.meta + b.body }

// checkFooter reads the rest of a file after its last message and compares the footer's blocks with
// the messages read. A truncated file, or a file with missing batches, is an error.
func (f *framer) checkFooter(found []block) error {
	footer, err := f.restFooter()
	if err != nil {
		return err
	}
	blocks, err := plainBlocks(footer)
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

// restFooter reads the rest of a file and returns its footer. The first bytes of the footer may
// already have been read as the head of a message.
func (f *framer) restFooter() ([]byte, error) {
	rest, err := io.ReadAll(io.LimitReader(f.r, maxFooter+1))
	if err != nil {
		return nil, fmt.Errorf("reading the footer: %w", err)
	}
	rest = append(f.head, rest...)
	if len(rest) > maxFooter {
		return nil, fmt.Errorf("the footer exceeds the limit of %d bytes", maxFooter)
	}
	end := max(0, len(rest)-fileEnd)
	size, err := footerSize(rest[end:], int64(end))
	if err != nil {
		return nil, err
	}
	return rest[int64(end)-size : end], nil
}

// fileEnd is the number of bytes of the footer's length and the final magic.
const fileEnd = 4 + len(magic)

// footerSize returns the footer's length as stated in end, the last bytes of a file. before is the
// number of bytes before end.
func footerSize(end []byte, before int64) (int64, error) {
	if len(end) < fileEnd || string(end[4:]) != magic {
		return 0, &truncationError{"expected a footer that ends with " + magic + ": the file is truncated or damaged"}
	}
	size, maxSize := int64(binary.LittleEndian.Uint32(end)), min(before, maxFooter)
	if size > maxSize {
		return 0, fmt.Errorf("footer length: expected at most %d, found %d", maxSize, size)
	}
	return size, nil
}

// plainBlocks returns the blocks of the record batches of a file without dictionaries.
func plainBlocks(footer []byte) ([]block, error) {
	table, err := flatRoot(footer)
	if err != nil {
		return nil, err
	}
	_, dictionaries, err := table.vector(footerDictionaries, 24)
	if err != nil {
		return nil, err
	}
	if dictionaries > 0 {
		return nil, errDictionaries
	}
	return blocksOf(footer, footerBatches)
}

// readFooter reads the schema and the locations of all messages of a file, dictionaries first.
func readFooter(whole *io.SectionReader) (schema *message, blocks []block, err error) {
	if whole == nil {
		return nil, nil, errors.New("the schema is only in the footer: " +
			"expected a seekable file, found a pipe or a compressed file")
	}
	end := whole.Size() - int64(fileEnd)
	tail := make([]byte, fileEnd)
	if _, err := whole.ReadAt(tail, end); err != nil {
		tail = nil
	}
	size, err := footerSize(tail, end)
	if err != nil {
		return nil, nil, err
	}
	footer := make([]byte, size)
	if _, err := whole.ReadAt(footer, end-size); err != nil {
		return nil, nil, fmt.Errorf("reading the footer: %w", err)
	}
	if schema, err = footerSchema(footer); err == nil {
		for _, slot := range []int{footerDictionaries, footerBatches} {
			var more []block
			if more, err = blocksOf(footer, slot); err != nil {
				break
			}
			blocks = append(blocks, more...)
		}
	}
	if err != nil {
		return nil, nil, fmt.Errorf("footer: %w", err)
	}
	return schema, append([]block{}, blocks...), nil
}

// blocksOf returns the blocks in a field of the footer. It refuses blocks whose offsets do not ascend, and
// overlapping blocks, with which a small file could expand to a large one.
func blocksOf(footer []byte, slot int) ([]block, error) {
	table, err := flatRoot(footer)
	if err != nil {
		return nil, err
	}
	start, count, err := table.vector(slot, 24)
	if err != nil {
		return nil, err
	}
	blocks := make([]block, count)
	last := int64(0)
	for i := range blocks {
		at := start + 24*i
		meta, _ := flatUint32(footer, at+8)
		b := block{offset: table.int64At(at), meta: int64(int32(meta)), body: table.int64At(at + 16)}
		blocks[i] = b
		if b.offset < last || b.meta < 8 || b.body < 0 || b.body > MaxBody {
			return nil, fmt.Errorf("block %d: expected an offset from %d, metadata of at least 8 bytes and a body of 0 to %d "+
				"bytes, found offset %d, metadata %d, body %d", i, last, MaxBody, b.offset, b.meta, b.body)
		}
		last = b.end()
	}
	return blocks, nil
}

// footerSchema returns a message with the schema of a footer.
func footerSchema(footer []byte) (*message, error) {
	table, err := flatRoot(footer)
	if err != nil {
		return nil, err
	}
	schema, ok, err := table.table(footerSchemaSlot)
	if err == nil && !ok {
		err = errors.New("the schema is missing")
	}
	if err == nil {
		err = checkSchema(schema)
	}
	if err != nil {
		return nil, err
	}
	return &message{kind: headerSchema, meta: append(schemaMessage(schema.pos), footer...)}, nil
}

// schemaMessage returns the first bytes of a schema message. The schema's table must be at the
// given position in the bytes that follow. This works because FlatBuffers refer to tables by
// relative offsets.
func schemaMessage(schema int) []byte {
	const vtable, table, length = 4, 16, 32
	out := make([]byte, length)
	binary.LittleEndian.PutUint32(out, table)
	for i, field := range []uint16{12, 12, 4, 6, 8} { // sizes of vtable and table; version, kind, header
		binary.LittleEndian.PutUint16(out[vtable+2*i:], field)
	}
	binary.LittleEndian.PutUint32(out[table:], table-vtable)
	binary.LittleEndian.PutUint16(out[table+4:], metadataVersion)
	out[table+6] = headerSchema
	binary.LittleEndian.PutUint32(out[table+8:], uint32(length-(table+8)+schema))
	return out
}

// metadataVersion is V5, Arrow's metadata version since 1.0.
const metadataVersion = 4
