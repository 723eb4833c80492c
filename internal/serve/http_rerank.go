package serve

import (
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"slices"
	"strings"

	"github.com/sftseq/sftseq/internal/jsonlines"
	"github.com/sftseq/sftseq/internal/requests"
	"github.com/sftseq/sftseq/sft"
)

// rerankPaths are the paths of Text Embeddings Inference and of both versions of Cohere's API.
var rerankPaths = []string{"/rerank", "/v1/rerank", "/v2/rerank"}

// rerankMethod is the name of rerank requests in statistics. JSON-RPC has no such method.
const rerankMethod = "rerank"

// scoreMethod is the JSON-RPC method of pair models.
const scoreMethod = "retrieval/score"

// rerankFields are the supported fields of both APIs; other fields are ignored.
var rerankFields = map[string]bool{"query": true, "model": true, "documents": true, "top_n": true,
	"return_documents": true, "texts": true, "raw_scores": true, "return_text": true}

// rerankRequest is the body of a rerank request. The list of documents is the field documents in
// Cohere's API, and texts in the API of Text Embeddings Inference.
type rerankRequest struct {
	model  string
	query  json.RawMessage
	field  string            // name of the list: documents or texts
	texts  []json.RawMessage // JSON strings; slices of the body
	top    int               // maximum number of results
	echo   bool              // results repeat the documents
	raw    bool              // log-odds instead of probabilities
	cohere bool              // whether the response has Cohere's format
}

// relevance is a document's index in the request and its score.
type relevance struct {
	index int
	score float32
}

// rerankedText is a result in the format of Text Embeddings Inference.
type rerankedText struct {
	Index int             `json:"index"`
	Score float32         `json:"score"`
	Text  json.RawMessage `json:"text,omitempty"`
}

// rerankedDocuments is Cohere's response.
type rerankedDocuments struct {
	ID      string             `json:"id"`
	Model   string             `json:"model"`
	Results []rerankedDocument `json:"results"`
	Meta    struct{}           `json:"meta"` // empty; some clients require the field
}

type rerankedDocument struct {
	Index    int           `json:"index"`
	Score    float32       `json:"relevance_score"`
	Document *rerankedBody `json:"document,omitempty"`
}

type rerankedBody struct {
	Text json.RawMessage `json:"text"`
}

// parseRerank parses a well-formed body.
func parseRerank(body json.RawMessage) (r rerankRequest, err error) {
	fields, err := knownFields(body, rerankFields)
	if err != nil {
		return r, err
	}
	for name, into := range map[string]*bool{"return_documents": &r.echo,
		"return_text": &r.echo, "raw_scores": &r.raw} {
		if value := fields[name]; value != nil && json.Unmarshal(value, into) != nil {
			return r, badParam(name, "expected true or false, found %s", jsonlines.Kind(value))
		}
	}
	if value := fields["model"]; value != nil {
		if err := unmarshal("model", value, &r.model, "a string"); err != nil {
			return r, err
		}
	}
	if r.query = fields["query"]; r.query == nil || r.query[0] != '"' {
		return r, badParam("query", "expected a string, found %s", kindOrNone(r.query))
	}
	r.field, r.cohere = "documents", true
	if fields["texts"] != nil {
		if fields["documents"] != nil {
			return r, badParam("texts", "expected either documents or texts, found both")
		}
		r.field, r.cohere = "texts", false
	}
	list := fields[r.field]
	if list == nil {
		return r, badParam("documents", "expected a list of strings, as documents or texts, found none")
	}
	err = elements(r.field, list, func(n int, element json.RawMessage) error {
		text, err := r.text(fmt.Sprintf("%s[%d]", r.field, n), element)
		r.texts = append(r.texts, text)
		return err
	})
	if err == nil && len(r.texts) == 0 {
		err = badParam(r.field, "expected a list of strings, found an empty list")
	}
	if err != nil {
		return r, err
	}
	r.top = len(r.texts)
	if value := fields["top_n"]; value != nil {
		if json.Unmarshal(value, &r.top) != nil || r.top < 1 {
			return r, badParam("top_n", "expected a whole number of at least 1, found %s", jsonlines.Kind(value))
		}
	}
	return r, nil
}

// text returns the JSON string of a list element. Cohere's API also allows an object with the field
// text.
func (r *rerankRequest) text(field string, element json.RawMessage) (json.RawMessage, error) {
	if element[0] == '{' && r.cohere {
		object, err := jsonlines.Object(element, map[string]bool{"text": true})
		if err != nil {
			return nil, badParam(field, "%v", err)
		}
		field += ".text"
		if element = object["text"]; element == nil {
			return nil, badParam(field, "expected a string, found none")
		}
	}
	if element[0] != '"' {
		return nil, badParam(field, "expected a string, found %s", jsonlines.Kind(element))
	}
	return element, nil
}

func kindOrNone(value json.RawMessage) string {
	if value == nil {
		return "none"
	}
	return jsonlines.Kind(value)
}

// rerank returns the documents in descending order of relevance to a query. For a model of pairs,
// relevance is the probability or the log-odds of the last class, otherwise the cosine similarity of
// embeddings. A response in Cohere's format contains id.
func (c *call) rerank(id string) (any, error) {
	var r rerankRequest
	if err := c.parseList(func() (err error) { r, err = parseRerank(c.params); return err }); err != nil {
		return nil, err
	}
	if r.model != "" {
		if err := c.checkModelName("model", r.model); err != nil {
			return nil, err
		}
	}
	plan, err := c.relevancePlan(&r)
	if err != nil {
		return nil, r.renameField(asError(err))
	}
	report := &progress{call: c}
	found, err := c.runEach(r.field, r.texts, report, untilError(plan))
	if err != nil {
		return nil, err
	}
	var all []relevance
	for n, one := range found.Results {
		if one.Error != nil {
			return nil, r.renameField(one.Error)
		}
		all = append(all, relevance{n, one.Result.(float32)})
	}
	slices.SortStableFunc(all, func(a, b relevance) int { return cmp.Compare(b.score, a.score) })
	return r.response(all[:min(r.top, len(all))], c.model.loaded.Name, id), nil
}

// untilError wraps plan: after an item with an error it plans no further items, because the error
// fails the whole request.
func untilError(plan func(path string, text json.RawMessage) *item) func(path string, text json.RawMessage) *item {
	var failed error
	return func(path string, text json.RawMessage) *item {
		if failed != nil {
			return &item{err: failed}
		}
		i := plan(path, text)
		// Missing memory is temporary: runEach plans the item again when pending items complete.
		if !errors.Is(i.err, errMemory) {
			failed = i.err
		}
		return i
	}
}

// relevancePlan returns a function that plans the item of a document. The item's result is the
// score.
func (c *call) relevancePlan(r *rerankRequest) (func(path string, text json.RawMessage) *item, error) {
	if c.model.task.Method() == scoreMethod {
		// The documents share the tokens of the query, which may be as long as the body.
		query, err := c.sequence("query.", map[string]json.RawMessage{"text_a": r.query}, "_a")
		if err != nil {
			return nil, err
		}
		return func(path string, text json.RawMessage) *item {
			return c.plan(func(c *call, path string, fields map[string]json.RawMessage) *item {
				i := c.scorePair(query, path, fields)
				i.result = func(outputs []sft.Output) (any, error) { return r.relevance(outputs[0]) }
				return i
			}, path+".", map[string]json.RawMessage{"text_b": text})
		}, nil
	}
	if why := needsSingleModel(c); why != "" {
		return nil, fail(codeNoMethod, errorLocation{Found: c.method}, "%s", why)
	}
	embed := func(read func([]float32) (any, error)) planFunc {
		return func(c *call, path string, fields map[string]json.RawMessage) *item {
			i := c.embedOne(path, fields)
			i.result = func(outputs []sft.Output) (any, error) {
				v := outputs[0].Embeddings[0]
				if _, err := requests.NewEmbedding(c.model.config, &requests.Request{}, [][]float32{v}); err != nil {
					return nil, err
				}
				return read(v)
			}
			return i
		}
	}
	var query []float32
	i := c.plan(embed(func(v []float32) (any, error) { query = normalize(v); return nil, nil }), "query.",
		map[string]json.RawMessage{"text": r.query})
	c.start(i)
	_, err := c.wait(i)
	c.close(i)
	return func(path string, text json.RawMessage) *item {
		return c.plan(embed(func(v []float32) (any, error) { return cosine(query, v), nil }), path+".",
			map[string]json.RawMessage{"text": text})
	}, err
}

// cosine returns the cosine similarity of unit, a vector of length 1, and v.
func cosine(unit, v []float32) float32 {
	var sum float64
	for i, x := range normalize(v) {
		sum += float64(unit[i]) * float64(x)
	}
	return float32(sum)
}

// relevance returns the probability of the last class, or its log-odds if r.raw is set.
func (r *rerankRequest) relevance(o sft.Output) (any, error) {
	if err := requests.CheckFinite(o); err != nil {
		return nil, err
	}
	last := len(o.Logits) - 1
	if !r.raw {
		return sft.Probabilities(o.Logits)[last], nil
	}
	var others float64
	top := float64(slices.Max(o.Logits[:last]))
	for _, x := range o.Logits[:last] {
		others += math.Exp(float64(x) - top)
	}
	return float32(float64(o.Logits[last]) - top - math.Log(others)), nil
}

// response returns the results in the format of the request's API.
func (r *rerankRequest) response(all []relevance, model, id string) any {
	if !r.cohere {
		out := make([]rerankedText, len(all))
		for n, x := range all {
			out[n] = rerankedText{Index: x.index, Score: x.score}
			if r.echo {
				out[n].Text = r.texts[x.index]
			}
		}
		return out
	}
	out := rerankedDocuments{ID: id, Model: model, Results: make([]rerankedDocument, len(all))}
	for n, x := range all {
		out.Results[n] = rerankedDocument{Index: x.index, Score: x.score}
		if r.echo {
			out.Results[n].Document = &rerankedBody{r.texts[x.index]}
		}
	}
	return out
}

// renameField converts an error of an item: its field becomes the query or a document of this request.
func (r *rerankRequest) renameField(e *Error) *Error {
	var data map[string]any
	field, ok := "", false
	if json.Unmarshal(e.Data, &data) == nil {
		field, ok = data["field"].(string)
	}
	if !ok {
		return e
	}
	name, part, _ := strings.Cut(field, ".")
	if part == "text_a" {
		name = "query"
	}
	data["field"] = name
	return fail(e.Code, data, "%s%s", name, strings.TrimPrefix(e.Message, field))
}
