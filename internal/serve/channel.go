package serve

import (
	"io"
	"strconv"
)

// Recv returns the next request for jrpc2, which dispatches it. The id is a
// number of our own: a client's may be anything, and may be used twice.
func (s *session) Recv() ([]byte, error) {
	for !s.exited {
		select {
		case <-s.stopRead:
			s.finish()
			return nil, io.EOF
		default:
		}
		select {
		case m, ok := <-s.messages:
			if !ok {
				s.endOfInput()
				return nil, io.EOF
			}
			lent := m.room
			c := s.accept(&m)
			s.release(m.room) // unless the message is kept
			s.server.reading.give(lent)
			s.handed.Add(-lent)
			s.activity.note()
			s.activity.reading.Add(-1)
			if c != nil {
				return c.frame(), nil
			}
		case <-s.stopRead:
		case <-s.ctx.Done():
			return nil, io.EOF
		}
	}
	s.finish()
	return nil, io.EOF
}

// frame is the call as jrpc2 reads it.
func (c *call) frame() []byte {
	out := strconv.AppendInt([]byte(`{"jsonrpc":"2.0","method":"call","id":`), c.number, 10)
	return append(out, '}')
}

// responsePrefix begins every response of jrpc2; a push has no id.
const responsePrefix = `{"jsonrpc":"2.0","id":`

// Send writes what jrpc2 sends. A response gets the client's id back.
func (s *session) Send(body []byte) error {
	c, rest := s.responseOf(body)
	if c != nil {
		out := make([]byte, 0, len(body)+len(c.id)+1)
		out = append(append(append(out, responsePrefix...), c.id...), rest...)
		body = out
	}
	err := s.frames.write(body)
	if err != nil {
		s.end(over("writing: %v", err))
	}
	if c != nil {
		s.answered(c)
	}
	return err
}

// responseOf is the call that a message answers, whose id is then free, and what comes
// behind the id; nil if it is a push.
func (s *session) responseOf(body []byte) (*call, []byte) {
	if len(body) < len(responsePrefix) || string(body[:len(responsePrefix)]) != responsePrefix {
		return nil, nil
	}
	at := len(responsePrefix)
	end := at
	for end < len(body) && body[end] >= '0' && body[end] <= '9' {
		end++
	}
	number, err := strconv.ParseInt(string(body[at:end]), 10, 64)
	if err != nil {
		return nil, nil
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	c := s.calls[number]
	if c != nil {
		delete(s.ids, c.key) // the client may use it again as soon as it reads this
	}
	return c, body[end:]
}

// Close is called by jrpc2 when it ends.
func (s *session) Close() error { return nil }
