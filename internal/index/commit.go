package index

import (
	"fmt"
	"slices"
)

// op is a change that somebody waits for.
type op struct {
	add     *Item
	remove  []string
	unknown []string
	done    chan error // has room for the answer
}

// rows is how many rows a change has at most.
func (o *op) rows() int { return max(1, len(o.remove)) }

// maxBatch is the most rows of a record batch, and what a group has before it is
// full.
const maxBatch = 1024

// ask has the committer make a change, which is done when o.done says so.
func (x *Index) ask(o *op) {
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

// commit writes groups of changes: all that have come while the group before was
// written. One synchronisation serves them all, or one for each maxBatch rows.
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

// fail has every later change refused.
func (x *Index) fail(err error) error {
	err = fmt.Errorf("%s: nothing can be changed any more before a restart: %w", x.path, err)
	x.queue.Lock()
	x.failed = err
	x.queue.Unlock()
	if x.options.Failed != nil {
		x.options.Failed(err)
	}
	return err
}

// write makes a group's changes on the disk, then in memory. When the disk has
// failed nothing is known about the file's end, and no group may follow.
func (x *Index) write(group []*op) error {
	rows := x.rowsOf(group)
	if len(rows) == 0 {
		return nil
	}
	// all are made before one is written: what cannot be encoded leaves nothing; a power cut, perhaps the first ones
	var batches [][]byte
	for batch := range slices.Chunk(rows, maxBatch) {
		_, text, err := encode(x.options, batch)
		if err != nil {
			return err
		}
		batches = append(batches, text)
	}
	for i := range rows { // not while searches wait
		rows[i].terms = x.splitter.split(rows[i].Tokens)
	}
	end := x.size
	for _, text := range batches {
		if _, err := x.file.WriteAt(text, end); err != nil { // over the mark of the group before
			x.unwrite()
			return x.fail(err)
		}
		// One after the other: where a later one were on the disk and an earlier one torn,
		// that would look like damage of what was acknowledged.
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
		x.fail(err) // for what comes: this group is on the disk
		return nil
	}
	if x.rows > compactFrom && x.rows > 2*live {
		// What is asked for now is on the disk; which file is there now is not known.
		if err := x.rewrite(); err != nil {
			x.fail(fmt.Errorf("writing it anew: %w", err))
		}
	}
	return nil
}

// unwrite removes a group that could not be written, as on a full disk, and was not acknowledged. If the disk refuses
// that, too, the next start finds a torn group.
func (x *Index) unwrite() {
	if x.file.Truncate(x.size) == nil {
		x.file.WriteAt(mark(x.size), x.size)
	}
}

// rowsOf are the rows of a group's changes. What is not there to be removed has none.
func (x *Index) rowsOf(group []*op) (rows []row) {
	none := make([]float32, x.options.Size) // vector of a removed item
	there := map[string]bool{}              // after the changes so far
	for _, o := range group {
		if o.add != nil {
			rows = append(rows, row{Item: *o.add})
			there[o.add.ID] = true
			continue
		}
		for _, id := range o.remove {
			known, ok := there[id]
			if !ok {
				_, known = x.items.at[id] // the committer alone writes it
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

// compactFrom is how many rows a file has at least before it is written anew.
const compactFrom = 4096
