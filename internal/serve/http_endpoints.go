package serve

import (
	"bytes"
	"net/http"
	"path"
	"slices"
	"strings"
)

// healthPath is the path for health probes; healthAlias is the path in Text Embeddings Inference's API.
const (
	healthPath  = "/healthz"
	healthAlias = "/health"
)

func isHealth(path string) bool { return path == healthPath || path == healthAlias }

// embeddingsPath is the path of OpenAI's embeddings API.
const embeddingsPath = "/v1/embeddings"

// describingMethods are the methods without params that describe the server. Over HTTP they use GET.
var describingMethods = map[string]bool{"model/info": true, "server/stats": true}

// endpoints returns the handlers of all paths. Each JSON-RPC method in methods has a path with the same
// request and result; the path is the last part of the method's name. Other paths implement APIs of
// OpenAI, Cohere and Text Embeddings Inference, describe the API, or serve monitoring.
func (g *gateway) endpoints() *http.ServeMux {
	mux := http.NewServeMux()
	handle := func(verb, pattern string, h http.HandlerFunc) {
		mux.HandleFunc(verb+" "+pattern, h)
		allow := verb
		if verb == http.MethodGet {
			allow = "GET, HEAD"
		}
		mux.HandleFunc(pattern, g.handler(func(x *exchange) { // all other HTTP methods
			e := webFailure(http.StatusMethodNotAllowed, "", "method_not_allowed", "%s: expected %s, found %s",
				short(x.r.URL.Path), verb, short(x.r.Method))
			e.allow = allow
			x.refuse(e)
		}))
	}
	for name := range methods {
		verb := http.MethodPost
		if describingMethods[name] {
			verb = http.MethodGet
		}
		result := (*call).result
		if name == embedMethod {
			result = (*call).embedOrInputs
		}
		handle(verb, "/"+path.Base(name), g.handler(func(x *exchange) { x.call(name, result) }))
	}
	handle(http.MethodPost, embeddingsPath, g.handler(func(x *exchange) {
		x.call(embedMethod, func(c *call) (any, error) { return c.embeddings(!g.options.Raw) })
	}))
	for _, pattern := range rerankPaths {
		handle(http.MethodPost, pattern, g.handler(func(x *exchange) {
			x.call(rerankMethod, func(c *call) (any, error) { return c.rerank(x.id) })
		}))
	}
	handle(http.MethodGet, "/v1/models", g.handler(func(x *exchange) { x.call("model/info", (*call).models) }))
	handle(http.MethodGet, "/v1/models/{id...}", g.handler(func(x *exchange) {
		id := x.r.PathValue("id")
		x.call("model/info", func(c *call) (any, error) { return c.namedModel(id) })
	}))
	handle(http.MethodGet, openAPIPath, g.handler((*exchange).describe))
	watched := g.server.Metrics()
	for _, pattern := range []string{healthPath, healthAlias, "/metrics"} {
		handle(http.MethodGet, pattern, g.handler(func(x *exchange) { x.watch(watched) }))
	}
	mux.HandleFunc("/", g.handler((*exchange).unknown))
	return mux
}

// unknown responds with 404 and the list of paths.
func (x *exchange) unknown() {
	x.refuse(webFailure(http.StatusNotFound, "", "unknown_url", "no path %q, expected one of %s", short(x.r.URL.Path),
		strings.Join(paths(), ", ")))
}

// paths returns all paths except /v1/models/NAME, in sorted order.
func paths() []string {
	all := append([]string{embeddingsPath, "/v1/models", openAPIPath, healthPath, healthAlias,
		"/metrics"}, rerankPaths...)
	for name := range methods {
		all = append(all, "/"+path.Base(name))
	}
	slices.Sort(all)
	return all
}

// watch responds to a monitoring request with the page of h.
func (x *exchange) watch(h http.Handler) {
	if _, refused := x.read(); refused != nil {
		x.refuse(refused)
		return
	}
	var page responseRecorder
	page.header = x.w.Header()
	h.ServeHTTP(&page, x.r)
	x.write(max(page.status, http.StatusOK), page.header.Get("Content-Type"), page.body.Bytes())
}

// responseRecorder is a ResponseWriter that keeps the page in memory.
type responseRecorder struct {
	header http.Header
	status int
	body   bytes.Buffer
}

func (p *responseRecorder) Header() http.Header         { return p.header }
func (p *responseRecorder) WriteHeader(status int)      { p.status = status }
func (p *responseRecorder) Write(b []byte) (int, error) { return p.body.Write(b) }
