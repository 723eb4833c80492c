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

// Options are a server's limits and settings.
type Options struct {
	// Load loads the model, at the start and for every reload.
	Load func() (*Model, error)
	// Lost reports whether an error means that the device is lost. nil means never.
	Lost func(error) bool

	Framing        string        // transport.Lines or transport.LSP
	MaxLine        int           // maximum bytes per message
	MaxInflight    int           // maximum pending requests per session
	MaxDocuments   int           // maximum open documents per session
	MaxClients     int           // maximum connections; 0 means as many as memory allows
	MaxMemory      int64         // maximum bytes reserved for all sessions together
	Cores          int           // cores that the program may use; 0 means all
	MaxBatchTokens int           // maximum tokens per batch; 0 means the capacity of a pass
	MaxWait        time.Duration // maximum time that a sequence waits for its batch to fill
	Debounce       time.Duration // time from a document's last change to its prediction
	IdleTimeout    time.Duration // time after which an idle session ends; 0 means never
	Index          string        // file of the retrieval index; "" means no index
	Reembed        bool          // recompute the vectors of an index of another model
	Version        string
	Revision       string // commit that the program was built from, or ""
	Log            *slog.Logger
	AccessLog      bool // log each response
}

// Server serves any number of sessions with one model.
type Server struct {
	options        Options
	log            *slog.Logger
	memory         memory
	readingMemory  memory                  // limit for messages being read; also counted in memory
	exceeding      atomic.Pointer[session] // session that may exceed its limit, see reserveForRequest
	metrics        *metrics
	batcher        *batching.Batcher
	turns          *fair.Turns
	reservingModel atomic.Pointer[Model] // model whose device reserves cores for turns
	index          *index.Index          // nil without an index
	grace          time.Duration         // time to send the last responses when sessions must end
	allowances     allowances
	refusals       atomic.Int64 // connections being refused
	leaving        atomic.Bool  // see Leave

	mu           sync.Mutex
	model        *served
	sessions     map[*session]struct{}
	sessionCount atomic.Int64 // number of sessions, readable without mu
	draining     bool
	ended        sync.WaitGroup // counts sessions

	recovering sync.WaitGroup
	failed     chan error
}

// New returns a server after loading its model and opening its index.
func New(ctx context.Context, o Options) (*Server, error) {
	if o.Framing != transport.Lines && o.Framing != transport.LSP {
		return nil, fmt.Errorf("framing: expected %q or %q, found %q", transport.Lines, transport.LSP, o.Framing)
	}
	m, err := o.Load()
	if err != nil {
		return nil, err
	}
	s := &Server{options: o, log: o.Log, memory: memory{limit: o.MaxMemory},
		readingMemory: memory{limit: o.MaxMemory / 2},
		metrics:       newMetrics(), sessions: map[*session]struct{}{}, grace: time.Second, allowances: defaultAllowances,
		failed: make(chan error, 1)}
	s.turns = fair.New(cmp.Or(o.Cores, runtime.NumCPU()), func(n int) { s.reservingModel.Load().Scorer.Reserve(n) })
	s.reservingModel.Store(m)
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

// current returns the current model without keeping it loaded; a reload may release it. To run requests,
// callers use acquire.
func (s *Server) current() *served {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.model
}

// acquire returns the current model and keeps it loaded until the caller calls the model's Done.
func (s *Server) acquire() *served {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.model.Use()
	return s.model
}

// Hash returns the hash of the current model.
func (s *Server) Hash() string { return s.current().loaded.Hash }

// Reload loads the model again. Started requests complete with the old model. The server pushes new
// predictions for open documents.
func (s *Server) Reload() error {
	m, err := s.options.Load()
	if err != nil {
		return err
	}
	if s.index != nil && m.Hash != s.current().loaded.Hash {
		m.Release()
		return errors.New("the index belongs to the previous model: restart with --reembed")
	}
	s.mu.Lock()
	old := s.model
	s.model = s.newServed(m)
	s.turns.SwitchDevice(func() {
		s.reservingModel.Store(m)
		old.Scorer.Reserve(0)
	})
	for x := range s.sessions {
		go x.documents.reschedule() // blocks if a client does not read
	}
	s.mu.Unlock()
	old.Retire()
	return nil
}

// retryAfter returns the number of milliseconds after which a refused client may retry: the
// estimated time until the queue is empty, at least 10.
func (s *Server) retryAfter() int {
	return max(10, int(s.batcher.Backlog().Milliseconds()))
}

// Serve reads messages from r and writes responses to w until the end of r, the client's exit after
// shutdown, or Drain. After any other end it returns an error. For an exit without shutdown, LSP
// requires exit status 1. stdio means that the client started this process for itself. Without stdio,
// Serve closes r at the end if r is an io.Closer, which also unblocks a write to w. With stdio, a blocked
// read or write continues until the process ends.
func (s *Server) Serve(name string, r io.Reader, w io.Writer, stdio bool) error {
	x := s.newSession(name, r, stdio)
	defer close(x.connectionClosed)
	x.out = transport.NewOutlet(w, func(bytes int, write func()) { x.share.Do(x.ctx, bytes, write) })
	if c, ok := r.(io.Closer); ok && !stdio {
		defer c.Close()
	}
	x.frames = transport.NewFrames(s.options.Framing, r, x.out, s.options.MaxLine, x)
	admitted, limitFlag := s.admit(x)
	switch {
	case limitFlag != "":
		return x.turnAway(limitFlag)
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
	case <-x.afterGrace():
		err = fmt.Errorf("%w; the client does not read responses", context.Cause(x.ctx))
	}
	x.log.Debug("session ends", "error", err)
	return err
}

// newSession returns a session without frames and output.
func (s *Server) newSession(name string, r io.Reader, stdio bool) *session {
	x := &session{server: s, share: s.turns.Share(), account: batching.Account{Log: s.log}, input: r, name: name,
		stdio: stdio, log: s.log.With("session", name),
		messages: make(chan message), stopRead: make(chan struct{}), responseSent: make(chan struct{}, 1),
		calls: map[*call]struct{}{}, ids: map[string]*call{}, connectionClosed: make(chan struct{})}
	x.activity.note()
	x.ctx, x.end = context.WithCancelCause(context.Background())
	x.bare.ctx, x.bare.cancel = context.WithCancelCause(x.ctx)
	return x
}

// admit adds a session to the server. At a limit it evicts another session if possible; otherwise
// limitFlag is the flag of the limit. A draining server admits no sessions.
func (s *Server) admit(x *session) (admitted bool, limitFlag string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.draining {
		return false, ""
	}
	if limitFlag = s.sessionLimit(); limitFlag != "" {
		evicted := s.evict()
		if evicted == nil {
			return false, limitFlag
		}
		go evicted.dismiss(s.tooMany(limitFlag, ": this connection was closed for a new one"))
	}
	s.add(x)
	return true, ""
}

// leave removes an admitted session and marks it as ended.
func (s *Server) leave(x *session) {
	s.mu.Lock()
	s.remove(x)
	s.mu.Unlock()
	s.ended.Done()
}

// add adds a session to the server. The caller holds the server's lock.
func (s *Server) add(x *session) {
	s.sessions[x] = struct{}{}
	s.sessionCount.Store(int64(len(s.sessions)))
	s.ended.Add(1)
}

// remove removes a session from the server if it is present. The caller holds the server's lock.
func (s *Server) remove(x *session) {
	delete(s.sessions, x)
	s.sessionCount.Store(int64(len(s.sessions)))
}

// Drain ends each session when its accepted requests are complete, and returns when all sessions
// have ended. When ctx ends, Drain cancels the remaining requests. It then returns an error if it cancelled
// a request of a client that reads its responses.
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
	cancelled, blocked := s.cancelAll()
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
		case <-time.After(2 * s.grace): // do not wait for a session that cannot end
		}
	}
	if blocked > 0 {
		s.log.Warn("clients did not read responses", "sessions", blocked)
	}
	if cancelled == 0 {
		return nil
	}
	requests := "1 request was cancelled: it"
	if cancelled > 1 {
		requests = fmt.Sprintf("%d requests were cancelled: they", cancelled)
	}
	return fmt.Errorf("%s did not finish within the drain timeout", requests)
}

// cancelAll cancels all requests. It returns the number of these requests, and the number of clients that
// do not read. Requests of such clients are not counted, because they may have completed long ago.
func (s *Server) cancelAll() (cancelled, blocked int) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for x := range s.sessions {
		x.mu.Lock()
		if x.out.Blocked() {
			blocked++
		} else {
			cancelled += len(x.calls) + x.bare.pending
		}
		for c := range x.calls {
			c.cancel(errStopped)
		}
		x.mu.Unlock()
		x.bare.cancel(errStopped)
		go x.documents.close() // blocks if a client does not read
	}
	return cancelled, blocked
}

// Close releases the model and closes the index. All sessions must have ended.
func (s *Server) Close() error {
	s.batcher.Close()
	s.recovering.Wait()
	s.current().Retire()
	if s.index != nil {
		return s.index.Close()
	}
	return nil
}
