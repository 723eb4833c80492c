package arrowipc

import (
	"fmt"
	"io"

	"github.com/apache/arrow/go/v15/arrow"
)

// Places holds the locations and checksums of a file's record batches, so that they can be read
// again in any order. It is safe for concurrent use after the [Reader] that recorded the locations
// has reached its end.
type Places struct {
	schema *message
	blocks []block
	sums   []uint64
}

// Places returns the locations of all batches that Next returns after the first call of Places.
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

// Bytes returns the offsets of the start and the end of batch i in the file.
func (p *Places) Bytes(i int) (from, to int64) { return p.blocks[i].offset, p.blocks[i].end() }

// Read reads batch i again and returns an error if its bytes have changed. size is the size of the
// decoded batch in bytes.
func (p *Places) Read(file io.ReaderAt, i int) (record arrow.Record, size int64, err error) {
	from, to := p.Bytes(i)
	frames := framer{r: io.NewSectionReader(file, from, to-from), offset: from}
	batch, err := frames.next()
	if err != nil {
		return nil, 0, fmt.Errorf("%w (probably another program changed the file while it was open)", err)
	}
	if batch.sum() != p.sums[i] {
		return nil, 0, fmt.Errorf("bytes %d to %d have changed since the file was opened: "+
			"another program wrote to the file, or the disk is failing", from, to-1)
	}
	record, err = decodeBatch(p.schema, batch)
	return record, batch.decoded, err
}
