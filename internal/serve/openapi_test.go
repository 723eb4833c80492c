package serve

import (
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/santhosh-tekuri/jsonschema/v6"

	"github.com/sftseq/sftseq/internal/must"
)

// openAPISchema is the JSON Schema of OpenAPI 3.1 documents published by the OpenAPI Initiative.
const openAPISchema = "testdata/openapi-3.1-schema.json"

// apiDescription is a parsed /openapi.json with a compiler for its schemas.
type apiDescription struct {
	t        testing.TB
	document map[string]any
	compiler *jsonschema.Compiler
}

// fetchDescription fetches and validates /openapi.json.
func fetchDescription(w *web) *apiDescription {
	w.t.Helper()
	r, text := w.send("GET", openAPIPath, "")
	if r.StatusCode != 200 {
		w.t.Fatalf("%s: got %s %s, want 200", openAPIPath, r.Status, text)
	}
	return parseDescription(w.t, text)
}

func parseDescription(t testing.TB, text string) *apiDescription {
	t.Helper()
	document := must.Get(jsonschema.UnmarshalJSON(strings.NewReader(text)))(t)
	c := jsonschema.NewCompiler()
	f := must.Get(os.Open(openAPISchema))(t)
	defer f.Close()
	must.Succeed(t, c.AddResource("openapi.json", must.Get(jsonschema.UnmarshalJSON(f))(t)))
	if err := must.Get(c.Compile("openapi.json"))(t).Validate(document); err != nil {
		t.Errorf("invalid OpenAPI document: %v\n%s", err, text)
	}
	must.Succeed(t, c.AddResource("document.json", document))
	d := &apiDescription{t, document.(map[string]any), c}
	for at, item := range d.paths() {
		for verb, operation := range item.(map[string]any) {
			if operation.(map[string]any)["requestBody"] != nil {
				d.schema(at, verb, "requestBody")
			}
			for status := range operation.(map[string]any)["responses"].(map[string]any) {
				d.schema(at, verb, "responses/"+status)
			}
		}
	}
	return d
}

func (d *apiDescription) paths() map[string]any { return d.document["paths"].(map[string]any) }

// schema compiles the JSON Schema of a request or response body.
func (d *apiDescription) schema(at, verb, body string) *jsonschema.Schema {
	d.t.Helper()
	kind := "application~1json"
	if body == "responses/200" && slices.Contains([]string{healthPath, healthAlias, "/metrics"}, at) {
		kind = "text~1plain"
	}
	pointer := "/paths/" + strings.ReplaceAll(at, "/", "~1") + "/" + verb + "/" + body + "/content/" + kind + "/schema"
	return must.Get(d.compiler.Compile("document.json#" + pointer))(d.t)
}

// validate returns an error if text does not match the schema of a request or response body.
func (d *apiDescription) validate(at, verb, body, text string) error {
	d.t.Helper()
	if strings.HasPrefix(at, "/v1/models/") {
		at = "/v1/models/{id}"
	}
	value := must.Get(jsonschema.UnmarshalJSON(strings.NewReader(text)))(d.t)
	return d.schema(at, verb, body).Validate(value)
}

// TestOpenAPI checks that /openapi.json is a valid OpenAPI document with the paths that the server
// supports for the model, and that the documents of all models together have exactly the served paths.
func TestOpenAPI(t *testing.T) {
	described := map[string]bool{}
	for model, want := range map[string]string{"pre": "/classify /embed /v1/embeddings /rerank",
		"retrieval":  "/score /rerank",
		"regression": "/predict", "multilabel": "/labels", "tagging": "/tag", "clouds": "/classify /embed",
		"graphs": "/classify", "fill_mask": "/embed /v1/embeddings"} {
		w := startHTTP(t, optionsWithIndexIf(t, model, model == "pre"), HTTPOptions{})
		d := fetchDescription(w)
		for _, at := range append(strings.Fields(want), "/info", "/stats", "/healthz", "/openapi.json") {
			if d.paths()[at] == nil {
				t.Errorf("%s: path %s is not in /openapi.json", model, at)
			}
		}
		for at := range d.paths() {
			described[at] = true
		}
		if model == "pre" && d.paths()["/predict"] != nil {
			t.Errorf("%s: /predict is in /openapi.json, but the model does not support it", model)
		}
	}
	delete(described, "/v1/models/{id}")
	if got := slices.Sorted(maps.Keys(described)); !slices.Equal(got, paths()) {
		t.Errorf("got described paths %v, want the served paths %v", got, paths())
	}
}

// optionsWithIndexIf returns options for a model, with an index if indexed is true.
func optionsWithIndexIf(t testing.TB, model string, indexed bool) Options {
	o := testOptions(t, model)
	if indexed {
		o.Index = filepath.Join(t.TempDir(), "index.arrow")
	}
	return o
}

// TestOpenAPIBodies validates requests and responses against the schemas in /openapi.json.
// Malformed bodies must not be valid. If the server requires a token, the document has security
// requirements.
func TestOpenAPIBodies(t *testing.T) {
	for _, c := range []struct{ model, at, body string }{
		{"pre", "/classify", `{"id":7,"tokens":[1,2,3,4,5,6],"window":{"policy":"sliding","length":3},"explain":true}`},
		{"pre", "/classify", `{"sequences":[{"text":"[MAX 2 9 ]","window":{"policy":"head"}},{"tokens":[]}]}`},
		{"retrieval", "/score",
			`{"pairs":[{"text_a":"one","tokens_b":[5],"explain":true},{"bytes_a":"b25l","text_b":""}]}`},
		{"clouds", "/classify", `{"features":[[0.5,0,0,1,0.1,0.2,0.3]]}`},
		{"graphs", "/classify", `{"features":[[1.5,0],[0.5,-1]],"edges":[[0,1,1,0.5]]}`},
		{"pre", "/v1/embeddings", `{"model":"pre","input":[[1],[2]],"encoding_format":"base64","user":"x"}`},
		{"pre", "/rerank", `{"query":"1","texts":["2"],"return_text":true,"truncate":null}`},
	} {
		w := startHTTP(t, testOptions(t, c.model), HTTPOptions{})
		d := fetchDescription(w)
		if err := d.validate(c.at, "post", "requestBody", c.body); err != nil {
			t.Errorf("%s %s: request body: %v", c.at, c.body, err)
		}
		got := w.post(c.at, c.body)
		if err := d.validate(c.at, "post", "responses/200", got); err != nil {
			t.Errorf("%s %s: response: %v\n%s", c.at, c.body, err, got)
		}
		for _, bad := range []string{`{"text":5}`, `{"nothing":1}`, `[]`, `{"model":"pre","input":7}`} {
			if d.validate(c.at, "post", "requestBody", bad) == nil {
				t.Errorf("%s: request %s is valid, want an error", c.at, bad)
			}
		}
		if d.validate(c.at, "post", "responses/200", `{"label":1}`) == nil {
			t.Errorf("%s: an incomplete response is valid, want an error", c.at)
		}
	}
	w := startHTTP(t, testOptions(t, "pre"), HTTPOptions{Tokens: NewTokens("0123456789abcdef")})
	w.token = "0123456789abcdef"
	if d := fetchDescription(w); d.document["security"] == nil ||
		d.paths()["/healthz"].(map[string]any)["get"].(map[string]any)["security"] == nil {
		t.Errorf("got %v, want security requirements of the document and of /healthz", d.document)
	}
}
