package serve

import (
	"context"
	"io"
	"log/slog"
	"sync"
	"sync/atomic"
	"time"

	"github.com/sftseq/sftseq/internal/rope"
	"github.com/sftseq/sftseq/internal/serve/batching"
	"github.com/sftseq/sftseq/internal/serve/fair"
	"github.com/sftseq/sftseq/internal/serve/transport"
)

// The life of a session, as LSP has it.
type life int

const (
	uninitialized life = iota // before initialize
	running
	shutDown // after shutdown
)

// message is one that was read.
type message struct {
	transport.Message
	received time.Time
}

// session is one client's stream. receive accepts messages in order; some are answered immediately, and the others are
// calls, which run on their own.
type session struct {
	server  *Server
	share   *fair.Share
	account batching.Account
	frames  transport.Frames
	input   io.Reader
	out     *transport.Outlet
	name    string // name of the input, for errors of bare lines
	stdio   bool
	log     *slog.Logger

	ctx      context.Context // ends when the client is gone or must go
	end      context.CancelCauseFunc
	messages chan message  // messages read; closed at the end of input
	readErr  error         // why; set before messages is closed
	cut      error         // why no more is read, though the client is there
	stopRead chan struct{} // closed when nothing more is to be read
	stopOnce sync.Once
	handed   atomic.Int64 // bytes lent to messages that were read and are not accepted yet

	// What only the goroutine that reads uses.
	life   life
	spoken bool   // JSON-RPC was seen
	places string // the unit of spans in results, as results name it; "" is characters
	bare   bareLines
	unit   rope.Unit // the unit of offsets in documents
	edits  uint64
	exited bool      // by exit
	turn   fair.Turn // in which it works for a message, see inTurns
	worked int       // since it has looked at its client last

	sending     sync.Mutex // while a message is written
	mu          sync.Mutex
	calls       map[*call]struct{} // pending calls
	ids         map[string]*call
	pushes      int           // documents whose result is pending
	oneAnswered chan struct{} // has an element after a reply

	memory    atomic.Int64 // bytes of the server's memory in use
	activity  activity
	gone      chan struct{} // closed when its connection is
	documents documents
	answering sync.WaitGroup // calls
	work      sync.WaitGroup // other goroutines
}

// run answers the session's messages to the end. An error says why the session had
// to end before all was answered.
func (s *session) run() (err error) {
	s.bare.queue = make(chan *bareLine, maxBareLines+1) // here: sessions of HTTP have none
	s.work.Go(s.writeBare)
	if after := s.server.options.IdleTimeout; after > 0 && !s.stdio {
		s.work.Go(func() { s.endWhenIdle(after) })
	}
	pumped := make(chan struct{})
	go func() {
		defer close(pumped)
		s.pump()
	}()
	if c, ok := s.input.(io.Closer); ok && !s.stdio {
		// It frees what reads, and what writes to a client that does not.
		context.AfterFunc(s.ctx, func() { c.Close() })
		defer func() { <-pumped }()
	}
	s.receive()
	s.answering.Wait()
	s.stop() // whatever comes now is too late
	if conn, ok := s.input.(transport.HalfCloser); ok && !s.stdio && s.ctx.Err() == nil {
		s.documents.close()
		conn.SetReadDeadline(time.Now()) // the pump must not wait for what comes
		<-pumped
		transport.Linger(s.ctx, conn, s.server.grace)
	}
	err = s.cut
	if s.ctx.Err() != nil {
		err = context.Cause(s.ctx)
	}
	s.end(errSessionOver)
	s.documents.close()
	close(s.bare.queue)
	s.work.Wait()
	return err
}

// pump reads messages until the end, or until nobody takes them.
func (s *session) pump() {
	defer close(s.messages)
	for {
		read, err := s.frames.Read()
		if err != nil {
			s.readErr = err
			return
		}
		m := message{read, time.Now()}
		s.activity.reading.Add(1)
		s.activity.heard.Store(true)
		s.activity.note()
		s.handed.Add(m.Room)
		select {
		case s.messages <- m:
			continue
		case <-s.stopRead:
		case <-s.ctx.Done():
		}
		s.TakeBack(m.Room)
		s.activity.reading.Add(-1)
		return
	}
}

// receive accepts messages until the client or the server wants no more of them.
func (s *session) receive() {
	for !s.exited {
		select {
		case <-s.stopRead:
			s.finish()
			return
		default:
		}
		select {
		case m, ok := <-s.messages:
			if !ok {
				s.endOfInput()
				return
			}
			lent := m.Room
			c := s.accept(&m)
			s.release(m.Room) // unless the message is kept
			s.server.reading.give(lent)
			s.handed.Add(-lent)
			s.activity.note()
			s.activity.reading.Add(-1)
			if c != nil {
				s.begin(c)
			}
		case <-s.stopRead:
		case <-s.ctx.Done():
			return
		}
	}
	s.finish()
}

// send writes a message when those before it are written.
func (s *session) send(body []byte) {
	s.sending.Lock()
	defer s.sending.Unlock()
	s.sendNow(body)
}

// sendNow is send for a caller that holds s.sending.
func (s *session) sendNow(body []byte) {
	if err := s.frames.Write(body); err != nil {
		s.end(over("writing: %v", err))
	}
}

// stop has the session end when what it has accepted is answered.
func (s *session) stop() { s.stopOnce.Do(func() { close(s.stopRead) }) }

// overdue is closed when a session that has to end is late. Over standard input it may be unable to end: a write to a
// pipe cannot be interrupted.
func (s *session) overdue() <-chan struct{} {
	late := make(chan struct{})
	context.AfterFunc(s.ctx, func() { time.AfterFunc(s.server.grace, func() { close(late) }) })
	return late
}

// endOfInput answers what is pending, and says why reading ended if not well.
func (s *session) endOfInput() {
	if s.readErr == nil || s.readErr == io.EOF {
		s.finish()
		return
	}
	if bad, ok := s.readErr.(transport.BadHeader); ok { // the client is there
		s.refuse(nil, fail(codeParse, nil, "%v", bad))
		s.finish()
		s.cut = over("reading: %v", bad) // it gets all answers before the end
		return
	}
	s.end(over("reading: %v", s.readErr))
}

// finish waits until every call and bare line is answered and every document's class pushed, or until the client has
// gone.
func (s *session) finish() {
	s.documents.hasten()
	look := time.NewTicker(100 * time.Millisecond)
	defer look.Stop()
	for {
		s.mu.Lock()
		pending := len(s.calls) + s.bare.pending + s.pushes
		s.mu.Unlock()
		if pending == 0 {
			return
		}
		select {
		case <-s.oneAnswered:
		case <-look.C:
			if transport.Closed(s.input) {
				s.end(over("the client is gone"))
			}
		case <-s.ctx.Done():
			return
		}
	}
}

// wakeFinish has finish, and what waits for room, look again.
func (s *session) wakeFinish() {
	s.activity.note()
	select {
	case s.oneAnswered <- struct{}{}:
	default:
	}
}
