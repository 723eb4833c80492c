package convert

import (
	"context"
	"fmt"
	"hash/maphash"
	"io"
	"runtime"
	"sync"

	"sftseq/internal/table"
	"sftseq/seq"
)

// Rows are handed to workers in chunks of so many, or of about so many bytes.
const (
	chunkRows  = 8192
	chunkBytes = 512 << 10
)

// chunk is rows on their way: done has what they have become.
type chunk struct {
	rows *[]table.Row
	done chan *converted
}

// rowsPool has rows whose memory is used again.
var rowsPool = sync.Pool{New: func() any { return new([]table.Row) }}

// converted is what a chunk's rows have become.
type converted struct {
	rows    int64
	splits  []string // of blocks, in the order in which they were found
	blocks  map[string]*seq.Block
	kept    []kept
	left    []left
	failure error // the conversion's end
}

// kept is where a row is that can be used, and the hash of its text.
type kept struct {
	file string
	line int64
	text uint64
}

// left is a row that is left out.
type left struct {
	place string
	why   *reason
}

// convertAll reads all rows, converts them on all processors, and hands them to write,
// in their order.
func (c *converter) convertAll(ctx context.Context, write func(*converted) error) error {
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	workers := runtime.GOMAXPROCS(0)
	chunks := make(chan chunk, 2*workers) // in their order
	jobs := make(chan chunk)
	var group sync.WaitGroup
	group.Go(func() {
		defer close(chunks)
		defer close(jobs)
		if err := c.read(ctx, chunks, jobs); err != nil {
			cancel(err)
		}
	})
	for range workers {
		group.Go(func() {
			w := worker{converter: c, known: map[string]int32{}}
			for j := range jobs {
				j.done <- w.convert(*j.rows)
				rowsPool.Put(j.rows)
			}
		})
	}
	for j := range chunks {
		if rows := <-j.done; rows != nil && ctx.Err() == nil {
			if err := write(rows); err != nil {
				cancel(err)
			}
		}
	}
	group.Wait()
	return context.Cause(ctx)
}

// read hands out the rows of all files in chunks.
func (c *converter) read(ctx context.Context, chunks, jobs chan<- chunk) error {
	rows, n, size := rowsPool.Get().(*[]table.Row), 0, 0
	hand := func() {
		*rows = (*rows)[:n]
		j := chunk{rows, make(chan *converted, 1)}
		rows, n, size = rowsPool.Get().(*[]table.Row), 0, 0
		select {
		case chunks <- j:
		case <-ctx.Done():
			return
		}
		select {
		case jobs <- j:
		case <-ctx.Done():
			j.done <- nil // nobody converts it
		}
	}
	for _, path := range c.options.From {
		t, err := table.Open(path, c.table(c.options.Progress))
		if err != nil {
			return err
		}
		for ctx.Err() == nil {
			row := nth(rows, n)
			err := t.Next(row)
			if err == io.EOF {
				break
			}
			if err != nil {
				t.Close()
				return err
			}
			n++
			if size += row.Size(); n >= chunkRows || size >= chunkBytes {
				hand()
			}
		}
		if err := t.Close(); err != nil {
			return err
		}
	}
	if n > 0 {
		hand()
	}
	return nil
}

// nth is row n, of which there are at least n, with the memory that it had.
func nth(rows *[]table.Row, n int) *table.Row {
	if n < cap(*rows) {
		*rows = (*rows)[:n+1]
	} else {
		*rows = append((*rows)[:n], table.Row{})
	}
	return &(*rows)[n]
}

// worker converts chunks, one after the other.
type worker struct {
	*converter
	first, second []int32          // tokens of a row
	text          []byte           // of a row
	known         map[string]int32 // labels, which need no lock then
}

// textSeed is that of the hashes by which repeated rows are found.
var textSeed = maphash.MakeSeed()

// convert turns rows into tokens.
func (w *worker) convert(rows []table.Row) *converted {
	out := &converted{rows: int64(len(rows)), blocks: map[string]*seq.Block{}}
	for i := range rows {
		row := &rows[i]
		e, split, why := w.example(row)
		if why == nil {
			why = w.add(out, e, split)
		}
		if why == nil {
			out.kept = append(out.kept, kept{row.File, row.Line, w.hash(row)})
			continue
		}
		if w.options.Strict || why.fatal {
			out.failure = fmt.Errorf("%s: %v", row.Place(), why)
			break
		}
		out.left = append(out.left, left{row.Place(), why})
	}
	return out
}

// add appends a row to the block of its split.
func (w *worker) add(out *converted, e seq.Example, split string) *reason {
	block := out.blocks[split]
	if block == nil {
		block = seq.NewBlock(&w.spec)
	}
	if err := block.Append(e); err != nil {
		return because("it does not fit into a data set", err)
	}
	if block.Rows() == 1 {
		out.blocks[split] = block
		out.splits = append(out.splits, split)
	}
	return nil
}

// hash is that of all a row's texts.
func (w *worker) hash(row *table.Row) uint64 {
	w.text = w.text[:0]
	for _, v := range w.texts(row) {
		w.text = append(appendBytes(w.text, v), 0)
	}
	return maphash.Bytes(textSeed, w.text)
}
