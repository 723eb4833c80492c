package serve

import (
	"errors"
	"fmt"
	"sync/atomic"
	"time"

	"github.com/sftseq/sftseq/internal/jsonlines"
)

// memory bounds what all clients together have the server keep: messages that are
// being read or wait for an answer, what answering them takes, and documents. What
// the model takes is beside it, and what sessions take without all that.
type memory struct {
	limit int64
	used  atomic.Int64
	peak  atomic.Int64 // highest use since the last query
}

// take reserves n bytes; false if they are beyond the limit.
func (m *memory) take(n int64) bool {
	used := m.used.Add(n)
	if used > m.limit {
		m.used.Add(-n)
		return false
	}
	for peak := m.peak.Load(); used > peak && !m.peak.CompareAndSwap(peak, used); peak = m.peak.Load() {
	}
	return true
}

// maxUsed is the most that was used since the last call.
func (m *memory) maxUsed() int64 {
	used := m.used.Load()
	return max(used, m.peak.Swap(used))
}

func (m *memory) give(n int64) { m.used.Add(-n) }

// sessionBytes is what a session takes that asks for nothing: its buffer, and what any
// message may take while it is read.
const sessionBytes = 1<<16 + jsonlines.Free

// MaxClients is how many connections can be asked for.
const MaxClients = 1 << 30

// crowded is the flag for which there may not be another session, "" if there may: together
// they take at most half of the memory's limit, beside it. One may always be. The caller
// holds the server's lock.
func (s *Server) crowded() string {
	n := len(s.sessions)
	switch most := s.options.MaxClients; {
	case n == 0:
		return ""
	case most > 0 && n >= most:
		return "--max-clients"
	case int64(n+1)*sessionBytes > s.memory.limit/2:
		return "--max-memory"
	}
	return ""
}

// tooMany is the error of a connection for which a flag leaves no slot; what has become of it follows.
func (s *Server) tooMany(flag, outcome string) *Error {
	needs := ""
	if flag == "--max-memory" {
		needs = fmt.Sprintf(" (one more needs at least %d bytes)", 2*(s.present.Load()+1)*sessionBytes)
	}
	return fail(codeBusy, retry{s.retryAfter()}, "there are as many connections as %s allows%s%s", flag, needs, outcome)
}

// reserve takes bytes of the server's memory, or reports that the session may not have them. Beside others a session
// has at most as much as is left free (Choudhury and Hahne, Dynamic queue length thresholds for shared-memory packet
// switches, 1998): a session without memory always gets some, and most of it is used.
func (s *session) reserve(n int64) bool {
	m := &s.server.memory
	if !m.take(n) {
		return false
	}
	own := s.memory.Add(n)
	if n > 0 && s.server.present.Load() > 1 && own > m.limit-m.used.Load() {
		s.release(n)
		return false
	}
	return true
}

func (s *session) release(n int64) {
	s.memory.Add(-n)
	s.server.memory.give(n)
}

// Lend reserves memory for a message that is being read. Such messages share half of the memory, so that clients that
// send a part of a message and wait do not block others. Lend waits while earlier messages will release memory: those
// that are not accepted yet, and bare lines, since a client that pipes a file cannot retry.
func (s *session) Lend(n int64) bool {
	for !s.lendNow(n) {
		s.mu.Lock()
		waits := s.bare.pending > 0
		s.mu.Unlock()
		if !waits && s.handed.Load() == 0 {
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
	return true
}

func (s *session) lendNow(n int64) bool {
	reading := &s.server.reading
	if !reading.take(n) {
		return false
	}
	if !s.reserve(n) {
		reading.give(n)
		return false
	}
	return true
}

// TakeBack ends the loan of a message that is not kept.
func (s *session) TakeBack(n int64) {
	s.server.reading.give(n)
	s.release(n)
}

// noRoom is the error of a message for which there was no memory, or never is.
func (s *Server) noRoom(bytes int64) *Error {
	if most := s.reading.limit; bytes > most {
		return fail(codeParams, nil, "the message has %d bytes, at most %d are accepted: half of --max-memory, "+
			"which needs to be at least %d", bytes, most, 2*bytes)
	}
	return s.full()
}

// full is the error of a request for which there is no memory now.
func (s *Server) full() *Error {
	return fail(codeBusy, retry{s.retryAfter()}, "the server keeps as much as --max-memory allows")
}

// errMemory is wrapped by errors about missing memory.
var errMemory = errors.New("there is no memory")

// reserve takes bytes for what a call holds until it is answered, or until they
// are given back.
func (c *call) reserve(n int64) error {
	s := c.session.server
	if c.bytes+n > s.memory.limit {
		return errors.Join(errMemory, fail(codeParams, place{Field: wholeParams},
			"the request takes more than the %d bytes of --max-memory: it needs at least %d", s.memory.limit,
			c.bytes+n))
	}
	if !c.session.reserve(n) {
		return errors.Join(errMemory, s.full())
	}
	c.bytes += n
	return nil
}

// free gives back what was reserved.
func (c *call) free(n int64) {
	c.session.release(n)
	c.bytes -= n
}

// tokenBytes is what a token takes.
const tokenBytes = 4

// tokenize calls read, which makes tokens of a number of bytes of text and takes at most most bytes of memory, the
// tokens included. The memory beyond the tokens is released.
func (c *call) tokenize(bytes int, most int64, read func() ([]int32, error)) ([]int32, error) {
	if err := c.reserve(most); err != nil {
		return nil, err
	}
	var tokens []int32
	var err error
	if stopped := c.do(bytes, func() { tokens, err = read() }); stopped != nil {
		err = stopped
	}
	c.free(most - tokenBytes*int64(cap(tokens)))
	return tokens, err
}
