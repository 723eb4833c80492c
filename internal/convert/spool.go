package convert

import (
	"context"
	"fmt"
	"io"
	"path/filepath"
	"runtime"
	"sync"

	"sftseq/internal/table"
	"sftseq/seq"
)

// Rows are handed to workers in chunks of so many, or of about so many bytes.
const (
	chunkRows  = 256
	chunkBytes = 1 << 20
)

// converted is a row as it goes into the spool, or why it does not.
type converted struct {
	example seq.Example
	split   string
	why     *reason
	place   string
}

// chunk is rows on their way: done has what they have become.
type chunk struct {
	rows []*table.Row
	done chan []converted
}

// spool writes the rows of each split to a file of its own in a directory, in their
// order, with labels that are numbered as they were found: only when all rows are read
// is it known what labels there are.
func (c *converter) spool(ctx context.Context, dir string) error {
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
			for j := range jobs {
				j.done <- c.convert(j.rows)
			}
		})
	}
	w := spoolWriter{converter: c, dir: dir, splits: map[string]*seq.Writer{}}
	defer w.abort()
	for j := range chunks {
		rows := <-j.done
		for i := 0; i < len(rows) && ctx.Err() == nil; i++ {
			if err := w.write(&rows[i]); err != nil {
				cancel(err)
			}
		}
	}
	group.Wait()
	if ctx.Err() != nil {
		return context.Cause(ctx)
	}
	return w.close()
}

// read hands out the rows of all files in chunks.
func (c *converter) read(ctx context.Context, chunks, jobs chan<- chunk) error {
	var rows []*table.Row
	size := 0
	hand := func() {
		j := chunk{rows, make(chan []converted, 1)}
		rows, size = nil, 0
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
			row, err := t.Next()
			if err == io.EOF {
				break
			}
			if err != nil {
				t.Close()
				return err
			}
			rows = append(rows, row)
			for _, v := range row.Values {
				size += len(v.Text) + 4*len(v.Tokens)
			}
			if len(rows) >= chunkRows || size >= chunkBytes {
				hand()
			}
		}
		if err := t.Close(); err != nil {
			return err
		}
	}
	if len(rows) > 0 {
		hand()
	}
	return nil
}

// convert turns rows into tokens.
func (c *converter) convert(rows []*table.Row) []converted {
	out := make([]converted, len(rows))
	for i, row := range rows {
		e, split, why := c.example(row)
		out[i] = converted{e, split, why, row.Place()}
	}
	return out
}

// spoolWriter writes the spool.
type spoolWriter struct {
	*converter
	dir    string
	splits map[string]*seq.Writer
}

// write adds a row, or counts it among those left out.
func (w *spoolWriter) write(row *converted) error {
	w.skipped.Rows++
	if row.why != nil {
		if w.options.Strict {
			return fmt.Errorf("%s: %v", row.place, row.why)
		}
		w.skipped.add(row.place, row.why)
		return nil
	}
	out := w.splits[row.split]
	if out == nil {
		if len(w.splits) == maxSplits {
			return fmt.Errorf("%s: more than %d splits: is the column one of splits?", row.place, maxSplits)
		}
		var err error
		if out, err = seq.Create(spoolFile(w.dir, row.split), w.spec); err != nil {
			return err
		}
		w.splits[row.split] = out
	}
	return out.Write(row.example)
}

// maxSplits is more than a data set has that is not read by mistake.
const maxSplits = 64

func spoolFile(dir, split string) string { return filepath.Join(dir, split+".arrow") }

func (w *spoolWriter) close() error {
	for _, out := range w.splits {
		if err := out.Close(); err != nil {
			return err
		}
	}
	return nil
}

func (w *spoolWriter) abort() {
	for _, out := range w.splits {
		out.Abort()
	}
}
