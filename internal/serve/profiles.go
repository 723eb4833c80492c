package serve

import (
	"net"
	"net/http"
	"net/http/pprof"
	"sync"
)

// ServeProfiles serves the profiles of package [pprof] below /debug/pprof/ on the connections of l, until stop is
// called.
func ServeProfiles(l net.Listener) (stop func()) {
	mux := http.NewServeMux()
	mux.HandleFunc("/debug/pprof/", pprof.Index)
	mux.HandleFunc("/debug/pprof/cmdline", pprof.Cmdline)
	mux.HandleFunc("/debug/pprof/profile", pprof.Profile)
	mux.HandleFunc("/debug/pprof/symbol", pprof.Symbol)
	mux.HandleFunc("/debug/pprof/trace", pprof.Trace)
	h := &http.Server{Handler: mux}
	var served sync.WaitGroup
	served.Go(func() { h.Serve(l) })
	return func() {
		h.Close()
		served.Wait()
	}
}
