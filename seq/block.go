package seq

import (
	"encoding/binary"
	"fmt"
	"slices"
	"sync"

	"github.com/apache/arrow/go/v15/arrow"
	"github.com/apache/arrow/go/v15/arrow/array"
	"github.com/apache/arrow/go/v15/arrow/bitutil"
	"github.com/apache/arrow/go/v15/arrow/memory"

	"github.com/sftseq/sftseq/internal/arrowipc"
)

// A record batch is full at batchBytes bytes or batchRows rows. Record batches are small to limit
// the memory of readers and of random access.
const (
	batchBytes = 64 << 10
	batchRows  = 1024
)

// Block holds rows in the layout of a file. Several goroutines can each fill a block; one goroutine
// then writes the blocks in order with [Writer.WriteBlock]. A block is not safe for concurrent use.
type Block struct {
	spec    *Spec
	columns []string // names of the token columns; empty if the file has features
	layout  layout   // layout of the tokens
	batches []*batch
	rows    int
}

// NewBlock returns an empty block for files with the specification spec.
func NewBlock(spec *Spec) *Block {
	b := &Block{spec: spec, layout: spec.layout()}
	if spec.FeatureNames == nil {
		b.columns = spec.TokenColumns()
	}
	return b
}

// batch holds the rows of one record batch.
type batch struct {
	tokens    []tokenList // one column, two for pairs, none if the file has features
	labels    []int32
	unlabeled int               // number of null labels
	lists     labelListWriter   // empty if the file has no lists of labels
	numbers   numberList        // empty if the file has no numbers
	features  itemList[float32] // replaces tokens if the file has features
	edges     edgeLists         // empty if the file has no edges
	ids       idList            // empty if the file has no ids
	size      int               // bytes of the rows, without their class labels
}

// removeIncomplete removes the columns of an incomplete row from the last batch. It removes the batch
// if the batch has no other row.
func (b *Block) removeIncomplete(last *batch) {
	for i := range last.tokens {
		last.tokens[i].truncate(len(last.labels), b.layout.width())
	}
	if len(last.labels) == 0 {
		b.batches = b.batches[:len(b.batches)-1]
		batchPool.Put(last)
	}
}

// batchPool recycles written batches, because most of a writer's allocations are for batches.
var batchPool = sync.Pool{New: func() any { return &batch{} }}

// newBatch returns a batch without rows.
func newBatch(columns int) *batch {
	b := batchPool.Get().(*batch)
	if cap(b.tokens) < columns {
		b.tokens = make([]tokenList, columns)
	}
	b.tokens = b.tokens[:columns]
	for i := range b.tokens {
		l := &b.tokens[i]
		if l.values == nil {
			l.values = make([]byte, 0, batchBytes+batchBytes/4)
		}
		l.offsets, l.values = append(l.offsets[:0], 0), l.values[:0]
	}
	b.labels, b.unlabeled, b.size = b.labels[:0], 0, 0
	b.lists.reset()
	b.features.reset()
	b.edges.reset()
	b.numbers.values, b.numbers.known = b.numbers.values[:0], b.numbers.known[:0]
	b.ids.offsets, b.ids.values = append(b.ids.offsets[:0], 0), b.ids.values[:0]
	return b
}

// tokenList is a column of lists of tokens.
type tokenList struct {
	offsets []int32 // offsets of the lists, one more than the number of rows
	values  []byte
}

// Rows returns the number of rows.
func (b *Block) Rows() int { return b.rows }

// Bytes returns the number of bytes of the rows: tokens or features, edges, lists of labels, numbers
// and ids.
func (b *Block) Bytes() (n int) {
	for _, batch := range b.batches {
		n += batch.size
	}
	return n
}

// Append adds a row. It ignores e.Index, and e.ID if the file has no ids. If a reader would refuse the
// row, Append returns an error and leaves the block unchanged.
func (b *Block) Append(e Example) error {
	if err := b.check(len(e.A), len(e.B), e.B != nil, e); err != nil {
		return err
	}
	into := b.currentBatch()
	for i, tokens := range e.sequences(len(b.columns)) {
		if !into.tokens[i].append(tokens, b.spec, b.layout) {
			b.removeIncomplete(into)
			at := firstBad(tokens, 0, b.spec)
			return fmt.Errorf("column %s, index %d: %w", b.columns[i], at, b.spec.checkID(tokens[at]))
		}
	}
	b.finishRow(into, e.Length(), e)
	return nil
}

// AppendBytes adds a row of one text, or of the two texts of a pair. The token of a byte is the byte
// plus 1. Labels, numbers and id are from e. Append would add the same row for the ids of the byte
// tokenizer. AppendBytes is faster, since the file stores the bytes themselves.
func (b *Block) AppendBytes(first, second string, e Example) error {
	if b.spec.VocabSize != 257 || b.layout.first != 1 {
		return fmt.Errorf("bytes: expected a vocabulary of 257 with pad id 0, found a vocabulary of %d "+
			"or another pad id", b.spec.VocabSize)
	}
	if err := b.check(len(first), len(second), second != "", e); err != nil {
		return err
	}
	into := b.currentBatch()
	for i, text := range []string{first, second}[:len(b.columns)] {
		copy(into.tokens[i].grow(len(text), 1), text)
	}
	b.finishRow(into, len(first)+len(second), e)
	return nil
}

// currentBatch returns the batch that receives the next row.
func (b *Block) currentBatch() *batch {
	last := len(b.batches) - 1
	if last < 0 || b.batches[last].full() {
		b.batches = append(b.batches, newBatch(len(b.columns)))
		last++
	}
	return b.batches[last]
}

// finishRow adds the columns of e other than tokens. length is the number of tokens in the row.
func (b *Block) finishRow(into *batch, length int, e Example) {
	into.size += b.layout.width() * length
	if b.spec.IDs {
		into.ids.append(e.ID)
		into.size += len(e.ID)
	}
	if n := len(b.spec.FeatureNames); n > 0 {
		for _, row := range e.Features {
			into.features.values = append(into.features.values, row...)
		}
		into.features.endRow(len(e.Features))
		into.size += 4 * (n - 1) * length // adds the bytes of features; 4 bytes per token are counted already
	}
	if b.spec.Edged() {
		into.edges.append(e.Edges)
		into.size += 4 * (2 + len(b.spec.EdgeFeatureNames)) * len(e.Edges)
	}
	if n := len(b.spec.NumberNames); n > 0 {
		into.numbers.append(e.Numbers, n)
		into.size += 4 * n
	}
	if b.spec.ListsLabels() {
		into.lists.append(e.Labels)
		into.size += 4 * len(e.Labels)
	}
	into.labels = append(into.labels, e.Label)
	if e.Label == NoLabel {
		into.unlabeled++
	}
	b.rows++
}

// full reports whether the next row needs another batch.
func (b *batch) full() bool { return len(b.labels) >= batchRows || b.size >= batchBytes }

// append adds a list. It reports whether all ids are valid tokens. If not, the caller must remove
// the list with truncate.
func (l *tokenList) append(tokens []int32, spec *Spec, to layout) (ok bool) {
	switch out := l.grow(len(tokens), to.width()); to.width() {
	case 1:
		ok = narrow8(out, tokens, to.first, spec)
	case 2:
		ok = narrow16(out, tokens, to.first, spec)
	default: // layouts of four bytes per token have first = 0
		ok = firstBad(tokens, 0, spec) < 0
		copy(out, arrow.Int32Traits.CastToBytes(tokens))
	}
	return ok
}

// grow adds a list and returns the bytes that the caller must fill with its tokens.
func (l *tokenList) grow(tokens, width int) []byte {
	start, n := len(l.values), width*tokens
	l.values = slices.Grow(l.values, n)[:start+n]
	l.offsets = append(l.offsets, l.offsets[len(l.offsets)-1]+int32(tokens))
	return l.values[start:]
}

// truncate truncates the column to the given number of rows.
func (l *tokenList) truncate(rows, width int) {
	l.offsets = l.offsets[:min(rows+1, len(l.offsets))]
	l.values = l.values[:width*int(l.offsets[len(l.offsets)-1])]
}

// narrow8 and narrow16 store the differences id − first in one or two bytes each and report whether
// all ids are valid tokens. A writer spends most of its time here, so they store and check in one pass
// without a branch. An id below 0, above the largest id or equal to the pad id sets the sign bit of
// bad. Without a pad id, pad is an id above the largest id.
func narrow8(out []byte, ids []int32, first int32, spec *Spec) bool {
	last, pad := idBounds(spec)
	bad := int32(0)
	out = out[:len(ids)]
	for i, id := range ids {
		bad |= id | (last - id) | ((id ^ pad) - 1)
		out[i] = uint8(id - first)
	}
	return bad >= 0
}

func narrow16(out []byte, ids []int32, first int32, spec *Spec) bool {
	last, pad := idBounds(spec)
	bad := int32(0)
	for len(ids) >= 4 && len(out) >= 8 { // store four ids in one write
		a, b, c, d := ids[0], ids[1], ids[2], ids[3]
		bad |= a | b | c | d | (last - a) | (last - b) | (last - c) | (last - d) |
			((a ^ pad) - 1) | ((b ^ pad) - 1) | ((c ^ pad) - 1) | ((d ^ pad) - 1)
		binary.LittleEndian.PutUint64(out,
			uint64(uint16(a-first))|uint64(uint16(b-first))<<16|uint64(uint16(c-first))<<32|uint64(uint16(d-first))<<48)
		ids, out = ids[4:], out[8:]
	}
	for i, id := range ids {
		bad |= id | (last - id) | ((id ^ pad) - 1)
		binary.LittleEndian.PutUint16(out[2*i:], uint16(id-first))
	}
	return bad >= 0
}

// idBounds returns the largest valid id and the pad id. Without a pad id, pad is an id above the largest.
func idBounds(spec *Spec) (last, pad int32) {
	last = int32(spec.VocabSize - 1)
	if spec.PadID != nil {
		return last, *spec.PadID
	}
	return last, last + 1
}

// check validates the row e, whose sequences have the given numbers of tokens, first and second. The
// parameter pair reports whether the row has a second sequence.
func (b *Block) check(first, second int, pair bool, e Example) error {
	if err := b.spec.checkFeatures(e.Features); err != nil {
		return fmt.Errorf("column %s: %w", ColumnFeatures, err)
	}
	if err := b.spec.checkEdges(e.Edges, len(e.Features)); err != nil {
		return fmt.Errorf("column %s: %w", ColumnEdges, err)
	}
	if b.spec.FeatureNames != nil && (first > 0 || pair) {
		return fmt.Errorf("column %s: expected no tokens in a row with features", ColumnTokens)
	}
	if pair && len(b.columns) == 1 {
		return fmt.Errorf("column %s: task %s has one sequence, found a second", ColumnTokensB, b.spec.Task)
	}
	for i, tokens := range []int{first, second}[:len(b.columns)] {
		if tokens == 0 {
			return fmt.Errorf("column %s: expected at least one token, found an empty sequence", b.columns[i])
		}
		if tokens > arrowipc.MaxBody/16 {
			return fmt.Errorf("column %s: expected at most %d tokens, found %d", b.columns[i],
				arrowipc.MaxBody/16, tokens)
		}
	}
	if e.Label != NoLabel {
		if b.spec.ListsLabels() {
			return fmt.Errorf("column %s: expected a list of labels for task %s, found label %d",
				ColumnLabel, b.spec.Task, e.Label)
		}
		if err := b.spec.checkLabel(e.Label); err != nil {
			return fmt.Errorf("column %s: %w", ColumnLabel, err)
		}
	}
	if err := b.spec.checkLabels(e.Labels, max(first, len(e.Features))); err != nil {
		return fmt.Errorf("column %s: %w", ColumnLabel, err)
	}
	if err := b.spec.checkNumbers(e.Numbers); err != nil {
		return fmt.Errorf("column %s: %w", ColumnNumbers, err)
	}
	if b.spec.IDs {
		if err := checkIDText(e.ID); err != nil {
			return fmt.Errorf("column %s: %w", ColumnID, err)
		}
	}
	return nil
}

// Relabel replaces every known label l by number(l).
func (b *Block) Relabel(number func(int32) int32) {
	for _, batch := range b.batches {
		relabel(batch.labels, number)
		batch.lists.relabel(number, b.spec.Task == MultiLabel)
	}
}

func relabel(labels []int32, number func(int32) int32) {
	for i, label := range labels {
		if label != NoLabel {
			labels[i] = number(label)
		}
	}
}

// record returns the batch as an Arrow record, which shares memory with the batch.
func (b *batch) record(schema *arrow.Schema) arrow.Record {
	rows := len(b.labels)
	var columns []arrow.Array
	for i := range b.tokens {
		columns = append(columns, b.tokens[i].array(schema.Field(i).Type.(*arrow.ListType)))
	}
	if len(columns) == 0 {
		columns = append(columns, b.features.array(schema.Field(0).Type.(*arrow.ListType)))
		columns = append(columns, b.edges.arrays(schema.Fields())...)
	}
	switch t := schema.Field(len(columns)).Type.(type) {
	case *arrow.FixedSizeListType:
		columns = append(columns, b.numbers.array(t))
	case *arrow.ListType:
		columns = append(columns, b.lists.array())
	default:
		columns = append(columns, labelArray(b.labels, b.unlabeled))
	}
	if len(columns) < schema.NumFields() {
		columns = append(columns, b.ids.array())
	}
	return array.NewRecord(schema, columns, int64(rows))
}

func (l *tokenList) array(t *arrow.ListType) arrow.Array {
	n := int(l.offsets[len(l.offsets)-1])
	values := array.NewData(t.Elem(), n, []*memory.Buffer{nil, memory.NewBufferBytes(l.values)}, nil, 0, 0)
	offsets := memory.NewBufferBytes(arrow.Int32Traits.CastToBytes(l.offsets))
	return array.NewListData(array.NewData(t, len(l.offsets)-1, []*memory.Buffer{nil, offsets},
		[]arrow.ArrayData{values}, 0, 0))
}

// validity returns a column's validity bitmap and its number of nulls. The bitmap is nil if all
// values are known.
func validity(n int, known func(i int) bool) (bitmap *memory.Buffer, nulls int) {
	bits := make([]byte, bitutil.BytesForBits(int64(n)))
	for i := range n {
		isKnown := known(i)
		bitutil.SetBitTo(bits, i, isKnown)
		if !isKnown {
			nulls++
		}
	}
	if nulls > 0 {
		bitmap = memory.NewBufferBytes(bits)
	}
	return bitmap, nulls
}

// labelArray returns a column of labels, null where the label is unknown.
func labelArray(labels []int32, unlabeled int) arrow.Array {
	var known *memory.Buffer
	if unlabeled > 0 {
		known, _ = validity(len(labels), func(i int) bool { return labels[i] != NoLabel })
	}
	values := memory.NewBufferBytes(arrow.Int32Traits.CastToBytes(labels))
	return array.NewInt32Data(array.NewData(arrow.PrimitiveTypes.Int32, len(labels),
		[]*memory.Buffer{known, values}, nil, unlabeled, 0))
}
