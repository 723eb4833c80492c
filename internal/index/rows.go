package index

import (
	"bytes"
	"encoding/binary"
	"fmt"
	"hash/crc32"
	"math"
	"strconv"

	"github.com/apache/arrow/go/v15/arrow"
	"github.com/apache/arrow/go/v15/arrow/array"
	"github.com/apache/arrow/go/v15/arrow/ipc"
	"github.com/apache/arrow/go/v15/arrow/memory"

	"github.com/sftseq/sftseq/internal/arrowipc"
)

// Keys of the schema's metadata, and the value of keyFormat.
const (
	keyFormat    = "sftseq.index"
	keyModel     = "sftseq.model"
	keyTokenizer = "sftseq.tokenizer"
	keySize      = "sftseq.size"
	format       = "1"
)

// row is a change in the file: an item, or the removal of an id.
type row struct {
	Item
	removed bool
}

func schema(o Options) *arrow.Schema {
	metadata := arrow.NewMetadata([]string{keyFormat, keyModel, keyTokenizer, keySize},
		[]string{format, o.Model, o.Tokenizer, strconv.Itoa(o.Size)})
	return arrow.NewSchema([]arrow.Field{
		{Name: "id", Type: arrow.BinaryTypes.String},
		{Name: "removed", Type: arrow.FixedWidthTypes.Boolean},
		{Name: "embedding", Type: arrow.FixedSizeListOf(int32(o.Size), arrow.PrimitiveTypes.Float32)},
		{Name: "tokens", Type: arrow.ListOf(arrow.PrimitiveTypes.Int32)},
		{Name: "checksum", Type: arrow.PrimitiveTypes.Uint32}, // CRC-32C of the row
	}, &metadata)
}

// encode returns head, the bytes of the stream's schema, and batch, the rows as a record batch (nil
// without rows). It omits the end marker, because more batches follow.
func encode(o Options, rows []row) (head, batch []byte, err error) {
	var out bytes.Buffer
	s := schema(o)
	w := ipc.NewWriter(&out, ipc.WithSchema(s))
	if err := w.Close(); err != nil {
		return nil, nil, err
	}
	head = bytes.Clone(out.Bytes()[:out.Len()-len(arrowipc.EndMarker)])
	if len(rows) == 0 {
		return head, nil, nil
	}
	b := array.NewRecordBuilder(memory.DefaultAllocator, s)
	defer b.Release()
	for _, r := range rows {
		b.Field(0).(*array.StringBuilder).Append(r.ID)
		b.Field(1).(*array.BooleanBuilder).Append(r.removed)
		vectors := b.Field(2).(*array.FixedSizeListBuilder)
		vectors.Append(true)
		vectors.ValueBuilder().(*array.Float32Builder).AppendValues(r.Vector, nil)
		tokens := b.Field(3).(*array.ListBuilder)
		tokens.Append(true)
		tokens.ValueBuilder().(*array.Int32Builder).AppendValues(r.Tokens, nil)
		b.Field(4).(*array.Uint32Builder).Append(r.checksum())
	}
	record := b.NewRecord()
	defer record.Release()
	out.Reset()
	w = ipc.NewWriter(&out, ipc.WithSchema(s))
	if err := w.Write(record); err != nil {
		return nil, nil, err
	}
	if err := w.Close(); err != nil {
		return nil, nil, err
	}
	return head, out.Bytes()[len(head) : out.Len()-len(arrowipc.EndMarker)], nil
}

// checksum returns the CRC-32C of the row. It detects rows that a power cut left incomplete on the disk.
func (r *row) checksum() uint32 {
	b := append([]byte(r.ID), 0xFF, 0)
	if r.removed {
		b[len(b)-1] = 1
	}
	for _, v := range r.Vector {
		b = binary.LittleEndian.AppendUint32(b, math.Float32bits(v))
	}
	for _, v := range r.Tokens {
		b = binary.LittleEndian.AppendUint32(b, uint32(v))
	}
	return crc32.Checksum(b, crc32.MakeTable(crc32.Castagnoli))
}

// decode returns the rows of a record batch with vectors of the given size.
func decode(record arrow.Record, size int) (rows []row, err error) {
	// An error makes replay end before this record batch. Arrow's accessors may panic on damage that
	// arrowipc's checks miss, and a panic would prevent every start.
	defer arrowipc.Contain(&err)
	ids, ok1 := record.Column(0).(*array.String)
	removed, ok2 := record.Column(1).(*array.Boolean)
	vectors, ok3 := record.Column(2).(*array.FixedSizeList)
	tokens, ok4 := record.Column(3).(*array.List)
	sums, ok5 := record.Column(4).(*array.Uint32)
	if !ok1 || !ok2 || !ok3 || !ok4 || !ok5 {
		return nil, fmt.Errorf("the column types are not those of an index")
	}
	floats, ok1 := vectors.ListValues().(*array.Float32)
	ints, ok2 := tokens.ListValues().(*array.Int32)
	n := int(record.NumRows())
	if !ok1 || !ok2 || floats.Len() < n*size {
		return nil, fmt.Errorf("the columns are damaged")
	}
	rows = make([]row, n)
	for i := range rows {
		from, to := tokens.ValueOffsets(i)
		rows[i] = row{Item: Item{ID: string([]byte(ids.Value(i))), Vector: floats.Float32Values()[i*size : (i+1)*size],
			Tokens: append([]int32(nil), ints.Int32Values()[from:to]...)}, removed: removed.Value(i)}
		if rows[i].checksum() != sums.Value(i) {
			return nil, fmt.Errorf("row %d: wrong checksum", i)
		}
	}
	return rows, nil
}
