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

// lifecycleState is the state of a session in LSP.
type lifecycleState int

const (
	uninitialized lifecycleState = iota // before initialize
	running
	shutDown // after shutdown
)

// message is a received message and the time at which it was read.
type message struct {
	transport.Message
	received time.Time
}

// session is one client's stream. receive accepts messages in order. Most requests become calls, which
// run concurrently, and bare lines are queued. All other messages are complete when they are accepted.
type session struct {
	server  *Server
	share   *fair.Share
	account batching.Account
	frames  transport.Frames
	input   io.Reader
	out     *transport.Outlet
	name    string // name of the input, for logs and for errors of bare lines
	stdio   bool
	log     *slog.Logger

	ctx        context.Context // ends when the client disconnects or the session must end
	end        context.CancelCauseFunc
	messages   chan message  // received messages; closed when pump ends
	readErr    error         // error that ended the input; set before messages is closed
	framingErr error         // malformed header that ended reading although the client is still connected
	stopRead   chan struct{} // closed when no further messages are accepted
	stopOnce   sync.Once
	lentBytes  atomic.Int64 // bytes lent to received messages that are not accepted yet

	// Fields set only by the goroutine that runs receive. bare is shared with writeBare.
	state         lifecycleState
	sawJSONRPC    bool   // a JSON-RPC message was received
	positionUnit  string // unit of positions in results; "" means characters
	bare          bareLines
	unit          rope.Unit // unit of offsets in documents
	edits         uint64    // number of events that opened, changed, broke or closed documents
	exited        bool      // the client sent exit
	turn          fair.Turn // current turn for a message, see runInTurns
	unyieldedWork int       // work since the last check in yield

	sending      sync.Mutex // held while a message is written
	mu           sync.Mutex
	calls        map[*call]struct{} // pending calls
	ids          map[string]*call   // pending calls by the key of their id
	pushes       int                // number of scheduled and running publications
	responseSent chan struct{}      // capacity 1, see signalResponse

	memory           atomic.Int64 // bytes of the server's memory that the session has reserved
	activity         activity
	connectionClosed chan struct{} // closed when the connection is closed
	documents        documents
	callGroup        sync.WaitGroup // counts calls
	workGroup        sync.WaitGroup // counts other goroutines, and publications
}

// run serves the session to its end. It returns an error if s.ctx has ended, for example because the
// client has disconnected, or if a malformed header ended the input.
func (s *session) run() (err error) {
	s.bare.queue = make(chan *bareLine, maxBareLines+1) // made here, because HTTP sessions need no queue
	s.workGroup.Go(s.writeBare)
	if after := s.server.options.IdleTimeout; after > 0 && !s.stdio {
		s.workGroup.Go(func() { s.endWhenIdle(after) })
	}
	pumped := make(chan struct{})
	go func() {
		defer close(pumped)
		s.pump()
	}()
	if c, ok := s.input.(io.Closer); ok && !s.stdio {
		// Closing the input unblocks reads, and writes to a client that does not read.
		context.AfterFunc(s.ctx, func() { c.Close() })
		defer func() { <-pumped }()
	}
	s.receive()
	s.callGroup.Wait()
	s.stop() // later messages are not accepted
	if conn, ok := s.input.(transport.HalfCloser); ok && !s.stdio && s.ctx.Err() == nil {
		s.documents.close()
		conn.SetReadDeadline(time.Now()) // unblocks the pump
		<-pumped
		transport.Linger(s.ctx, conn, s.server.grace)
	}
	err = s.framingErr
	if s.ctx.Err() != nil {
		err = context.Cause(s.ctx)
	}
	s.end(errSessionOver)
	s.documents.close()
	close(s.bare.queue)
	s.workGroup.Wait()
	return err
}

// pump reads messages until the end of input, or until the session accepts no more messages.
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
		s.lentBytes.Add(m.Room)
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

// receive accepts messages until the client or the server ends the session.
func (s *session) receive() {
	for !s.exited {
		select {
		case <-s.stopRead:
			s.waitForResponses()
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
			s.release(m.Room) // m.Room is 0 if a call keeps the message
			s.server.readingMemory.release(lent)
			s.lentBytes.Add(-lent)
			s.activity.note()
			s.activity.reading.Add(-1)
			if c != nil {
				s.startCall(c)
			}
		case <-s.stopRead:
		case <-s.ctx.Done():
			return
		}
	}
	s.waitForResponses()
}

// send writes a message after all earlier messages.
func (s *session) send(body []byte) {
	s.sending.Lock()
	defer s.sending.Unlock()
	s.sendNow(body)
}

// sendNow is like send, for a caller that holds s.sending.
func (s *session) sendNow(body []byte) {
	if err := s.frames.Write(body); err != nil {
		s.end(sessionOver("writing: %w", err))
	}
}

// stop ends the session once its accepted requests are complete.
func (s *session) stop() { s.stopOnce.Do(func() { close(s.stopRead) }) }

// afterGrace returns a channel that is closed when the grace time has passed after the end of s.ctx.
// Over standard input a session may be unable to end, because a write to a pipe cannot be
// interrupted.
func (s *session) afterGrace() <-chan struct{} {
	late := make(chan struct{})
	context.AfterFunc(s.ctx, func() { time.AfterFunc(s.server.grace, func() { close(late) }) })
	return late
}

// endOfInput waits for the pending responses after the end of input or a malformed header. It ends the
// session after any other read error.
func (s *session) endOfInput() {
	if s.readErr == nil || s.readErr == io.EOF {
		s.waitForResponses()
		return
	}
	if bad, ok := s.readErr.(transport.BadHeader); ok { // the client is still connected
		s.refuse(nil, fail(codeParse, nil, "%v", bad))
		s.waitForResponses()
		s.framingErr = sessionOver("reading: %v", bad) // the client gets all responses before the end
		return
	}
	s.end(sessionOver("reading: %v", s.readErr))
}

// waitForResponses waits until all calls and bare lines have responses and all documents' predictions are
// pushed. It stops waiting when the session ends, for example because the client has disconnected.
func (s *session) waitForResponses() {
	s.documents.publishNow()
	poll := time.NewTicker(100 * time.Millisecond)
	defer poll.Stop()
	for {
		s.mu.Lock()
		pending := len(s.calls) + s.bare.pending + s.pushes
		s.mu.Unlock()
		if pending == 0 {
			return
		}
		select {
		case <-s.responseSent:
		case <-poll.C:
			if transport.Closed(s.input) {
				s.end(sessionOver("the client has disconnected"))
			}
		case <-s.ctx.Done():
			return
		}
	}
}

// signalResponse wakes waitForResponses or queueBare after a response or a publication.
func (s *session) signalResponse() {
	s.activity.note()
	select {
	case s.responseSent <- struct{}{}:
	default:
	}
}
