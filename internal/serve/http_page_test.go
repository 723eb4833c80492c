package serve

import (
	"fmt"
	"maps"
	"net/http"
	"os"
	"path"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/sftseq/sftseq/internal/must"
)

// httpPage is a page with examples: blocks of requests (">") and responses ("<"). A block's first
// line names the model that serves the requests. The word "index" in this line gives the server an
// index.
const httpPage = "../../docs/http.md"

var (
	httpBlock   = regexp.MustCompile("(?s)\n```http ([^\n]*)\n(.*?)```\n")
	httpRequest = regexp.MustCompile(`^> (GET|POST) (\S+) ?(.*)$`)
)

// TestHTTPPage replays every block of docs/http.md and compares the responses; -update rewrites the
// page. Each method must have an example.
func TestHTTPPage(t *testing.T) {
	text := must.Get(os.ReadFile(httpPage))(t)
	masked := maps.Clone(varying)
	masked["created"] = true
	covered := map[string]bool{}
	page := httpBlock.ReplaceAllStringFunc(string(text), func(block string) string {
		m := httpBlock.FindStringSubmatch(block)
		words, lines := strings.Fields(m[1]), strings.Split(strings.TrimSpace(m[2]), "\n")
		o := testOptions(t, words[0])
		if slices.Contains(words, "index") {
			o.Index = filepath.Join(t.TempDir(), "index.arrow")
		}
		w := startHTTP(t, o, HTTPOptions{})
		var got []string
		var checks []func(*apiDescription) // run last, because fetching /openapi.json changes /stats
		for _, line := range lines {
			if line[0] == '<' {
				continue
			}
			request := httpRequest.FindStringSubmatch(line)
			if request == nil {
				t.Fatalf("%s: %q, expected > GET or POST, a path and a body", httpPage, line)
			}
			covered[request[2]] = true
			// The last batch may still be running after its response.
			for request[2] == "/stats" && w.server.batcher.Stats().Running > 0 {
				time.Sleep(time.Millisecond)
			}
			r, body := w.send(request[1], request[2], request[3], "X-Request-Id", "example")
			checks = append(checks, func(api *apiDescription) { checkAgainstDescription(t, api, request, r, body) })
			masked["embedding"] = strings.Contains(request[3], base64Format) // the last bits depend on the CPU
			got = append(got, line, fmt.Sprintf("< %d %s", r.StatusCode, mask(t, body, masked)))
		}
		api := fetchDescription(w)
		for _, check := range checks {
			check(api)
		}
		if !*update {
			compareHTTP(t, got, lines)
		}
		return fmt.Sprintf("\n```http %s\n%s\n```\n", m[1], strings.Join(got, "\n"))
	})
	for name := range methods {
		if p := "/" + path.Base(name); !covered[p] {
			t.Errorf("%s: no example of %s", httpPage, p)
		}
	}
	if *update && !t.Failed() {
		must.Succeed(t, os.WriteFile(httpPage, []byte(page), 0o666))
	}
}

// checkAgainstDescription validates an example's request and response against /openapi.json.
func checkAgainstDescription(t *testing.T, api *apiDescription, request []string, r *http.Response, body string) {
	t.Helper()
	at, verb, response := request[2], strings.ToLower(request[1]), "responses/200"
	item, ok := api.paths()[at].(map[string]any)
	if strings.HasPrefix(at, "/v1/models/") {
		ok = true
	} else if ok {
		_, ok = item[verb]
	}
	switch {
	case !ok && r.StatusCode != 404 && r.StatusCode != 405:
		t.Errorf("%s %s: not in /openapi.json", verb, at)
	case !ok:
		return
	case r.StatusCode != 200:
		response = "responses/default"
	case request[3] != "":
		if err := api.validate(at, verb, "requestBody", request[3]); err != nil {
			t.Errorf("%s: request body: %v", request[0], err)
		}
	}
	if err := api.validate(at, verb, response, body); err != nil {
		t.Errorf("%s: response: %v\n%s", request[0], err, body)
	}
}

// compareHTTP compares the statuses and bodies of responses.
func compareHTTP(t *testing.T, got, want []string) {
	t.Helper()
	for i := range min(len(got), len(want)) {
		if g, w := got[i], want[i]; g[0] == '<' && w[0] == '<' && len(w) > 6 {
			if g[:6] != w[:6] {
				t.Errorf("got status\n%s\nwant\n%s", g, w)
			}
			got[i], want[i] = "< "+g[6:], "< "+w[6:]
		}
	}
	compareBlocks(t, got, want)
}
