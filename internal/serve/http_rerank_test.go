package serve

import (
	"context"
	"encoding/json"
	"fmt"
	"math"
	"runtime"
	"slices"
	"strings"
	"testing"

	"github.com/sftseq/sftseq/internal/must"
)

// TestRerank checks that a pair model ranks documents by the probability of the last class, in the
// formats of Cohere and Text Embeddings Inference.
func TestRerank(t *testing.T) {
	w := startHTTP(t, testOptions(t, "retrieval"), HTTPOptions{})
	documents := []string{"one", "two", "another document", "four", "and a fifth one"}
	want := make([]relevance, len(documents))
	odds := make([]float64, len(documents))
	for n, text := range documents {
		var pair struct{ Logits, Probabilities []float32 }
		decode(t, []byte(w.post("/score", fmt.Sprintf(`{"text_a":"the query","text_b":%q}`, text))), &pair)
		want[n] = relevance{n, pair.Probabilities[1]}
		odds[n] = float64(pair.Logits[1]) - float64(pair.Logits[0])
	}
	slices.SortStableFunc(want, func(a, b relevance) int { return int(math.Copysign(1, float64(b.score-a.score))) })
	if slices.IsSortedFunc(want, func(a, b relevance) int { return a.index - b.index }) {
		t.Fatal("the documents are already ranked, so the test cannot detect a missing sort")
	}
	list, _ := json.Marshal(documents)
	var cohere rerankedDocuments
	for _, path := range rerankPaths {
		r, got := w.send("POST", path, `{"model":"retrieval","query":"the query","documents":`+string(list)+
			`,"top_n":3,"return_documents":true,"max_tokens_per_doc":4096}`, "X-Request-Id", "mine")
		cohere = rerankedDocuments{}
		decode(t, []byte(got), &cohere)
		if r.StatusCode != 200 || cohere.ID != "mine" || cohere.Model != "retrieval" || len(cohere.Results) != 3 {
			t.Errorf("%s: got %s %s, want 200, id mine, model retrieval and 3 results", path, r.Status, got)
		}
	}
	for i, x := range cohere.Results {
		text, _ := json.Marshal(documents[x.Index])
		if x.Index != want[i].index || x.Score != want[i].score || string(x.Document.Text) != string(text) {
			t.Errorf("result %d: got %+v, want %+v", i, x, want[i])
		}
	}
	var objects rerankedDocuments
	decode(t, []byte(w.post("/rerank", `{"query":"the query","documents":[{"text":"one","id":7},"two"]}`)), &objects)
	if len(objects.Results) != 2 || objects.Results[0].Document != nil {
		t.Errorf("got %+v, want two results without documents", objects)
	}
	var texts []rerankedText
	decode(t, []byte(w.post("/rerank", `{"query":"the query","texts":`+string(list)+
		`,"raw_scores":true,"return_text":true,"truncate":false}`)), &texts)
	if len(texts) != len(documents) {
		t.Fatalf("got %+v, want a result per text", texts)
	}
	for i, x := range texts {
		if x.Index != want[i].index || math.Abs(float64(x.Score)-odds[x.Index]) > 1e-5 || len(x.Text) == 0 {
			t.Errorf("result %d: got %+v, want %+v with log-odds %v", i, x, want[i], odds[x.Index])
		}
	}
	for body, message := range map[string]string{
		`{"documents":["a"]}`:                                "query: expected a string, found none",
		`{"query":["a"],"documents":["a"]}`:                  "query: expected a string, found a list",
		`{"query":"a"}`:                                      "documents: expected a list of strings",
		`{"query":"a","documents":[]}`:                       "documents: expected a list of strings, found an empty",
		`{"query":"a","documents":["a"],"texts":["a"]}`:      "texts: expected either documents or texts, found both",
		`{"query":"a","documents":["a",5]}`:                  "documents[1]: expected a string, found 5",
		`{"query":"a","documents":["a",{"id":5}]}`:           "documents[1].text: expected a string, found none",
		`{"query":"a","texts":[{"text":"a"}]}`:               "texts[0]: expected a string, found an object",
		`{"query":"a","documents":["a"],"top_n":0}`:          "top_n: expected a whole number of at least 1",
		`{"query":"a","documents":["a"],"raw_scores":"yes"}`: "raw_scores: expected true or false",
		`{"query":"a","documents":["a",""]}`:                 "documents[1]: expected at least 1 token",
		`{"query":"","documents":["a"]}`:                     "query: expected at least 1 token",
	} {
		r, got := w.send("POST", "/rerank", body)
		param, _, _ := strings.Cut(message, ": ")
		expectWebError(t, body, r, got, 400, message, param, "")
	}
	r, got := w.send("POST", "/rerank", `{"model":"gpt","query":"a","documents":["a"]}`)
	expectWebError(t, "another model", r, got, 404, `no model "gpt"`, "model", "model_not_found")
	if n := w.server.stats().Responses[rerankMethod]; n == 0 {
		t.Error("the stats do not count rerank requests")
	}
}

// TestRerankByEmbeddings checks that a model of single sequences ranks documents by the cosine
// similarity of embeddings.
func TestRerankByEmbeddings(t *testing.T) {
	w := startHTTP(t, testOptions(t, "pre"), HTTPOptions{})
	documents := []string{"[MIN 4 7 ]", "[MAX 2 9 ]", "[SM 5 [MED 1 2 3 ] 8 ]"}
	list, _ := json.Marshal(documents)
	var vectors [][]float64
	body, _ := json.Marshal(append([]string{"[MAX 2 9 ]"}, documents...))
	decode(t, []byte(w.post("/embed", `{"inputs":`+string(body)+`}`)), &vectors)
	var texts []rerankedText
	decode(t, []byte(w.post("/rerank", `{"query":"[MAX 2 9 ]","texts":`+string(list)+`}`)), &texts)
	if len(texts) != 3 || texts[0].Index != 1 || math.Abs(float64(texts[0].Score)-1) > 1e-6 ||
		texts[1].Score < texts[2].Score {
		t.Errorf("got %+v, want text 1 first with score 1", texts)
	}
	for _, x := range texts {
		var dot float64
		for i, v := range vectors[0] {
			dot += v * vectors[1+x.Index][i]
		}
		if math.Abs(dot-float64(x.Score)) > 1e-5 {
			t.Errorf("got %+v, want score %v", x, dot)
		}
	}
	r, got := w.send("POST", "/rerank", `{"query":"","texts":["1"]}`)
	expectWebError(t, "an empty query", r, got, 400, "query: expected at least 1 token", "query", "")
}

// TestUnitEmbeddings checks that /v1/embeddings normalizes the model's vectors to length 1 by
// default.
func TestUnitEmbeddings(t *testing.T) {
	w := startHTTP(t, testOptions(t, "pre"), HTTPOptions{})
	m := w.server.acquire()
	defer m.Done()
	model := must.Get(m.Scorer.Embeddings(context.Background(), [][]int32{{12, 3, 10, 15}}))(t)[0]
	for _, format := range []string{floatFormat, base64Format} {
		var got struct {
			Data []struct{ Embedding json.RawMessage }
		}
		decode(t, []byte(w.post("/v1/embeddings",
			`{"model":"pre","input":[12,3,10,15],"encoding_format":"`+format+`"}`)),
			&got)
		v := vector(t, format, got.Data[0].Embedding)
		if n := norm(v); math.Abs(n-1) > 1e-6 || !slices.Equal(v, normalize(model)) || math.Abs(norm(model)-1) < 0.1 {
			t.Errorf("%s: got length %v, want 1; the model's vector has length %v", format, n, norm(model))
		}
	}
	if got := normalize(make([]float32, 3)); !slices.Equal(got, []float32{0, 0, 0}) {
		t.Errorf("normalized zeros: got %v, want zeros", got)
	}
}

func norm(v []float32) float64 {
	var sum float64
	for _, x := range v {
		sum += float64(x) * float64(x)
	}
	return math.Sqrt(sum)
}

// TestInputs checks POST /embed with "inputs", the format of Text Embeddings Inference: a list of
// vectors of length 1 unless normalize is false.
func TestInputs(t *testing.T) {
	w := startHTTP(t, testOptions(t, "pre"), HTTPOptions{})
	m := w.server.acquire()
	defer m.Done()
	want := must.Get(m.Scorer.Embeddings(context.Background(), [][]int32{{12, 3, 10, 15}, {7}}))(t)
	unit := [][]float32{normalize(want[0]), normalize(want[1])}
	for body, want := range map[string][][]float32{
		`{"inputs":[[12,3,10,15],[7]]}`:                        unit,
		`{"inputs":[12,3,10,15]}`:                              unit[:1],
		`{"inputs":"[MAX 2 9 ]","truncate":false}`:             unit[:1],
		`{"inputs":["[MAX 2 9 ]"],"normalize":true}`:           unit[:1],
		`{"inputs":[[12,3,10,15],[7]],"normalize":false}`:      want,
		`{"inputs":["[MAX 2 9 ]"],"dimensions":32,"other":[]}`: unit[:1],
	} {
		var got [][]float32
		decode(t, []byte(w.post("/embed", body)), &got)
		if !slices.EqualFunc(got, want, slices.Equal) {
			t.Errorf("%s: got %v, want %v", body, got, want)
		}
	}
	for body, message := range map[string]string{
		`{"inputs":5}`:                                                "inputs: expected a string, a list of strings",
		`{"inputs":["1",""]}`:                                         "inputs[1]: expected at least 1 token",
		`{"inputs":"1","normalize":1}`:                                "normalize: expected true or false, found 1",
		`{"inputs":"1","prompt_name":"query"}`:                        "prompt_name: the model has no prompts",
		`{"inputs":"1","dimensions":8}`:                               "dimensions: expected the model's 32 dimensions, found 8",
		`{"inputs":["1"],"inputs":["2"]}`:                             "inputs occurs twice",
		`{"text":"\"inputs\"","sequences":[]}`:                        "text",
		`{"inputs":["1"` + strings.Repeat(`,"1"`, maxElements) + `]}`: "inputs: expected at most 16384 sequences",
	} {
		r, got := w.send("POST", "/embed", body)
		if r.StatusCode != 400 || !strings.Contains(got, message) {
			t.Errorf("%.60s: got %s %s, want %q", body, r.Status, got, message)
		}
	}
}

// TestRerankQueryOnce checks by allocated bytes that a truncating model tokenizes a long query
// once, not once per document.
func TestRerankQueryOnce(t *testing.T) {
	w := startHTTP(t, truncatingOptions(t, "retrieval"), HTTPOptions{})
	const query, documents = 1 << 20, 64
	body := `{"query":"` + strings.Repeat("q", query) + `","documents":["a"` + strings.Repeat(`,"a"`, documents-1) +
		`]}`
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	if r, got := w.send("POST", "/rerank", body); r.StatusCode != 200 {
		t.Fatalf("got %s %.200s, want 200", r.Status, got)
	}
	runtime.ReadMemStats(&after)
	// Each token of the query takes 4 bytes.
	if n := after.TotalAlloc - before.TotalAlloc; n > documents*query*4/2 {
		t.Errorf("allocated %d MiB for %d documents, want at most %d", n>>20, documents, documents*query*4/2>>20)
	}
}

// TestRerankStopsAtError checks that no document is scored after a document with an error.
func TestRerankStopsAtError(t *testing.T) {
	w := startHTTP(t, testOptions(t, "retrieval"), HTTPOptions{})
	more := strings.Repeat(`,"a document"`, 100)
	if r, got := w.send("POST", "/rerank", `{"query":"a","documents":[""`+more+`]}`); r.StatusCode != 400 ||
		!strings.Contains(got, "documents[0]: expected at least 1 token") {
		t.Errorf("got %s %s, want 400", r.Status, got)
	}
	if n := w.server.stats().Sequences; n != 0 {
		t.Errorf("scored %d documents of a refused request, want 0", n)
	}
}
