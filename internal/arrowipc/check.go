package arrowipc

import (
	"errors"
	"fmt"
)

// Values of the header type in Arrow's messages.
const (
	headerSchema     = 1
	headerDictionary = 2
	headerBatch      = 3
)

// maxColumns and maxDepth limit a schema. Without limits a small message could describe an
// exponential number of fields, because its tables may share children.
const (
	maxColumns = 64
	maxDepth   = 8
)

// parseHeader returns the kind of a message, its header and the length of its body.
func parseHeader(meta []byte) (kind int, header flatTable, bodyLength int64, err error) {
	message, err := flatRoot(meta)
	if err != nil {
		return 0, flatTable{}, 0, err
	}
	number, err := message.int(1, 1)
	if err != nil {
		return 0, flatTable{}, 0, err
	}
	header, ok, err := message.table(2)
	if err != nil {
		return 0, flatTable{}, 0, err
	}
	if !ok {
		return 0, flatTable{}, 0, errors.New("metadata is damaged: the message has no header")
	}
	bodyLength, err = message.int(3, 8)
	return int(number), header, bodyLength, err
}

// checkSchema checks the endianness of a schema, walks the schema as Arrow does, and returns an error
// if Arrow would build too many fields or too much text.
func checkSchema(schema flatTable) error {
	endianness, err := schema.int(0, 2)
	if err != nil {
		return err
	}
	if endianness != 0 {
		return errors.New("expected a little-endian file, found a big-endian file")
	}
	w := schemaWalk{columns: maxColumns, bytes: maxMetadata}
	if err := w.fields(schema, 1, maxDepth); err != nil {
		return err
	}
	return w.keyValues(schema, 2)
}

// A schemaWalk holds the remaining budget of fields and of bytes of text.
type schemaWalk struct{ columns, bytes int }

// fields counts the fields in a slot of a schema or a field, with their text and their children.
func (w *schemaWalk) fields(parent flatTable, slot, depth int) error {
	start, count, err := parent.vector(slot, 4)
	if err != nil {
		return err
	}
	if depth == 0 && count > 0 {
		return fmt.Errorf("schema: expected fields nested at most %d deep, found more", maxDepth)
	}
	if w.columns -= count; w.columns < 0 {
		return fmt.Errorf("schema: expected at most %d fields, found more", maxColumns)
	}
	for i := range count {
		field, err := flatTableAt(parent.buf, start+4*i)
		if err != nil {
			return err
		}
		if err := w.text(field, 0); err != nil {
			return err
		}
		if err := w.fields(field, 5, depth-1); err != nil {
			return err
		}
		if err := w.keyValues(field, 6); err != nil {
			return err
		}
	}
	return nil
}

// keyValues counts the text of metadata.
func (w *schemaWalk) keyValues(parent flatTable, slot int) error {
	start, count, err := parent.vector(slot, 4)
	if err != nil {
		return err
	}
	for i := range count {
		pair, err := flatTableAt(parent.buf, start+4*i)
		if err != nil {
			return err
		}
		for part := range 2 {
			if err := w.text(pair, part); err != nil {
				return err
			}
		}
	}
	return nil
}

// text counts the bytes of a text.
func (w *schemaWalk) text(t flatTable, slot int) error {
	_, length, err := t.vector(slot, 1)
	if err != nil {
		return err
	}
	if w.bytes -= length; w.bytes < 0 {
		return fmt.Errorf("schema: expected at most %d bytes of text, found more", maxMetadata)
	}
	return nil
}

// checkBatch checks the numbers of rows and nulls of a record batch, and its buffers against the length of
// body. It returns the size of the decoded buffers in bytes, each padded to a multiple of 64.
func checkBatch(batch flatTable, body []byte) (size int64, err error) {
	rows, err := batch.int(0, 8)
	if err != nil {
		return 0, err
	}
	if rows < 0 || rows > MaxBody {
		return 0, fmt.Errorf("expected 0 to %d rows, found %d", MaxBody, rows)
	}
	start, count, err := batch.vector(1, 16)
	if err != nil {
		return 0, err
	}
	for i := range count {
		length, nulls := batch.int64At(start+16*i), batch.int64At(start+16*i+8)
		if length < 0 || length > MaxBody || nulls < 0 || nulls > length {
			return 0, fmt.Errorf("field %d: impossible length %d with %d nulls", i, length, nulls)
		}
	}
	codec, err := compression(batch)
	if err != nil {
		return 0, err
	}
	start, count, err = batch.vector(2, 16)
	if err != nil {
		return 0, err
	}
	if err := checkViews(batch, count); err != nil {
		return 0, err
	}
	var stored int64
	for i := range count {
		offset, length := batch.int64At(start+16*i), batch.int64At(start+16*i+8)
		if offset < 0 || length < 0 || length > int64(len(body)) || offset > int64(len(body))-length {
			return 0, fmt.Errorf("buffer %d: offset %d and length %d exceed the body of %d bytes", i,
				offset, length, len(body))
		}
		// With overlapping buffers a small file could decode to a batch many times its size.
		if stored += length; stored > int64(len(body)) {
			return 0, fmt.Errorf("the buffers together exceed the body of %d bytes", len(body))
		}
		if codec != codecNone && length > 0 {
			if length, err = decompressedSize(body[offset:offset+length], codec); err != nil {
				return 0, fmt.Errorf("buffer %d: %w", i, err)
			}
		}
		if size += (length + 63) &^ 63; size > MaxBody {
			return 0, fmt.Errorf("the buffers exceed the limit of %d bytes", MaxBody)
		}
	}
	return size, nil
}

// checkViews checks that the columns of view types do not state more variadic buffers than the batch has
// buffers, because Arrow allocates a slice by these counts without a check.
func checkViews(batch flatTable, buffers int) error {
	start, count, err := batch.vector(4, 8)
	if err != nil {
		return err
	}
	remaining := int64(buffers)
	for i := range count {
		n := batch.int64At(start + 8*i)
		if n < 0 || n > remaining {
			return fmt.Errorf("view %d: found %d buffers, expected at most the remaining %d of %d", i, n, remaining,
				buffers)
		}
		remaining -= n
	}
	return nil
}

// checkDictionary checks the values of a dictionary, which are a record batch, with checkBatch.
func checkDictionary(dictionary flatTable, body []byte) (size int64, err error) {
	batch, ok, err := dictionary.table(1)
	if err == nil && !ok {
		err = errors.New("metadata is damaged: a dictionary has no values")
	}
	if err != nil {
		return 0, err
	}
	return checkBatch(batch, body)
}
