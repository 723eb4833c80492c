package index

import "fmt"

// op is a change that somebody waits for.
type op struct {
	add     *Item
	remove  []string
	unknown []string
	done    chan error
}

// maxGroup is the most rows that are written at once.
const maxGroup = 1024

// change has the committer make a change.
func (x *Index) change(o *op) ([]string, error) {
	o.done = make(chan error, 1)
	x.queue.Lock()
	switch {
	case x.closed:
		x.queue.Unlock()
		return nil, errClosed
	case x.failed != nil:
		defer x.queue.Unlock()
		return nil, x.failed
	}
	x.ops = append(x.ops, o)
	x.queue.Unlock()
	x.signal()
	err := <-o.done
	return o.unknown, err
}

func (x *Index) signal() {
	select {
	case x.wake <- struct{}{}:
	default:
	}
}

// commit writes groups of changes: all that have come while the group before was
// written. One synchronisation serves them all.
func (x *Index) commit() {
	defer close(x.done)
	for range x.wake {
		x.queue.Lock()
		ops, closed := x.ops, x.closed
		x.ops = nil
		x.queue.Unlock()
		for len(ops) > 0 {
			group := ops[:min(maxGroup, len(ops))]
			ops = ops[len(group):]
			err := x.failure()
			if err == nil {
				if err = x.write(group); err != nil {
					x.fail(err)
				}
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
func (x *Index) fail(err error) {
	x.queue.Lock()
	defer x.queue.Unlock()
	x.failed = err
}

func (x *Index) failure() error {
	x.queue.Lock()
	defer x.queue.Unlock()
	return x.failed
}

// write makes a group's changes on the disk, then in memory. After an error
// nothing is known about the file's end, and no group may follow.
func (x *Index) write(group []*op) error {
	var rows []row
	there := map[string]bool{} // after the changes so far
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
			rows = append(rows, row{Item: Item{ID: id, Vector: make([]float32, x.options.Size)}, removed: true})
			there[id] = false
		}
	}
	if len(rows) == 0 {
		return nil
	}
	_, batch, err := encode(x.options, rows)
	if err != nil {
		return err
	}
	if _, err := x.file.Write(batch); err != nil {
		return fmt.Errorf("%s: nothing more can be added: %w", x.path, err)
	}
	if err := x.file.Sync(); err != nil {
		return fmt.Errorf("%s: nothing more can be added: %w", x.path, err)
	}
	x.mu.Lock()
	for _, r := range rows {
		x.items.change(r)
	}
	x.size += int64(len(batch))
	x.rows += len(rows)
	live := len(x.items.ids)
	x.mu.Unlock()
	if x.rows > compactFrom && x.rows > 2*live {
		// What is asked for now is on the disk; which file is there now is not known.
		if err := x.rewrite(); err != nil {
			x.fail(fmt.Errorf("%s: nothing more can be added: writing it anew: %w", x.path, err))
		}
	}
	return nil
}

// compactFrom is how many rows a file has at least before it is written anew.
const compactFrom = 4096
