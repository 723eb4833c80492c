package seq

import "container/list"

// A cache keeps the most recently used record batches, up to a number of bytes. The newest batch
// stays even if it alone exceeds the limit.
type cache struct {
	limit, size int64
	order       *list.List // *cached elements, most recently used first
	entries     map[int]*list.Element
}

type cached struct {
	index int
	rows  *Rows
	size  int64
}

func newCache(limit int64) cache {
	return cache{limit: limit, order: list.New(), entries: map[int]*list.Element{}}
}

// get returns the rows of batch index, or nil.
func (c *cache) get(index int) *Rows {
	element, ok := c.entries[index]
	if !ok {
		return nil
	}
	c.order.MoveToFront(element)
	return element.Value.(*cached).rows
}

// put adds a batch that get did not find.
func (c *cache) put(index int, rows *Rows, size int64) {
	c.entries[index] = c.order.PushFront(&cached{index, rows, size})
	c.size += size
	for c.size > c.limit && c.order.Len() > 1 {
		oldest := c.order.Remove(c.order.Back()).(*cached)
		delete(c.entries, oldest.index)
		c.size -= oldest.size
	}
}
