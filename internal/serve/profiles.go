package serve

import (
	"fmt"
	"net"
	"net/http"
	"net/http/pprof"
	"sync"
)

// ServeProfiles serves the profiles of package [pprof] below /debug/pprof/ on l until stop is
// called. Over TCP it refuses requests with a foreign Host header (DNS rebinding).
func ServeProfiles(l net.Listener) (stop func()) {
	mux := http.NewServeMux()
	mux.HandleFunc("/debug/pprof/", pprof.Index)
	mux.HandleFunc("/debug/pprof/cmdline", pprof.Cmdline)
	mux.HandleFunc("/debug/pprof/profile", pprof.Profile)
	mux.HandleFunc("/debug/pprof/symbol", pprof.Symbol)
	mux.HandleFunc("/debug/pprof/trace", pprof.Trace)
	h := &http.Server{ReadHeaderTimeout: defaultTimeout,
		Handler: http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			if l.Addr().Network() != "unix" && !isLocalHost(r.Host) {
				http.Error(w, fmt.Sprintf("Host %q: expected localhost or an IP address", short(r.Host)),
					http.StatusMisdirectedRequest)
				return
			}
			mux.ServeHTTP(w, r)
		})}
	var served sync.WaitGroup
	served.Go(func() { h.Serve(l) })
	return func() {
		h.Close()
		served.Wait()
	}
}
