package serve

import "sync/atomic"

// memory bounds what all clients together have the server keep: messages that
// wait for an answer, and documents. What the model takes is beside it.
type memory struct {
	limit int64
	used  atomic.Int64
}

// take reserves n bytes; false if they are beyond the limit.
func (m *memory) take(n int64) bool {
	if m.used.Add(n) > m.limit {
		m.used.Add(-n)
		return false
	}
	return true
}

func (m *memory) give(n int64) { m.used.Add(-n) }
