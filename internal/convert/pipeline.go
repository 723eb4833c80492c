package convert

import (
	"context"
	"crypto/sha256"
	"encoding/binary"
	"fmt"
	"hash/maphash"
	"io"
	"iter"
	"math"
	"math/bits"
	"runtime"
	"strings"
	"sync"

	"github.com/sftseq/sftseq/internal/source"
	"github.com/sftseq/sftseq/internal/table"
	"github.com/sftseq/sftseq/seq"
)

// A chunk is complete when it has at least chunkRows rows or chunkBytes bytes. Each worker processes one
// chunk at a time.
const (
	chunkRows  = 8192
	chunkBytes = 512 << 10
)

// chunk is a sequence of consecutive rows. done receives a value when a worker has converted the
// rows. The memory of a chunk is reused.
type chunk struct {
	rows    []table.Row
	keptRow []keptRow
	out     *converted
	done    chan struct{}
}

// converted is the result of converting a chunk.
type converted struct {
	rows       int64
	splits     []string // splits of the blocks, in order of first occurrence
	blocks     map[string]*seq.Block
	skippedRow []skippedRow
	failure    error // error that ends the conversion
}

// keptRow holds the location, split and anomalies of a usable row, and hashes of its contents.
type keptRow struct {
	file      string
	line      int64
	split     string
	text      uint64 // hash of the row's texts
	label     uint64 // hash of the text with the row's label, labels, tags or numbers; 0 without them
	id        uint64 // hash of the row's id; 0 if the id is only its location
	tokens    uint64 // hash of the tokens if different texts may have the same tokens; otherwise 0
	anomalies anomalies
}

// skippedRow holds the location of a row that is left out, and the reason.
type skippedRow struct {
	position string
	reason   *source.SkipReason
}

// convertAll reads all rows, converts them on all CPUs, and calls write for each chunk in order.
func (c *converter) convertAll(ctx context.Context, write func(*chunk) error) error {
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	workers := runtime.GOMAXPROCS(0)
	chunks := make(chan *chunk, 2*workers) // in the order of their rows
	jobs := make(chan *chunk)
	free := make(chan *chunk, cap(chunks)+2) // 2 more: a chunk that is being read and a chunk that is being written
	for range cap(free) {
		free <- &chunk{done: make(chan struct{}, 1)}
	}
	// After an error, convertAll does not wait for the reader, which may block on standard input without data.
	go func() {
		defer close(chunks)
		defer close(jobs)
		c.readAll(ctx, free, chunks, jobs)
	}()
	var group sync.WaitGroup
	for range workers {
		group.Go(func() {
			w := worker{converter: c, known: map[string]int32{}}
			for j := range until(ctx, jobs) {
				w.convert(j)
				j.done <- struct{}{}
			}
		})
	}
	for j := range until(ctx, chunks) {
		for range until(ctx, j.done) {
			if err := write(j); err != nil {
				cancel(err)
			}
			free <- j
			break // done receives one value per chunk
		}
	}
	err := context.Cause(ctx)
	cancel(nil)
	group.Wait()
	return err
}

// until yields the values of a channel until it is closed or the context is done.
func until[T any](ctx context.Context, c <-chan T) iter.Seq[T] {
	return func(yield func(T) bool) {
		for ctx.Err() == nil {
			select {
			case v, ok := <-c:
				if !ok || !yield(v) {
					return
				}
			case <-ctx.Done():
			}
		}
	}
}

// readAll sends the rows of all files in chunks. It sends a read error in the last chunk, after the chunks
// with the rows before the error.
func (c *converter) readAll(ctx context.Context, free <-chan *chunk, chunks, jobs chan<- *chunk) {
	send := func(to chan<- *chunk, j *chunk) {
		select {
		case to <- j:
		case <-ctx.Done():
		}
	}
	nextChunk := func() *chunk {
		for j := range until(ctx, free) {
			j.rows = j.rows[:0]
			return j
		}
		return &chunk{done: make(chan struct{}, 1)} // the context is done, so no worker processes this chunk
	}
	j, size := nextChunk(), 0
	flush := func() {
		c.decideFromChunk(j.rows)
		c.decideMarks(j.rows)
		send(chunks, j)
		send(jobs, j)
		j, size = nextChunk(), 0
	}
	for _, path := range c.options.From {
		err := c.readFile(ctx, path, func() *table.Row { return j.nextRow(len(c.columns)) }, func(row *table.Row) {
			c.joinWords(row)
			j.rows = j.rows[:len(j.rows)+1]
			if size += row.Size(); len(j.rows) >= chunkRows || size >= chunkBytes {
				flush()
			}
		})
		if err != nil {
			flush()
			j.out = &converted{failure: err}
			j.done <- struct{}{}
			send(chunks, j)
			return
		}
	}
	if len(j.rows) > 0 {
		flush()
	}
}

// readFile reads each row of a file into the memory that next returns, and calls visit after each
// row.
func (c *converter) readFile(ctx context.Context, path string, next func() *table.Row, visit func(*table.Row)) error {
	t, err := table.Open(ctx, path, c.tableOptions(c.options.Progress))
	if err != nil {
		return err
	}
	for ctx.Err() == nil {
		row := next()
		err := t.Next(row)
		if err == io.EOF {
			break
		}
		if err != nil {
			t.Close()
			return err
		}
		visit(row)
	}
	return t.Close()
}

// nextRow returns the row after the last row of the chunk. It reuses the memory of an earlier row.
func (j *chunk) nextRow(columns int) *table.Row {
	n := len(j.rows)
	if n == cap(j.rows) {
		j.rows = append(j.rows, table.Row{})[:n]
	}
	row := &j.rows[:n+1][n]
	if row.Values == nil {
		row.Values = make([]table.Value, 0, columns)
	}
	return row
}

// worker converts chunks, one at a time.
type worker struct {
	*converter
	first, second []int32           // tokens of a row
	text          []byte            // text of a row
	digest        [sha256.Size]byte // hash of a row's first text, if it determines the split
	numbers       []float32         // numbers of a row
	rowLabels     []int32           // labels of a row
	labelled      []int32           // tags of a row
	known         map[string]int32  // labels that this worker has seen, to avoid the lock of converter.labels
	anomalies     anomalies         // anomalies of a row
}

// textSeed is the seed of the hashes that find repeated texts, labels, tokens and ids.
var textSeed = maphash.MakeSeed()

// convert converts the rows of a chunk and stores the result in j.out and j.keptRow.
func (w *worker) convert(j *chunk) {
	out := &converted{rows: int64(len(j.rows)), blocks: map[string]*seq.Block{}}
	j.out, j.keptRow = out, j.keptRow[:0]
	for i := range j.rows {
		row := &j.rows[i]
		w.anomalies = 0
		e, split, reason := w.example(row)
		isName := false
		if reason == nil {
			var id table.Value
			id, isName = w.names.ID(row, w.idAt)
			e.ID = id.Text
			reason = w.appendRow(out, row, e, split)
		}
		if reason == nil {
			w.detectAnomalies(row, &e)
			k := keptRow{file: row.File, line: row.Line, split: split, text: w.hashTexts(row), anomalies: w.anomalies}
			k.label, k.tokens = w.hashLabel(k.text, &e), w.hashTokens(row, &e)
			if isName {
				k.id = maphash.String(textSeed, e.ID)
			}
			j.keptRow = append(j.keptRow, k)
			continue
		}
		if w.options.Strict || reason.Fatal {
			out.failure = fmt.Errorf("%s: %v", row.Position(), reason)
			break
		}
		out.skippedRow = append(out.skippedRow, skippedRow{row.Position(), reason})
	}
	for i := range j.rows { // do not keep the rows' input in memory
		values := j.rows[i].Values
		clear(values[:cap(values)]) // also the values before the error of a malformed row
	}
}

// appendRow appends a row to the block of its split.
func (w *worker) appendRow(out *converted, row *table.Row, e seq.Example, split string) *source.SkipReason {
	block := out.blocks[split]
	if block == nil {
		if len(out.splits) == maxSplits { // each split takes memory
			return &source.SkipReason{Kind: "too many splits", Detail: errSplits(w.options.SplitColumn), Fatal: true}
		}
		block = seq.NewBlock(&w.spec)
	}
	var err error
	if texts := w.texts(row); !w.bytes {
		err = block.Append(e)
	} else if len(texts) == 1 {
		err = block.AppendBytes(texts[firstText].Text, "", e)
	} else {
		err = block.AppendBytes(texts[firstText].Text, texts[secondText].Text, e)
	}
	if err != nil {
		return source.Skip("the row does not fit into a data set", err)
	}
	if block.Rows() == 1 {
		split = strings.Clone(split) // split shares the memory of its row
		out.blocks[split] = block
		out.splits = append(out.splits, split)
	}
	return nil
}

// hashTexts returns a hash of all texts of a row. For a single text without a split column, it
// consists of the second 64 bits of the digest, because the first 64 bits determine the split.
func (w *worker) hashTexts(row *table.Row) uint64 {
	texts := w.texts(row)
	if len(texts) == 1 && w.options.SplitColumn == "" {
		return binary.LittleEndian.Uint64(w.digest[8:])
	}
	w.text = w.text[:0]
	for _, v := range texts {
		w.text = appendBytes(binary.LittleEndian.AppendUint64(w.text, uint64(len(v.Text))), v)
	}
	return maphash.Bytes(textSeed, w.text)
}

// hashLabel returns a hash of the row's class, labels, tags or numbers, combined with the hash of its text.
// It returns 0 if the row has none of these targets.
func (w *worker) hashLabel(text uint64, e *seq.Example) uint64 {
	if e.Label == seq.NoLabel && e.Labels == nil && e.Numbers == nil {
		return 0
	}
	w.text = binary.LittleEndian.AppendUint32(binary.LittleEndian.AppendUint64(w.text[:0], text), uint32(e.Label))
	for _, label := range e.Labels {
		w.text = binary.LittleEndian.AppendUint32(w.text, uint32(label))
	}
	for _, number := range e.Numbers {
		w.text = binary.LittleEndian.AppendUint32(w.text, math.Float32bits(number))
	}
	return maphash.Bytes(textSeed, w.text)
}

// hashTokens returns a hash of a row's tokens; 0 if different texts cannot have the same tokens. The
// hash of a pair does not depend on the order of the two texts.
func (w *worker) hashTokens(row *table.Row, e *seq.Example) (sum uint64) {
	texts := w.texts(row)
	switch {
	case w.tokenizer == nil || w.bytes && len(texts) == 1:
		return 0
	case w.bytes:
		for _, v := range texts {
			sum += maphash.String(textSeed, v.Text)
		}
		return sum
	case len(texts) == 2:
		return w.hashSequence(e.A) + w.hashSequence(e.B)
	}
	return w.hashSequence(e.A)
}

// hashSequence returns a hash of tokens. It processes two tokens per step. maphash.Bytes would
// require a copy of the tokens as bytes, and copying takes longer than a fast tokenizer needs for the text.
func (w *worker) hashSequence(tokens []int32) uint64 {
	const odd = 0x9E3779B97F4A7C15 // 2⁶⁴ divided by the golden ratio
	hash := uint64(len(tokens))
	mix := func(word uint64) { hash = bits.RotateLeft64((hash^word)*odd, 29) }
	for len(tokens) > 1 {
		mix(uint64(uint32(tokens[0])) | uint64(uint32(tokens[1]))<<32)
		tokens = tokens[2:]
	}
	if len(tokens) == 1 {
		mix(uint64(uint32(tokens[0])))
	}
	return maphash.Comparable(textSeed, hash)
}
