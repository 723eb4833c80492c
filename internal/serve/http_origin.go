package serve

import (
	"net/http"
	"slices"
)

// anyOrigin allows every page to use the server.
const anyOrigin = "*"

// allowOrigin sets the CORS headers if the request comes from a page of an allowed origin. It
// responds to a preflight, which browsers send without a token, and then returns true.
func (x *exchange) allowOrigin() (responded bool) {
	origin, h := x.r.Header.Get("Origin"), x.w.Header()
	allowed := x.gateway.options.Origins
	if len(allowed) == 0 {
		return false
	}
	h.Add("Vary", "Origin")
	if origin == "" || !slices.Contains(allowed, origin) && !slices.Contains(allowed, anyOrigin) {
		return false
	}
	h.Set("Access-Control-Allow-Origin", origin)
	h.Set("Access-Control-Expose-Headers", requestIDHeader+", "+traceParentHeader+", Retry-After, Retry-After-Ms")
	if x.r.Method != http.MethodOptions || x.r.Header.Get("Access-Control-Request-Method") == "" {
		return false
	}
	h.Set("Access-Control-Allow-Methods", "GET, HEAD, POST")
	if names := x.r.Header.Get("Access-Control-Request-Headers"); names != "" {
		h.Set("Access-Control-Allow-Headers", names)
	}
	if x.r.Header.Get("Access-Control-Request-Private-Network") == "true" {
		h.Set("Access-Control-Allow-Private-Network", "true")
	}
	h.Set("Access-Control-Max-Age", "600")
	x.write(http.StatusOK, "text/plain; charset=utf-8", nil)
	return true
}
