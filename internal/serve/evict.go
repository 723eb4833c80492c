package serve

import (
	"errors"
	"sync/atomic"
	"syscall"
	"time"
)

// allowances are the times for which a session is safe from eviction.
type allowances struct {
	silent time.Duration // before the first message
	unread time.Duration // while a write to the client blocks
	idle   time.Duration // since the last request
}

var usualAllowances = allowances{silent: time.Second, unread: 10 * time.Second, idle: time.Minute}

// activity is a client's recent activity.
type activity struct {
	heard   atomic.Bool  // a complete message has arrived
	reading atomic.Int64 // received messages that are not accepted yet
	last    atomic.Pointer[time.Time]
}

// note records that the session is active now.
func (a *activity) note() {
	now := time.Now()
	a.last.Store(&now)
}

// use is a session's rank for eviction. Lower ranks are evicted first.
type use int

const (
	saysNothing use = iota
	readsNothing
	asksNothing
	useful
)

// useAt returns the session's rank and the time since which it has had this rank.
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

// hasNothing reports whether the session has neither open documents nor pending requests. It does
// not block: if a lock is held, the documents are in use.
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

// evict removes and returns the session that ranks first for eviction, or returns nil. The caller
// dismisses the session and holds the server's lock.
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

// makeRoom ends the session that ranks first for eviction and closes its files. It returns false if
// no session can be evicted.
func (s *Server) makeRoom() bool {
	s.mu.Lock()
	x := s.evict()
	s.mu.Unlock()
	if x == nil {
		return false
	}
	x.dismiss(fail(codeBusy, retry{s.retryAfter()},
		"the server has reached its limit of open files: this connection was closed for a new one"))
	<-x.gone
	return true
}

// dismiss ends the session. A client that reads gets the reason first.
func (s *session) dismiss(why *Error) {
	// Ending the session unblocks a write to a client that does not read.
	late := time.AfterFunc(s.server.grace, func() { s.end(why) })
	defer late.Stop()
	if !s.out.Blocked() {
		s.refuse(nil, why)
	}
	s.end(why)
}

// endWhenIdle ends the session when it has been idle for the given time.
func (s *session) endWhenIdle(after time.Duration) {
	look := time.NewTicker(max(after/8, time.Millisecond))
	defer look.Stop()
	for {
		select {
		case <-look.C:
			if u, _ := s.useAt(time.Now(), allowances{silent: after, unread: forever, idle: after}); u != useful {
				s.dismiss(fail(codeBusy, retry{s.server.retryAfter()},
					"no request arrived within the %v of --idle-timeout", after))
				return
			}
		case <-s.ctx.Done():
			return
		}
	}
}

const forever time.Duration = 1<<63 - 1

// tooManyFiles reports whether an error means that too many files are open.
func tooManyFiles(err error) bool {
	return errors.Is(err, syscall.EMFILE) || errors.Is(err, syscall.ENFILE)
}
