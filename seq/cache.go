package seq

import "container/list"

// cache holds the most recently used record batches, up to a limit in bytes. It keeps the newest batch
// even if this batch alone exceeds the limit.
type cache struct {
	limit, size int64
	order       *list.List // elements of type *cached, most recently used first
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

// get returns the rows of the batch with the given index, or nil if they are not in the cache.
func (c *cache) get(index int) *Rows {
	element, ok := c.entries[index]
	if !ok {
		return nil
	}
	c.order.MoveToFront(element)
	return element.Value.(*cached).rows
}

// put adds a batch that is not in the cache.
func (c *cache) put(index int, rows *Rows, size int64) {
	c.entries[index] = c.order.PushFront(&cached{index, rows, size})
	c.size += size
	for c.size > c.limit && c.order.Len() > 1 {
		oldest := c.order.Remove(c.order.Back()).(*cached)
		delete(c.entries, oldest.index)
		c.size -= oldest.size
	}
}
