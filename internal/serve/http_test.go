package serve

import (
	"bytes"
	"context"
	"encoding/base64"
	"encoding/binary"
	"encoding/json"
	"fmt"
	"io"
	"math"
	"net"
	"net/http"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/sftseq/sftseq/internal/must"
	"github.com/sftseq/sftseq/internal/testenv"
)

// web is a test's HTTP client and the server that it reaches.
type web struct {
	t      testing.TB
	server *Server
	addr   string
	client *http.Client
	token  string
}

// startHTTP starts a server and serves HTTP until the test ends.
func startHTTP(t testing.TB, o Options, h HTTPOptions) *web {
	t.Helper()
	return serveHTTP(t, startServer(t, o), h)
}

// serveHTTP serves HTTP with a started server until the test ends.
func serveHTTP(t testing.TB, s *Server, h HTTPOptions) *web {
	t.Helper()
	l := must.Get(net.Listen("tcp", "127.0.0.1:0"))(t)
	ctx, cancel := context.WithCancel(context.Background())
	served := make(chan error, 1)
	go func() { served <- s.ServeHTTP(ctx, l, h) }()
	w := &web{t: t, server: s, addr: l.Addr().String(),
		client: &http.Client{Transport: &http.Transport{MaxIdleConnsPerHost: 100}, Timeout: time.Minute}}
	t.Cleanup(func() {
		w.client.CloseIdleConnections()
		cancel()
		late, done := context.WithTimeout(context.Background(), 20*time.Second)
		defer done()
		s.Drain(late)
		must.Check(t, <-served)
	})
	return w
}

// send sends a request with pairs of header names and values. It returns the response and its body.
func (w *web) send(verb, path, body string, headers ...string) (*http.Response, string) {
	w.t.Helper()
	var in io.Reader
	if body != "" {
		in = strings.NewReader(body)
	}
	r, err := http.NewRequest(verb, "http://"+w.addr+path, in)
	if err != nil {
		w.t.Fatal(err)
	}
	if body != "" {
		r.Header.Set("Content-Type", "application/json")
	}
	if w.token != "" {
		r.Header.Set("Authorization", "Bearer "+w.token)
	}
	for i := 0; i < len(headers); i += 2 {
		if headers[i] == "Host" {
			r.Host = headers[i+1]
			continue
		}
		r.Header.Set(headers[i], headers[i+1])
	}
	response, err := w.client.Do(r)
	if err != nil {
		w.t.Errorf("%s %s %.100s: %v", verb, path, body, err)
		return &http.Response{Header: http.Header{}}, ""
	}
	defer response.Body.Close()
	got, err := io.ReadAll(response.Body)
	if err != nil {
		w.t.Errorf("%s %s %.100s: %v", verb, path, body, err)
	}
	return response, string(got)
}

// post sends a POST request, expects status 200 with JSON, and returns the body.
func (w *web) post(path, body string) string {
	w.t.Helper()
	r, got := w.send("POST", path, body)
	if r.StatusCode != http.StatusOK || r.Header.Get("Content-Type") != "application/json" {
		w.t.Errorf("%s %.200s: got %s, %.300s, want 200 and JSON", path, body, r.Status, got)
	}
	return got
}

// TestHTTPAsJSONRPC checks that a method's HTTP response has the same bytes as its JSON-RPC result.
func TestHTTPAsJSONRPC(t *testing.T) {
	for _, c := range []struct{ model, method, params string }{
		{"pre", "sequence/classify", `{"text":"[MAX 2 9 ]"}`},
		{"pre", "sequence/classify", `{"sequences":[{"tokens":[7]},{"tokens":[]},{"bytes":"W01BWCAyIDkgXQ=="}]}`},
		{"pre", "sequence/classify", `{"tokens":[1,2,3,4,5,6],"window":{"policy":"sliding","length":3}}`},
		{"pre", "sequence/embed", `{"text":"[MAX 2 9 ]"}`},
		{"retrieval", "retrieval/score", `{"text_a":"one","tokens_b":[5,6]}`},
		{"retrieval", "retrieval/score", `{"pairs":[{"text_a":"one","text_b":"two"},{"text_a":"one"}]}`},
		{"regression", "sequence/predict", `{"tokens":[1,2,3]}`},
		{"multilabel", "sequence/labels", `{"tokens":[1,2,3]}`},
		{"tagging", "sequence/tag", `{"tokens":[1,2,3]}`},
	} {
		w := startHTTP(t, testOptions(t, c.model), HTTPOptions{})
		j := dial(t, w.server).initialize(struct{}{})
		var want json.RawMessage
		j.call(1, c.method, json.RawMessage(c.params), &want)
		if got := w.post(c.method[strings.LastIndex(c.method, "/"):], c.params); got != string(want) {
			t.Errorf("%s %s: got over HTTP %s\nwant the result of JSON-RPC %s", c.method, c.params, got, want)
		}
	}
}

// TestHTTPIndex checks /add, /search and /remove over HTTP.
func TestHTTPIndex(t *testing.T) {
	w := startHTTP(t, optionsWithIndex(t, "pre"), HTTPOptions{})
	w.post("/add", `{"items":[{"id":"a","tokens":[1,2,3]},{"id":"b","tokens":[9,9]}]}`)
	var found searchResult
	decode(t, []byte(w.post("/search", `{"tokens":[9,9],"k":1}`)), &found)
	if len(found.Items) != 1 || found.Items[0].ID != "b" || found.Items[0].Cosine < 1-1e-9 {
		t.Errorf("got %+v, want item b with cosine 1", found)
	}
	w.post("/remove", `{"ids":["b"]}`)
	if got := w.post("/search", `{"tokens":[9,9]}`); !strings.Contains(got, `"a"`) || strings.Contains(got, `"b"`) {
		t.Errorf("after removing item b: got %s, want only item a", got)
	}
}

// TestEmbeddings checks that /v1/embeddings without normalization returns the model's vectors bit for
// bit, for each form of input and both formats.
func TestEmbeddings(t *testing.T) {
	w := startHTTP(t, testOptions(t, "pre"), HTTPOptions{Raw: true})
	m := w.server.acquire()
	defer m.Done()
	tokens := func(text string) []int32 {
		return must.Get(m.parser.Encode(text))(t)
	}
	a, b := "[MAX 2 9 ]", "[MIN [SM 4 7 ] 3 ]"
	for _, c := range []struct {
		input any
		want  [][]int32
	}{
		{a, [][]int32{tokens(a)}},
		{[]string{a}, [][]int32{tokens(a)}},
		{[]string{a, b, a}, [][]int32{tokens(a), tokens(b), tokens(a)}},
		{tokens(b), [][]int32{tokens(b)}},
		{[][]int32{tokens(b), {3}}, [][]int32{tokens(b), {3}}},
	} {
		want := must.Get(m.Scorer.Embeddings(context.Background(), c.want))(t)
		for _, format := range []string{"", floatFormat, base64Format} {
			request := map[string]any{"model": "pre", "input": c.input, "user": "somebody"}
			if format != "" {
				request["encoding_format"] = format
			}
			body, _ := json.Marshal(request)
			var got struct {
				Object, Model string
				Data          []struct {
					Object    string
					Index     int
					Embedding json.RawMessage
				}
				Usage map[string]int
			}
			decode(t, []byte(w.post("/v1/embeddings", " "+string(body)+"\n")), &got)
			n := 0
			for _, sequence := range c.want {
				n += len(sequence)
			}
			if got.Object != "list" || got.Model != "pre" || len(got.Data) != len(want) ||
				got.Usage["prompt_tokens"] != n || got.Usage["total_tokens"] != n {
				t.Fatalf("%s: got %s of %d, model %s, usage %v; want list of %d, pre, %d prompt and total tokens",
					body, got.Object, len(got.Data), got.Model, got.Usage, len(want), n)
			}
			for i, x := range got.Data {
				if v := vector(t, format, x.Embedding); x.Object != "embedding" || x.Index != i ||
					!slices.Equal(v, want[i]) {
					t.Errorf("%s: vector %d: got %v, want %v", body, i, v, want[i])
				}
			}
		}
	}
}

// vector decodes float32 values in the given encoding_format.
func vector(t testing.TB, format string, value json.RawMessage) (v []float32) {
	t.Helper()
	if format != base64Format {
		decode(t, value, &v)
		return v
	}
	var text string
	decode(t, value, &text)
	raw := must.Get(base64.StdEncoding.DecodeString(text))(t)
	for i := 0; i+4 <= len(raw); i += 4 {
		v = append(v, math.Float32frombits(binary.LittleEndian.Uint32(raw[i:])))
	}
	return v
}

// TestEmbeddingsOfAPart checks that usage counts only the tokens that a truncating model reads.
func TestEmbeddingsOfAPart(t *testing.T) {
	w := startHTTP(t, truncatingOptions(t, "pre"), HTTPOptions{})
	body, _ := json.Marshal(map[string]any{"model": "pre", "input": repeatedToken(5000)})
	if got := w.post("/v1/embeddings", string(body)); !strings.HasSuffix(got,
		`"usage":{"prompt_tokens":4096,"total_tokens":4096}}`) {
		t.Errorf("got ...%s, want a usage of 4096 tokens", got[max(0, len(got)-100):])
	}
}

// TestHTTPErrors checks the status, message, param and code of errors, in OpenAI's format.
func TestHTTPErrors(t *testing.T) {
	o := testOptions(t, "pre")
	o.MaxLine = 1 << 16
	w := startHTTP(t, o, HTTPOptions{})
	const embeddings = "/v1/embeddings"
	long, _ := json.Marshal(map[string]any{"model": "pre", "input": []any{[]int{1}, repeatedToken(5000)}})
	for _, c := range []struct {
		verb, path, body string
		status           int
		message, param   string
		code             string
	}{
		{"POST", embeddings, `{"model":"pre"}`, 400, "input: expected a string", "input", ""},
		{"POST", embeddings, `{"model":"pre","input":null}`, 400, "input: expected a string", "input", ""},
		{"POST", embeddings, `{"input":"1"}`, 400, `model: expected "pre"`, "model", ""},
		{"POST", embeddings, `{"model":7,"input":"1"}`, 400, "model: ", "model", ""},
		{"POST", embeddings, `{"model":"gpt","input":"1"}`, 404, `no model "gpt"`, "model", "model_not_found"},
		{"POST", embeddings, `{"model":"pre","input":[]}`, 400, "found an empty list", "input", ""},
		{"POST", embeddings, `{"model":"pre","input":{}}`, 400, "found an object", "input", ""},
		{"POST", embeddings, `{"model":"pre","input":[true]}`, 400,
			"input[0]: expected a string, a token id", "input[0]", ""},
		{"POST", embeddings, `{"model":"pre","input":["1",2]}`, 400,
			"input[1]: expected a string like the first element, found 2", "input[1]", ""},
		{"POST", embeddings, `{"model":"pre","input":[[1],"2"]}`, 400,
			"input[1]: expected a list of token ids", "input[1]", ""},
		{"POST", embeddings, `{"model":"pre","input":[1,"2"]}`, 400,
			"input: index 1: expected a token id", "input", ""},
		{"POST", embeddings, `{"model":"pre","input":""}`, 400, "input: expected at least 1 token", "input", ""},
		{"POST", embeddings, `{"model":"pre","input":["1",""]}`, 400,
			"input[1]: expected at least 1 token", "input[1]", ""},
		{"POST", embeddings, `{"model":"pre","input":[[99]]}`, 400, "input[0]: token 99", "input[0]", ""},
		{"POST", embeddings, string(long), 400, "input[1]: ", "input[1]", "context_length_exceeded"},
		{"POST", embeddings, `{"model":"pre","input":"1","encoding_format":"int8"}`, 400,
			`encoding_format: expected "float" or "base64"`, "encoding_format", ""},
		{"POST", embeddings, `{"model":"pre","input":"1","dimensions":8}`, 400,
			"dimensions: expected the model's 32 dimensions, found 8", "dimensions", ""},
		{"POST", embeddings, `{"model":"pre","input":"1","dimensions":"8"}`, 400,
			"dimensions: expected a whole number", "dimensions", ""},
		{"POST", embeddings, `{"model":"pre","input":"1","input":"2"}`, 400, "input occurs twice", "", ""},
		{"POST", embeddings, `{"model":"pre","input":"\ud83d"}`, 400, "input: ", "input", ""},
		{"POST", embeddings, `{"model":`, 400, "malformed JSON", "", ""},
		{"POST", embeddings, "{\"model\":\"\xff\"}", 400, "not UTF-8", "", ""},
		{"POST", embeddings, strings.Repeat("[", 60000), 400, "malformed JSON", "", ""},
		{"POST", embeddings, `{"input":` + strings.Repeat(`{"a":`, 12000), 400, "malformed JSON", "", ""},
		{"POST", embeddings, `[]`, 400, "expected a JSON object", "", ""},
		{"POST", embeddings, " ", 400, "malformed JSON", "", ""},
		{"POST", "/classify", `{"text":"` + strings.Repeat("1 ", 1<<16) + `"}`, 413,
			"longer than the 65536 bytes of --max-line", "", ""},
		{"POST", "/classify", `{"uri":"file:///x"}`, 400,
			"documents exist only in JSON-RPC: pass text, tokens or bytes", "uri", ""},
		{"POST", "/classify", `{"text":5}`, 400, "text: ", "text", ""},
		{"POST", "/classify", `{}`, 400, "text: expected text, tokens or bytes, found none", "text", ""},
		{"POST", "/classify", `{"text":"1","text":"2"}`, 400, "body: the field text occurs twice", "body", ""},
		{"POST", "/classify", `{"sequences":[{"text":"1"}],"partialResultToken":1}`, 400,
			"partialResultToken: HTTP returns a single response", "partialResultToken", ""},
		{"POST", "/score", `{"text_a":"1","text_b":"2"}`, 404, "use /classify", "", ""},
		{"POST", "/predict", `{"text":"1"}`, 404, "use /classify", "", ""},
		{"POST", "/search", `{"text":"1"}`, 404, "the server has no index", "", ""},
		{"GET", "/classify", "", 405, "/classify: expected POST, found GET", "", "method_not_allowed"},
		{"POST", "/v1/models", "{}", 405, "/v1/models: expected GET, found POST", "", "method_not_allowed"},
		{"GET", "/v1/models/gpt", "", 404, `no model "gpt"`, "model", "model_not_found"},
		{"GET", "/nowhere", "", 404, "no path \"/nowhere\", expected one of", "", "unknown_url"},
		{"GET", "/v1/models/", "", 404, "no path \"/v1/models/\"", "", "unknown_url"},
		{"GET", "/info/", "", 404, "no path \"/info/\"", "", "unknown_url"},
		{"GET", "/info", "{}", 400, "expected no body", "", ""},
		{"GET", "/v1/models/" + strings.Repeat("x", 200), "{}", 400,
			"/v1/models/" + strings.Repeat("x", 69) + ": expected no body", "", ""},
	} {
		r, got := w.send(c.verb, c.path, c.body)
		expectWebError(t, fmt.Sprintf("%s %s %.60s", c.verb, c.path, c.body), r, got, c.status,
			c.message, c.param, c.code)
	}
	eventually(t, "there are not two errors -32001", func() bool { return w.server.stats().Errors["-32001"] == 2 })
	for header, want := range map[[2]string]int{
		{"Content-Type", "text/plain"}:                           415, // a page may send it without a preflight
		{"Content-Type", "application/x-www-form-urlencoded"}:    415,
		{"Content-Type", "application/json; charset=iso-8859-1"}: 415,
		{"Content-Type", "application/json; charset=UTF-8"}:      200,
		{"Content-Encoding", "gzip"}:                             415,
		{"Content-Encoding", "Identity"}:                         200,
		{"Host", "rebound.example"}:                              421,
		{"Host", "localhost:80"}:                                 200,
		{"Host", "[::1]:80"}:                                     200,
	} {
		if r, got := w.send("POST", "/classify", `{"tokens":[1]}`, header[0], header[1]); r.StatusCode != want {
			t.Errorf("%s: got %s, want %d: %s", header, r.Status, want, got)
		}
	}
	for header, want := range map[[2]string]string{
		{"Content-Type", "text/plain"}: `header Content-Type: expected application/json, found "text/plain"`,
		{"Content-Type", ""}:           "header Content-Type: expected application/json, found none",
		{"Content-Encoding", "gzip"}:   `header Content-Encoding: expected none, found "gzip"`,
	} {
		r, got := w.send("POST", "/classify", `{"tokens":[1]}`, header[0], header[1])
		expectWebError(t, fmt.Sprint(header), r, got, 415, want, "", "")
	}
}

// expectWebError checks the status and the fields of an error response. message is a part of the
// expected error message. name describes the request.
func expectWebError(t testing.TB, name string, r *http.Response, got string, status int,
	message, param, code string) {
	t.Helper()
	var e struct {
		Error *struct {
			Message, Type string
			Param, Code   *string
		}
	}
	if json.Unmarshal([]byte(got), &e) != nil || e.Error == nil {
		t.Errorf("%s: got %s %.300s, want an error object", name, r.Status, got)
		return
	}
	text := func(s *string) string {
		if s == nil {
			return ""
		}
		return *s
	}
	if r.StatusCode != status || !strings.Contains(e.Error.Message, message) || text(e.Error.Param) != param ||
		text(e.Error.Code) != code ||
		(e.Error.Type == kindRequest) != (status < 500 && status != 429) {
		t.Errorf("%s: got %d %s; want %d, %q, param %q, code %q", name, r.StatusCode, got,
			status, message, param, code)
	}
}

// TestHTTPToken checks that requests without a valid token are refused, except for health checks.
func TestHTTPToken(t *testing.T) {
	w := startHTTP(t, testOptions(t, "pre"), HTTPOptions{Tokens: NewTokens("another-of-them-0", "0123456789abcdef")})
	w.token = "0123456789abcdef"
	for header, want := range map[string]int{
		"": 401, "Bearer": 401, "Bearer ": 401, "Bearer 0123456789abcde": 401, "Bearer 0123456789abcdef0": 401,
		"Basic 0123456789abcdef": 401,
		"0123456789abcdef":       401, "Bearer 0123456789ABCDEF": 401, "Bearer 0123456789abcdef": 200,
		"bearer  0123456789abcdef ": 200,
	} {
		r, got := w.send("POST", "/classify", `{"tokens":[1]}`, "Authorization", header, "Host", "model.example")
		if r.StatusCode != want {
			t.Errorf("Authorization %q: got %s, want %d", header, r.Status, want)
		}
		if want == 401 {
			found := "another Authorization header"
			if header == "" {
				found = "no Authorization header"
			}
			expectWebError(t, header, r, got, 401,
				`expected the header "Authorization: Bearer TOKEN" with a token of `+
					"the server's --http-token, found "+found, "", "invalid_api_key")
			if r.Header.Get("WWW-Authenticate") != "Bearer" {
				t.Errorf("Authorization %q: got header %v, want WWW-Authenticate: Bearer", header, r.Header)
			}
		}
	}
	for path, want := range map[string]int{"/healthz": 200, "/metrics": 401, "/nowhere": 401, "/v1/models": 401} {
		if r, _ := w.send("GET", path, "", "Authorization", ""); r.StatusCode != want {
			t.Errorf("%s: got %s, want %d", path, r.Status, want)
		}
	}
	if r, _ := w.send("GET", "/v1/models", ""); r.StatusCode != 200 {
		t.Errorf("/v1/models with a valid token: got %s, want 200", r.Status)
	}
}

// TestHTTPGet checks GET and HEAD of the paths for models, info, stats, health and metrics.
func TestHTTPGet(t *testing.T) {
	w := startHTTP(t, testOptions(t, "pre"), HTTPOptions{})
	w.post("/classify", `{"tokens":[1]}`)
	for path, want := range map[string]string{
		"/v1/models": `"id":"pre","object":"model"`, "/v1/models/pre": `"object":"model"`,
		"/info": `"longestLength":4096`, "/stats": `"sequence/classify":1`,
		"/healthz": "ok\n", "/metrics": `sftseq_http_responses_total{status="200"}`,
	} {
		r, got := w.send("GET", path, "")
		if r.StatusCode != 200 || !strings.Contains(got, want) {
			t.Errorf("%s: got %s, %.300s, want 200 with %q", path, r.Status, got, want)
		}
		if kind := r.Header.Get("Content-Type"); !regexp.MustCompile(`^(application/json$|text/plain; )`).MatchString(kind) {
			t.Errorf("%s: got Content-Type %q, want JSON or plain text", path, kind)
		}
		if r, got := w.send("HEAD", path, ""); r.StatusCode != 200 || got != "" {
			t.Errorf("HEAD %s: got %s, %q, want an empty body", path, r.Status, got)
		}
	}
}

// FuzzEmbeddings checks parseEmbeddings with arbitrary bodies. It must return either an error with a
// message, or a request whose params contain all sequences of the body in order.
func FuzzEmbeddings(f *testing.F) {
	for _, body := range []string{
		`{"model":"pre","input":"a"}`, `{"input":["a","b"],"encoding_format":"base64"}`, `{"input":[1,2,3]}`,
		`{"input":[[1],[2,3]],"dimensions":32}`,
		`{"input":[]}`, `{"input":[[],[]]}`, `{"input":["a",1]}`, `{"input":[-1,"x"]}`, `{"input":null}`,
		`{"in\u0070ut":"\ud83d"}`, `{"input":"a","input":1}`, `[`, `{"input":{"a":[1]}}`,
	} {
		f.Add([]byte(body))
	}
	f.Fuzz(func(t *testing.T, body []byte) {
		defer testenv.FuzzLimits(t, 1<<20+1000*len(body))()
		if checkObject(body) != nil {
			return
		}
		r, err := parseEmbeddings(body)
		if err != nil {
			if e := asError(err); e.Message == "" || e.Code != codeParams && e.Code != codeInvalidRequest {
				t.Fatalf("%s: got error %+v, want a message and code %d or %d", body, e, codeParams, codeInvalidRequest)
			}
			return
		}
		params := r.params()
		if len(params) > r.bytes() {
			t.Fatalf("params have %d bytes, want at most the %d bytes that bytes returns", len(params), r.bytes())
		}
		var got struct{ Sequences []map[string]json.RawMessage }
		decode(t, params, &got)
		var fields map[string]json.RawMessage
		decode(t, body, &fields)
		var list []json.RawMessage
		if r.single {
			list = []json.RawMessage{fields["input"]}
		} else {
			decode(t, fields["input"], &list)
		}
		if len(list) != len(got.Sequences) {
			t.Fatalf("%s: got params %s, want %d sequences", body, params, len(list))
		}
		for i, value := range list {
			if found := got.Sequences[i][r.field]; !bytes.Equal(bytes.TrimSpace(found), bytes.TrimSpace(value)) {
				t.Fatalf("%s: sequence %d: got %s, want %s", body, i, found, value)
			}
		}
	})
}
