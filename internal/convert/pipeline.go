package convert

import (
	"context"
	"fmt"
	"hash/maphash"
	"io"
	"iter"
	"runtime"
	"strings"
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
	// Nobody waits for the reader: it may be waiting for a standard input that says nothing.
	go func() {
		defer close(chunks)
		defer close(jobs)
		c.read(ctx, chunks, jobs)
	}()
	var group sync.WaitGroup
	for range workers {
		group.Go(func() {
			w := worker{converter: c, known: map[string]int32{}}
			for j := range until(ctx, jobs) {
				j.done <- w.convert(*j.rows)
				rowsPool.Put(j.rows)
			}
		})
	}
	for j := range until(ctx, chunks) {
		for rows := range until(ctx, j.done) {
			if err := write(rows); err != nil {
				cancel(err)
			}
			break // there is one
		}
	}
	err := context.Cause(ctx)
	cancel(nil)
	group.Wait()
	return err
}

// until are what comes through a channel before it is closed or the context is done.
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

// read hands out the rows of all files in chunks. An error comes as the last chunk, so
// that what was read before it is told in the same way every time.
func (c *converter) read(ctx context.Context, chunks, jobs chan<- chunk) {
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
		}
	}
	for _, path := range c.options.From {
		err := c.readFile(ctx, path, func() *table.Row { return nth(rows, n) }, func(row *table.Row) {
			n++
			if size += row.Size(); n >= chunkRows || size >= chunkBytes {
				hand()
			}
		})
		if err != nil {
			hand()
			last := chunk{done: make(chan *converted, 1)}
			last.done <- &converted{failure: err}
			select {
			case chunks <- last:
			case <-ctx.Done():
			}
			return
		}
	}
	if n > 0 {
		hand()
	}
}

// readFile reads each row into the next one, and then takes it.
func (c *converter) readFile(ctx context.Context, path string, next func() *table.Row, take func(*table.Row)) error {
	t, err := table.Open(path, c.table(c.options.Progress))
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
		take(row)
	}
	return t.Close()
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
	for i := range rows { // their memory is not kept
		clear(rows[i].Values)
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
		split = strings.Clone(split) // it shares the memory of its row
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
