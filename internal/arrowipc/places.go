package arrowipc

import (
	"fmt"
	"io"

	"github.com/apache/arrow/go/v15/arrow"
)

// Places are where the record batches of a file lie, and a checksum of each, so that they
// can be read again in any order. They are safe for concurrent use once the [Reader] that
// found them is at its end.
type Places struct {
	schema *message
	blocks []block
	sums   []uint64
}

// Places returns where the batches lie that Next returns from now on.
func (r *Reader) Places() *Places {
	if r.places == nil {
		r.places = &Places{schema: r.schema}
	}
	return r.places
}

func (p *Places) add(batch *message) {
	p.blocks = append(p.blocks, batch.block())
	p.sums = append(p.sums, batch.sum())
}

// Len returns the number of record batches.
func (p *Places) Len() int { return len(p.blocks) }

// Bytes returns where batch i begins and ends in the file.
func (p *Places) Bytes(i int) (from, to int64) { return p.blocks[i].offset, p.blocks[i].end() }

// Read reads batch i again; size is the bytes that it takes in memory. It is an error if
// the file is not what it was.
func (p *Places) Read(file io.ReaderAt, i int) (record arrow.Record, size int64, err error) {
	from, to := p.Bytes(i)
	frames := framer{r: io.NewSectionReader(file, from, to-from), offset: from}
	batch, err := frames.next()
	if err != nil {
		return nil, 0, fmt.Errorf("%w (the file was changed while open)", err)
	}
	if batch.sum() != p.sums[i] {
		return nil, 0, fmt.Errorf("bytes %d to %d are not those that were there when the file was opened: it was changed, or its disk is failing", from, to-1)
	}
	record, err = decodeBatch(p.schema, batch)
	return record, batch.decoded, err
}
