package serve

import (
	"errors"
	"sync/atomic"
	"syscall"
	"time"
)

// allowances are how long a connection keeps its place where others wait for one.
type allowances struct {
	silent time.Duration // without a first message
	unread time.Duration // without reading what is written to it
	idle   time.Duration // without asking for anything
}

var usualAllowances = allowances{silent: time.Second, unread: 10 * time.Second, idle: time.Minute}

// activity is what a client has done of late.
type activity struct {
	heard   atomic.Bool  // a whole message has come
	reading atomic.Int64 // messages that came and are not accepted yet
	last    atomic.Pointer[time.Time]
}

// note has the session be active now.
func (a *activity) note() {
	now := time.Now()
	a.last.Store(&now)
}

// use is of how little use a session is: the least first.
type use int

const (
	saysNothing use = iota
	readsNothing
	asksNothing
	useful
)

// useAt is the use of a session, and since when it has been of no more.
func (s *session) useAt(now time.Time, a allowances) (use, time.Time) {
	last := *s.activity.last.Load()
	blocked := s.out.Since()
	switch {
	case s.stdio:
	case !s.activity.heard.Load() && now.Sub(last) >= a.silent:
		return saysNothing, last
	case !blocked.IsZero() && now.Sub(blocked) >= a.unread:
		return readsNothing, blocked
	case now.Sub(last) >= a.idle && s.hasNothing():
		return asksNothing, last
	}
	return useful, last
}

// hasNothing reports whether the session has neither open documents nor pending requests. It does not wait for the lock
// of the documents: a holder works on them.
func (s *session) hasNothing() bool {
	if !s.documents.mu.TryLock() {
		return false
	}
	open := len(s.documents.open)
	s.documents.mu.Unlock()
	s.mu.Lock()
	defer s.mu.Unlock()
	return open+len(s.calls)+s.bare.pending+s.pushes == 0 && s.activity.reading.Load() == 0
}

// evict takes the session of the least use out of the server's, for the caller to dismiss;
// nil if all are of use. The caller holds the server's lock.
func (s *Server) evict() *session {
	var least *session
	rank, since, now := useful, time.Time{}, time.Now()
	for x := range s.sessions {
		if u, t := x.useAt(now, s.allowances); u < rank || u == rank && u != useful && t.Before(since) {
			least, rank, since = x, u, t
		}
	}
	if least != nil {
		s.remove(least)
	}
	return least
}

// makeRoom ends the session of the least use, and reports whether there was one. The files
// that it had open are closed.
func (s *Server) makeRoom() bool {
	s.mu.Lock()
	x := s.evict()
	s.mu.Unlock()
	if x == nil {
		return false
	}
	x.dismiss(fail(codeBusy, retry{s.retryAfter()},
		"the server has as many files open as it may: this connection makes room"))
	<-x.gone
	return true
}

// dismiss sends the client the reason, if it still reads, and ends its session.
func (s *session) dismiss(why *Error) {
	// The end of the session frees what writes to a client that does not read.
	late := time.AfterFunc(s.server.grace, func() { s.end(why) })
	defer late.Stop()
	if !s.out.Blocked() {
		s.refuse(nil, why)
	}
	s.end(why)
}

// endWhenIdle ends the session when it has been idle for as long as may be.
func (s *session) endWhenIdle(after time.Duration) {
	look := time.NewTicker(max(after/8, time.Millisecond))
	defer look.Stop()
	for {
		select {
		case <-look.C:
			if u, _ := s.useAt(time.Now(), allowances{silent: after, unread: forever, idle: after}); u != useful {
				s.dismiss(fail(codeBusy, retry{s.server.retryAfter()},
					"nothing was asked for in %v, which --idle-timeout allows", after))
				return
			}
		case <-s.ctx.Done():
			return
		}
	}
}

const forever time.Duration = 1<<63 - 1

// tooManyFiles reports whether no file could be opened as too many are.
func tooManyFiles(err error) bool {
	return errors.Is(err, syscall.EMFILE) || errors.Is(err, syscall.ENFILE)
}
