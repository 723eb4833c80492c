package serve

import (
	"fmt"
	"maps"
	"os"
	"path"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/sftseq/sftseq/internal/must"
)

// httpPage has blocks of requests (">") and answers ("<"), whose first line names the model,
// and may ask for an index.
const httpPage = "../../docs/http.md"

var (
	httpBlock   = regexp.MustCompile("(?s)\n```http ([^\n]*)\n(.*?)```\n")
	httpRequest = regexp.MustCompile(`^> (GET|POST) (\S+) ?(.*)$`)
)

// TestHTTPPage replays every block of docs/http.md. With -update the answers are written
// anew. Each path is there.
func TestHTTPPage(t *testing.T) {
	text := must.Get(os.ReadFile(httpPage))(t)
	masked := maps.Clone(varying)
	masked["created"] = true
	asked := map[string]bool{}
	page := httpBlock.ReplaceAllStringFunc(string(text), func(block string) string {
		m := httpBlock.FindStringSubmatch(block)
		words, lines := strings.Fields(m[1]), strings.Split(strings.TrimSpace(m[2]), "\n")
		o := testOptions(t, words[0])
		if slices.Contains(words, "index") {
			o.Index = filepath.Join(t.TempDir(), "index.arrow")
		}
		w := startHTTP(t, o, HTTPOptions{})
		var got []string
		for _, line := range lines {
			if line[0] == '<' {
				continue
			}
			request := httpRequest.FindStringSubmatch(line)
			if request == nil {
				t.Fatalf("%s: %q, expected > GET or POST, a path and a body", httpPage, line)
			}
			asked[request[2]] = true
			r, answer := w.send(request[1], request[2], request[3], "X-Request-Id", "example")
			masked["embedding"] = strings.Contains(request[3], base64Format) // whose last bits depend on the processor
			got = append(got, line, fmt.Sprintf("< %d %s", r.StatusCode, mask(t, answer, masked)))
		}
		if !*update {
			compareHTTP(t, got, lines)
		}
		return fmt.Sprintf("\n```http %s\n%s\n```\n", m[1], strings.Join(got, "\n"))
	})
	for name := range methods {
		if p := "/" + path.Base(name); !asked[p] {
			t.Errorf("%s: no example of %s", httpPage, p)
		}
	}
	if *update && !t.Failed() {
		must.Succeed(t, os.WriteFile(httpPage, []byte(page), 0o666))
	}
}

// compareHTTP compares requests and answers, with their statuses.
func compareHTTP(t *testing.T, got, want []string) {
	t.Helper()
	for i := range min(len(got), len(want)) {
		if g, w := got[i], want[i]; g[0] == '<' && w[0] == '<' && len(w) > 6 {
			if g[:6] != w[:6] {
				t.Errorf("%s\nexpected\n%s", g, w)
			}
			got[i], want[i] = "< "+g[6:], "< "+w[6:]
		}
	}
	compareBlocks(t, got, want)
}
