package serve

import (
	"context"
	"net"
	"net/http"
	"slices"
	"sync"
	"sync/atomic"
)

// watcherListener accepts up to maxWatchers connections at a time. Above this limit, a new connection
// closes the oldest connection without a running response, or else the oldest connection. Slow clients
// therefore do not block other clients.
type watcherListener struct {
	net.Listener
	mu   sync.Mutex
	open []*watcher // in order of arrival
}

// watcher is a connection of a watcherListener.
type watcher struct {
	net.Conn
	listener   *watcherListener
	responding atomic.Bool // a response is being computed or written
}

// Accept returns the next connection.
func (l *watcherListener) Accept() (net.Conn, error) {
	conn, err := l.Listener.Accept()
	if err != nil {
		return nil, err
	}
	w := &watcher{Conn: conn, listener: l}
	l.mu.Lock()
	var evicted *watcher
	if len(l.open) == maxWatchers {
		at := slices.IndexFunc(l.open, func(w *watcher) bool { return !w.responding.Load() })
		evicted = l.open[max(at, 0)]
		l.open = slices.Delete(l.open, max(at, 0), max(at, 0)+1)
	}
	l.open = append(l.open, w)
	l.mu.Unlock()
	if evicted != nil {
		evicted.Conn.Close()
	}
	return w, nil
}

// Close closes the connection and frees its slot.
func (w *watcher) Close() error {
	w.listener.mu.Lock()
	w.listener.open = slices.DeleteFunc(w.listener.open, func(o *watcher) bool { return o == w })
	w.listener.mu.Unlock()
	return w.Conn.Close()
}

type watcherKey struct{}

// withWatcher adds a connection to the context of its requests, for markResponding.
func withWatcher(ctx context.Context, c net.Conn) context.Context {
	return context.WithValue(ctx, watcherKey{}, c)
}

// markResponding wraps h and marks a request's connection while h runs.
func markResponding(h http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		conn := r.Context().Value(watcherKey{}).(*watcher)
		conn.responding.Store(true)
		defer conn.responding.Store(false)
		h.ServeHTTP(w, r)
	})
}
