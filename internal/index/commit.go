package index

import (
	"fmt"
	"slices"
)

// op is a change whose caller waits for its completion.
type op struct {
	add     *Item      // item to add, or nil for a removal
	remove  []string   // ids to remove
	unknown []string   // ids to remove that the index does not have
	done    chan error // buffered, receives the result
}

// rows returns the maximum number of rows of the change.
func (o *op) rows() int { return max(1, len(o.remove)) }

// maxBatch is the maximum number of rows of a record batch. A group of changes ends when it has at
// least this number of rows.
const maxBatch = 1024

// enqueue passes a change to the committer, which sends the result to o.done. If the index is closed or
// has failed, enqueue sends the error itself.
func (x *Index) enqueue(o *op) {
	x.queue.Lock()
	defer x.queue.Unlock()
	switch {
	case x.closed:
		o.done <- errClosed
	case x.failed != nil:
		o.done <- x.failed
	default:
		x.ops = append(x.ops, o)
		x.signal()
	}
}

func (x *Index) signal() {
	select {
	case x.wake <- struct{}{}:
	default:
	}
}

// commit writes the queued changes in groups. Changes that arrive while a group is written wait for a
// later group. One fsync serves a whole group, or each maxBatch rows of a large group.
func (x *Index) commit() {
	defer close(x.done)
	for range x.wake {
		x.queue.Lock()
		ops, closed := x.ops, x.closed
		x.ops = nil
		x.queue.Unlock()
		for len(ops) > 0 {
			n := 0
			for rows := 0; n < len(ops) && rows < maxBatch; n++ {
				rows += ops[n].rows()
			}
			group := ops[:n]
			ops = ops[n:]
			err := x.Failure()
			if err == nil {
				err = x.write(group)
			}
			for _, o := range group {
				o.done <- err
			}
		}
		if closed {
			return
		}
	}
}

// fail wraps err, makes all later changes fail with the wrapped error, and returns it.
func (x *Index) fail(err error) error {
	err = fmt.Errorf("%s: the index cannot be changed until a restart: %w", x.path, err)
	x.queue.Lock()
	x.failed = err
	x.queue.Unlock()
	if x.options.Failed != nil {
		x.options.Failed(err)
	}
	return err
}

// write applies a group's changes on disk and then in memory. After a disk error the end of the
// file is in an unknown state, and no further group is written.
func (x *Index) write(group []*op) error {
	rows := x.rowsOf(group)
	if len(rows) == 0 {
		return nil
	}
	// Encode all batches before writing any: an encoding error then leaves the file unchanged.
	var batches [][]byte
	for batch := range slices.Chunk(rows, maxBatch) {
		_, text, err := encode(x.options, batch)
		if err != nil {
			return err
		}
		batches = append(batches, text)
	}
	for i := range rows { // before locking, so that searches do not wait
		rows[i].terms = x.splitter.split(rows[i].Tokens)
	}
	end := x.size
	for _, text := range batches {
		if _, err := x.file.WriteAt(text, end); err != nil { // overwrites the previous group's mark
			x.unwrite()
			return x.fail(err)
		}
		// Sync each batch before writing the next: if a later batch were on disk and an earlier batch
		// torn, the file would look damaged instead of torn.
		if err := x.file.Sync(); err != nil {
			return x.fail(err)
		}
		end += int64(len(text))
	}
	x.mu.Lock()
	for _, r := range rows {
		x.items.change(r)
	}
	x.size = end
	x.rows += len(rows)
	live := x.items.count
	x.mu.Unlock()
	if _, err := x.file.WriteAt(mark(end), end); err != nil {
		x.fail(err) // only later changes fail, because this group is on disk
		return nil
	}
	if x.rows > compactFrom && x.rows > 2*live {
		// The group is on disk. After an error it is unknown which file has the final name.
		if err := x.rewrite(); err != nil {
			x.fail(fmt.Errorf("rewriting the index: %w", err))
		}
	}
	return nil
}

// unwrite removes a group that could not be written, for example on a full disk, and was not
// acknowledged. If this fails as well, the next start finds a torn group.
func (x *Index) unwrite() {
	if x.file.Truncate(x.size) == nil {
		x.file.WriteAt(mark(x.size), x.size)
	}
}

// rowsOf returns the rows of a group's changes. Removals of unknown items have no rows.
func (x *Index) rowsOf(group []*op) (rows []row) {
	none := make([]float32, x.options.Size) // vector of removed items
	there := map[string]bool{}              // whether a changed id exists after the changes so far
	for _, o := range group {
		if o.add != nil {
			rows = append(rows, row{Item: *o.add})
			there[o.add.ID] = true
			continue
		}
		for _, id := range o.remove {
			known, ok := there[id]
			if !ok {
				_, known = x.items.at[id] // safe without the lock: only the committer writes it
			}
			if !known {
				o.unknown = append(o.unknown, id)
				continue
			}
			rows = append(rows, row{Item: Item{ID: id, Vector: none}, removed: true})
			there[id] = false
		}
	}
	return rows
}

// compactFrom is the number of rows that a file must exceed before it is rewritten.
const compactFrom = 4096
