package serve

import (
	"errors"
	"sync/atomic"
	"syscall"
	"time"
)

// allowances are the times after which a session may be evicted.
type allowances struct {
	silent time.Duration // before the first message
	unread time.Duration // while a write to the client blocks
	idle   time.Duration // since the last request or response
}

var defaultAllowances = allowances{silent: time.Second, unread: 10 * time.Second, idle: time.Minute}

// activity is a client's recent activity.
type activity struct {
	heard   atomic.Bool  // a complete message, or the header of a valid, authorised HTTP request, has arrived
	reading atomic.Int64 // received messages that are not accepted yet
	last    atomic.Pointer[time.Time]
}

// note records that the session is active now.
func (a *activity) note() {
	now := time.Now()
	a.last.Store(&now)
}

// evictionRank is a session's rank for eviction. Lower ranks are evicted first; keptClient is never evicted.
type evictionRank int

const (
	silentClient evictionRank = iota
	blockedClient
	idleClient
	keptClient
)

// evictionRank returns the session's rank and the time since which the client has been silent, blocked
// or idle.
func (s *session) evictionRank(now time.Time, a allowances) (evictionRank, time.Time) {
	last := *s.activity.last.Load()
	blocked := s.out.BlockedSince()
	switch {
	case s.stdio:
	case !s.activity.heard.Load() && now.Sub(last) >= a.silent:
		return silentClient, last
	case !blocked.IsZero() && now.Sub(blocked) >= a.unread:
		return blockedClient, blocked
	case now.Sub(last) >= a.idle && s.isUnused():
		return idleClient, last
	}
	return keptClient, last
}

// isUnused reports whether the session has neither open documents nor pending requests. It does not
// wait for the documents' lock: while another goroutine holds the lock, the documents are in use.
func (s *session) isUnused() bool {
	if !s.documents.mu.TryLock() {
		return false
	}
	open := len(s.documents.open)
	s.documents.mu.Unlock()
	s.mu.Lock()
	defer s.mu.Unlock()
	return open+len(s.calls)+s.bare.pending+s.pushes == 0 && s.activity.reading.Load() == 0
}

// evict removes and returns the session that ranks first for eviction, or returns nil. The caller holds
// the server's lock and must dismiss the returned session.
func (s *Server) evict() *session {
	var first *session
	rank, since, now := keptClient, time.Time{}, time.Now()
	for x := range s.sessions {
		if r, t := x.evictionRank(now, s.allowances); r < rank || r == rank && r != keptClient && t.Before(since) {
			first, rank, since = x, r, t
		}
	}
	if first != nil {
		s.remove(first)
	}
	return first
}

// makeRoom ends the session that ranks first for eviction and waits until its connection is closed. It
// returns false if no session can be evicted.
func (s *Server) makeRoom() bool {
	s.mu.Lock()
	x := s.evict()
	s.mu.Unlock()
	if x == nil {
		return false
	}
	x.dismiss(fail(codeBusy, retryDelay{s.retryAfter()},
		"the server has reached its limit of open files: this connection was closed for a new one"))
	<-x.connectionClosed
	return true
}

// dismiss ends the session. A JSON-RPC client that reads gets the reason first.
func (s *session) dismiss(reason *Error) {
	// Ending the session unblocks a write to a client that does not read.
	timer := time.AfterFunc(s.server.grace, func() { s.end(reason) })
	defer timer.Stop()
	if !s.out.Blocked() {
		s.refuse(nil, reason)
	}
	s.end(reason)
}

// endWhenIdle ends the session when it has been idle, or silent since its start, for the given time.
func (s *session) endWhenIdle(after time.Duration) {
	ticker := time.NewTicker(max(after/8, time.Millisecond))
	defer ticker.Stop()
	for {
		select {
		case <-ticker.C:
			if rank, _ := s.evictionRank(time.Now(), allowances{silent: after, unread: forever,
				idle: after}); rank != keptClient {
				s.dismiss(fail(codeBusy, retryDelay{s.server.retryAfter()},
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
