package serve

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"runtime"
	"sync"
	"sync/atomic"
	"time"

	"github.com/sftseq/sftseq/internal/index"
	"github.com/sftseq/sftseq/internal/serve/batching"
	"github.com/sftseq/sftseq/internal/serve/fair"
	"github.com/sftseq/sftseq/internal/serve/transport"
)

// Options are a server's limits and ways.
type Options struct {
	// Load reads the model, at the start and for every reload.
	Load func() (*Model, error)
	// Lost says that an error is that of a device which computes no more; nil if
	// there is none of the kind.
	Lost func(error) bool

	Framing        string
	MaxLine        int   // bytes of a message
	MaxInflight    int   // requests of a session that wait for an answer
	MaxDocuments   int   // documents of a session
	MaxClients     int   // connections at a time, 0 is as many as there is memory for
	MaxMemory      int64 // bytes kept for all sessions
	Cores          int   // cores that the program may use; 0 means all
	MaxBatchTokens int   // 0 means the capacity of the device
	MaxWait        time.Duration
	Debounce       time.Duration // from a document's last change to its classification
	IdleTimeout    time.Duration // ends a session that asks for nothing; 0 is never
	Index          string        // file of the retrieval index, "" for none
	Reembed        bool          // make an index of another model one of this
	Version        string
	Revision       string // the commit that the program is built from, "" if it is unknown
	Log            *slog.Logger
	AccessLog      bool // write a line of Log for each response
}

// Server answers any number of sessions with one model.
type Server struct {
	options    Options
	log        *slog.Logger
	memory     memory
	reading    memory // the part of it that messages have while they are read
	metrics    *metrics
	batcher    *batching.Batcher
	turns      *fair.Turns
	reserving  atomic.Pointer[Model] // model whose device leaves cores to turns
	index      *index.Index          // nil without one
	grace      time.Duration         // time for the last replies of sessions that must end
	allowances allowances
	refusing   atomic.Int64 // connections that are turned away
	leaving    atomic.Bool  // see Leave

	mu       sync.Mutex
	model    *served
	sessions map[*session]struct{}
	present  atomic.Int64 // how many there are, for who does not hold mu
	draining bool
	ended    sync.WaitGroup // sessions

	recovering sync.WaitGroup
	failed     chan error
}

// New loads the model and opens the index.
func New(ctx context.Context, o Options) (*Server, error) {
	if o.Framing != transport.Lines && o.Framing != transport.LSP {
		return nil, fmt.Errorf("framing: expected %q or %q, found %q", transport.Lines, transport.LSP, o.Framing)
	}
	m, err := o.Load()
	if err != nil {
		return nil, err
	}
	s := &Server{options: o, log: o.Log, memory: memory{limit: o.MaxMemory}, reading: memory{limit: o.MaxMemory / 2},
		metrics: newMetrics(), sessions: map[*session]struct{}{}, grace: time.Second, allowances: usualAllowances,
		failed: make(chan error, 1)}
	s.turns = fair.New(cmp.Or(o.Cores, runtime.NumCPU()), func(n int) { s.reserving.Load().Scorer.Reserve(n) })
	s.reserving.Store(m)
	s.batcher = batching.New(batching.Options{Tokens: o.MaxBatchTokens, MaxWait: o.MaxWait, Sizes: s.metrics.sizes})
	s.model = s.newServed(m)
	if o.Index != "" {
		if err := s.openIndex(ctx); err != nil {
			m.Release()
			return nil, err
		}
	}
	return s, nil
}

// current is the model that new requests are answered with.
func (s *Server) current() *served {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.model
}

// acquire is the current model, which the caller gives back by done.
func (s *Server) acquire() *served {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.model.Use()
	return s.model
}

// Hash names the model that new requests are answered with.
func (s *Server) Hash() string { return s.current().about.Hash }

// Reload loads the model again. Requests that have begun end with the old one; open
// documents are classified again.
func (s *Server) Reload() error {
	m, err := s.options.Load()
	if err != nil {
		return err
	}
	if s.index != nil && m.Hash != s.current().about.Hash {
		m.Release()
		return errors.New("the model has changed, and the index is of the old one: start again with --reembed")
	}
	s.mu.Lock()
	old := s.model
	s.model = s.newServed(m)
	s.turns.Moved(func() {
		s.reserving.Store(m)
		old.Scorer.Reserve(0)
	})
	for x := range s.sessions {
		go x.documents.again() // blocks if a client does not read
	}
	s.mu.Unlock()
	old.Retire()
	return nil
}

// retryAfter is when a client that was refused may try again, in milliseconds:
// about when what waits now is done.
func (s *Server) retryAfter() int {
	return max(10, int(s.batcher.Busy().Milliseconds()))
}

// Serve answers the messages of r on w until the end of r, the client's exit or
// Drain. An error says why the session ended in another way, which LSP has the exit
// status be 1 for. Stdio says that the client has started this process for itself.
// Unless it does, r is closed at the end if it can be, and ends what w blocks; if it
// does, what blocks goes on until the process ends.
func (s *Server) Serve(name string, r io.Reader, w io.Writer, stdio bool) error {
	x := s.newSession(name, r, stdio)
	defer close(x.gone)
	x.out = transport.NewOutlet(w, func(bytes int, write func()) { x.share.Do(x.ctx, bytes, write) })
	if c, ok := r.(io.Closer); ok && !stdio {
		defer c.Close()
	}
	x.frames = transport.NewFrames(s.options.Framing, r, x.out, s.options.MaxLine, x)
	admitted, crowded := s.admit(x)
	switch {
	case crowded != "":
		return x.turnAway(crowded)
	case !admitted:
		return nil
	}
	defer s.leave(x)
	x.log.Debug("session begins")
	ended := make(chan error, 1)
	go func() { ended <- x.run() }()
	var err error
	select {
	case err = <-ended:
	case <-x.overdue():
		err = fmt.Errorf("%w; its client does not read", context.Cause(x.ctx))
	}
	x.log.Debug("session ends", "error", err)
	return err
}

// newSession is a session without a way to its client.
func (s *Server) newSession(name string, r io.Reader, stdio bool) *session {
	x := &session{server: s, share: s.turns.Share(), account: batching.Account{Log: s.log}, input: r, name: name,
		stdio: stdio, log: s.log.With("session", name),
		messages: make(chan message), stopRead: make(chan struct{}), oneAnswered: make(chan struct{}, 1),
		calls: map[*call]struct{}{}, ids: map[string]*call{}, gone: make(chan struct{})}
	x.activity.note()
	x.ctx, x.end = context.WithCancelCause(context.Background())
	x.bare.ctx, x.bare.cancel = context.WithCancelCause(x.ctx)
	return x
}

// admit counts a session among the server's. Where there are as many as there may be, one
// of little use makes room; crowded is the flag that leaves none. A server that drains
// admits nobody.
func (s *Server) admit(x *session) (admitted bool, crowded string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.draining {
		return false, ""
	}
	if crowded = s.crowded(); crowded != "" {
		evicted := s.evict()
		if evicted == nil {
			return false, crowded
		}
		go evicted.dismiss(s.tooMany(crowded, ": this one makes room"))
	}
	s.add(x)
	return true, ""
}

// leave is the end of a session that was admitted.
func (s *Server) leave(x *session) {
	s.mu.Lock()
	s.remove(x)
	s.mu.Unlock()
	s.ended.Done()
}

// add counts a session among the server's. The caller holds the server's lock.
func (s *Server) add(x *session) {
	s.sessions[x] = struct{}{}
	s.present.Store(int64(len(s.sessions)))
	s.ended.Add(1)
}

// remove is the end of that, if it has not ended. The caller holds the server's lock.
func (s *Server) remove(x *session) {
	delete(s.sessions, x)
	s.present.Store(int64(len(s.sessions)))
}

// Drain has all sessions end when what they have accepted is answered, and
// returns when they have. When ctx ends what is left is cancelled: that is an
// error.
func (s *Server) Drain(ctx context.Context) error {
	s.mu.Lock()
	s.draining = true
	for x := range s.sessions {
		x.stop()
	}
	s.mu.Unlock()
	done := make(chan struct{})
	go func() {
		defer close(done)
		s.ended.Wait()
	}()
	select {
	case <-done:
		return nil
	case <-ctx.Done():
	}
	left, blocked := s.cancelAll()
	select {
	case <-done:
	case <-time.After(s.grace):
		s.mu.Lock()
		for x := range s.sessions {
			x.end(errStopped)
		}
		s.mu.Unlock()
		select {
		case <-done:
		case <-time.After(2 * s.grace): // Serve gives up a session that cannot end
		}
	}
	if blocked > 0 {
		s.log.Warn("clients did not read", "sessions", blocked)
	}
	if left == 0 {
		return nil
	}
	return fmt.Errorf("%d requests were cancelled: they took longer than the time to drain", left)
}

// cancelAll cancels every request and counts them, but for those of clients that do
// not read: what they have asked for may be long done.
func (s *Server) cancelAll() (left, blocked int) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for x := range s.sessions {
		x.mu.Lock()
		if x.out.Blocked() {
			blocked++
		} else {
			left += len(x.calls) + x.bare.pending
		}
		for c := range x.calls {
			c.cancel(errStopped)
		}
		x.mu.Unlock()
		x.bare.cancel(errStopped)
		go x.documents.close() // blocks if a client does not read
	}
	return left, blocked
}

// Close releases model and index. All sessions have ended before.
func (s *Server) Close() error {
	s.batcher.Close()
	s.recovering.Wait()
	s.current().Retire()
	if s.index != nil {
		return s.index.Close()
	}
	return nil
}
