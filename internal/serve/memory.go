package serve

import (
	"errors"
	"fmt"
	"sync/atomic"
	"time"

	"github.com/sftseq/sftseq/internal/jsonlines"
)

// memory limits the memory that the server keeps for all clients: messages being read, pending
// requests with their results, and documents. The memory of the model, the index and idle sessions is
// not counted.
type memory struct {
	limit int64
	used  atomic.Int64
	peak  atomic.Int64 // highest use since the last call of maxUsed
}

// reserve reserves n bytes, or returns false if they exceed the limit.
func (m *memory) reserve(n int64) bool {
	used := m.used.Add(n)
	if used > m.limit {
		m.used.Add(-n)
		return false
	}
	for peak := m.peak.Load(); used > peak && !m.peak.CompareAndSwap(peak, used); peak = m.peak.Load() {
	}
	return true
}

// maxUsed returns the peak use since the last call.
func (m *memory) maxUsed() int64 {
	used := m.used.Load()
	return max(used, m.peak.Swap(used))
}

func (m *memory) release(n int64) { m.used.Add(-n) }

// maxRequest is the maximum memory of one request. The rest remains for small requests.
func (m *memory) maxRequest() int64 { return m.limit - m.limit/16 }

// sessionBytes is the memory of an idle session: its buffer, and the bytes of a message that are read
// without a reservation.
const sessionBytes = 1<<16 + jsonlines.Free

// MaxClients is the maximum number of connections that can be configured.
const MaxClients = 1 << 30

// sessionLimit returns the name of the limit that another session would exceed, or "". The fixed
// memory of all sessions is not part of --max-memory, but may be at most half as large. A first session
// is always allowed. The caller holds the server's lock.
func (s *Server) sessionLimit() string {
	n := len(s.sessions)
	switch maxClients := s.options.MaxClients; {
	case n == 0:
		return ""
	case maxClients > 0 && n >= maxClients:
		return "--max-clients"
	case int64(n+1)*sessionBytes > s.memory.limit/2:
		return "--max-memory"
	}
	return ""
}

// tooMany returns the error of a connection above the limit of a flag. outcome is appended to the
// message.
func (s *Server) tooMany(flag, outcome string) *Error {
	needs := ""
	if flag == "--max-memory" {
		needs = fmt.Sprintf(" (one more connection needs at least %d bytes)", 2*(s.sessionCount.Load()+1)*sessionBytes)
	}
	return fail(codeBusy, retryDelay{s.retryAfter()}, "the server has reached the connection limit of %s%s%s", flag,
		needs, outcome)
}

// reserve reserves n bytes of the server's memory for the session, or returns false. If there are
// other sessions, a session may hold at most as much memory as is free (Choudhury and Hahne, Dynamic
// queue length thresholds for shared-memory packet switches, 1998). A session that holds no memory
// can then always reserve some.
func (s *session) reserve(n int64) bool {
	m := &s.server.memory
	if !m.reserve(n) {
		return false
	}
	own := s.memory.Add(n)
	if n > 0 && s.server.sessionCount.Load() > 1 && own > m.limit-m.used.Load() {
		s.release(n)
		return false
	}
	return true
}

// reserveForRequest reserves n bytes for a request. One session at a time may exceed the limit of
// reserve, as long as all sessions together use at most maxRequest. Otherwise idle connections would
// make a large request fail forever.
func (s *session) reserveForRequest(n int64) bool {
	if s.reserve(n) {
		return true
	}
	server := s.server
	if holder := server.exceeding.Load(); holder != nil && holder != s {
		holder.stopExceeding() // others may have released memory since its last release
	}
	if !server.exceeding.CompareAndSwap(nil, s) && server.exceeding.Load() != s {
		return false
	}
	if !server.memory.reserve(n) {
		s.stopExceeding()
		return false
	}
	s.memory.Add(n)
	server.exceeding.CompareAndSwap(nil, s) // a concurrent release may have cleared it
	if server.memory.used.Load() > server.memory.maxRequest() {
		s.release(n)
		return false
	}
	return true
}

// stopExceeding lets another session exceed the limit of reserve once s is within this limit.
func (s *session) stopExceeding() {
	m, held := &s.server.memory, s.memory.Load()
	if s.server.exceeding.Load() == s && (held == 0 || held <= m.limit-m.used.Load()) {
		s.server.exceeding.CompareAndSwap(s, nil)
	}
}

func (s *session) release(n int64) {
	s.memory.Add(-n)
	s.server.memory.release(n)
	s.stopExceeding()
}

// Lend reserves memory for a message that is being read, or returns false. All these messages share half of
// the memory, so that clients that send partial messages do not block others. Because a client that
// pipes a file cannot retry, Lend waits while earlier messages of the session may release memory:
// messages that are not yet accepted, and pending bare lines.
func (s *session) Lend(n int64) bool {
	for {
		// Set mayFree before the attempt: if the last message completed between a failed attempt and a
		// later check, Lend would return false although the memory is free.
		s.mu.Lock()
		mayFree := s.bare.pending > 0 || s.lentBytes.Load() > 0
		s.mu.Unlock()
		if s.lendNow(n) {
			return true
		}
		if !mayFree {
			return false
		}
		select {
		case <-time.After(time.Millisecond):
		case <-s.stopRead:
			return false
		case <-s.ctx.Done():
			return false
		}
	}
}

func (s *session) lendNow(n int64) bool {
	reading := &s.server.readingMemory
	if !reading.reserve(n) {
		return false
	}
	if !s.reserve(n) {
		reading.release(n)
		return false
	}
	return true
}

// TakeBack releases the memory lent to a message that is not kept.
func (s *session) TakeBack(n int64) {
	s.server.readingMemory.release(n)
	s.release(n)
}

// noMemoryForMessage returns the error for a message that does not fit into memory: permanent if it can never
// fit, otherwise retryable.
func (s *Server) noMemoryForMessage(bytes int64) *Error {
	if limit := s.readingMemory.limit; bytes > limit {
		return fail(codeParams, nil, "the message has %d bytes, expected at most %d, half of --max-memory "+
			"(set it to at least %d)", bytes, limit, 2*bytes)
	}
	return s.noMemory()
}

// noMemory returns the retryable error for a request without memory.
func (s *Server) noMemory() *Error {
	return fail(codeBusy, retryDelay{s.retryAfter()}, "the server has reached --max-memory")
}

// errMemory marks errors about missing memory.
var errMemory = errors.New("out of memory")

// reserve reserves n bytes until the call's response is sent or free releases them.
func (c *call) reserve(n int64) error {
	s := c.session.server
	if limit := s.memory.maxRequest(); c.bytes+n > limit {
		return errors.Join(errMemory, fail(codeParams, errorLocation{Field: wholeParams},
			"the request exceeds %d bytes, 15/16 of --max-memory: it needs at least %d", limit, c.bytes+n))
	}
	if !c.session.reserveForRequest(n) {
		return errors.Join(errMemory, s.noMemory())
	}
	c.bytes += n
	return nil
}

// free releases n reserved bytes.
func (c *call) free(n int64) {
	c.session.release(n)
	c.bytes -= n
}

// tokenBytes is the memory of a token id.
const tokenBytes = 4

// tokenize calls read, which tokenizes text of the given number of bytes and needs at most maxBytes of
// memory, tokens included. Afterwards only the memory of the tokens stays reserved.
func (c *call) tokenize(bytes int, maxBytes int64, read func() ([]int32, error)) ([]int32, error) {
	if err := c.reserve(maxBytes); err != nil {
		return nil, err
	}
	var tokens []int32
	var err error
	if stopped := c.do(bytes, func() { tokens, err = read() }); stopped != nil {
		err = stopped
	}
	c.free(maxBytes - tokenBytes*int64(cap(tokens)))
	return tokens, err
}
