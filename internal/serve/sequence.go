package serve

import (
	"cmp"
	"context"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"strings"

	"github.com/sftseq/sftseq/internal/jsonlines"
	"github.com/sftseq/sftseq/internal/requests"
	"github.com/sftseq/sftseq/sft"
)

// sequence is an input sequence of a request, from text, tokens, bytes, a document or features.
type sequence struct {
	field    string          // field of the request, for errors
	id       json.RawMessage // id in the request, repeated in the response; nil if absent
	tokens   []int32
	graph    *requests.Request // input of a model that reads features; replaces tokens
	text     *string           // source of the tokens, for tagging models; nil otherwise
	document *document         // nil unless the sequence is a document
	version  int64
	changed  context.Context // ends when the document changes
}

// origin identifies the document of a sequence; it is empty if the sequence was in the request.
type origin struct {
	URI     string `json:"uri,omitempty"`
	Version *int64 `json:"version,omitempty"`
}

func (q *sequence) origin() (o origin) {
	if q.document != nil {
		o = origin{q.document.uri, &q.version}
	}
	return o
}

// sources are the fields that hold a sequence.
var sources = []string{"text", "tokens", "bytes", "uri"}

// Fields of a point cloud or graph, which replace the sources.
const (
	featuresField = "features"
	edgesField    = "edges"
)

// idField is the field with a sequence's id, any JSON value, which the response repeats.
const idField = "id"

// idNumbers returns the memory of an id in units of numberBytes.
func idNumbers(id json.RawMessage) int { return (len(id) + numberBytes - 1) / numberBytes }

// fieldsOf returns the known fields of params: the sources and the document version with each suffix,
// features and edges for the suffix "", and the other given names.
func fieldsOf(suffixes []string, others ...string) map[string]bool {
	var names []string
	for _, suffix := range suffixes {
		for _, source := range sources {
			names = append(names, source+suffix)
		}
		names = append(names, "version"+suffix)
		if suffix == "" {
			names = append(names, featuresField, edgesField)
		}
	}
	return newFieldSet(append(names, others...)...)
}

// newFieldSet returns a set of field names and adds them to allFields.
func newFieldSet(names ...string) map[string]bool {
	fields := map[string]bool{}
	for _, name := range names {
		fields[name], allFields[name] = true, true
	}
	return fields
}

// allFields are the fields of all methods. Fields outside of this set are ignored.
var allFields = map[string]bool{}

// object splits params, or an object inside them, into known fields. path precedes the field names
// in errors. A field of another method is an error, which is returned with the fields. Unknown
// fields and null values are ignored.
func object(path string, text json.RawMessage, known map[string]bool) (map[string]json.RawMessage, error) {
	if text == nil {
		text = json.RawMessage("{}")
	}
	fields, err := jsonlines.Object(text, allFields) // valid JSON: the message was checked before
	if err != nil {
		return nil, badParam(cmp.Or(strings.TrimSuffix(path, "."), wholeParams), "%v", err)
	}
	var bad error
	for name, value := range fields {
		switch {
		case string(value) == "null":
			delete(fields, name)
		case !known[name]:
			bad = badParam(path+name, "unexpected field")
		}
	}
	return fields, bad
}

// object calls the function object in a turn of the session.
func (c *call) object(path string, text json.RawMessage,
	known map[string]bool) (fields map[string]json.RawMessage, err error) {
	if stopped := c.do(len(text), func() { fields, err = object(path, text, known) }); stopped != nil {
		return nil, stopped
	}
	return fields, err
}

// object calls the function object for the params of a notification, in a turn of the session.
func (s *session) object(params json.RawMessage, known map[string]bool) (fields map[string]json.RawMessage, err error) {
	if stopped := s.share.Do(s.ctx, len(params), func() { fields, err = object("", params, known) }); stopped != nil {
		return nil, stopped
	}
	return fields, err
}

// sequence returns the sequence in the fields with a suffix. path precedes the field names in
// errors. It returns an error if the fields have no sequence or several sequences.
func (c *call) sequence(path string, fields map[string]json.RawMessage, suffix string) (*sequence, error) {
	if c.model.config.HasFeatures() {
		return c.graph(path, fields, suffix)
	}
	for _, name := range []string{featuresField, edgesField} {
		if fields[name] != nil {
			return nil, badParam(path+name, "found features or edges, but the model reads tokens")
		}
	}
	found := ""
	for _, name := range sources {
		name += suffix
		if fields[name] == nil {
			continue
		}
		if found != "" {
			return nil, badParam(path+name, "found together with %s, expected one of them", found)
		}
		found = name
	}
	if found == "" {
		return nil, badParam(path+"text"+suffix, "expected text%[1]s, tokens%[1]s, bytes%[1]s or uri%[1]s, found none",
			suffix)
	}
	value, q := fields[found], &sequence{field: path + found}
	version, versionPath := fields["version"+suffix], path+"version"+suffix
	switch document := found == "uri"+suffix; {
	case document && version != nil:
		q, err := c.documentSequence(q.field, value)
		if err == nil {
			err = q.checkVersion(versionPath, version)
		}
		return q, err
	case document:
		return c.documentSequence(q.field, value)
	case version != nil:
		return nil, badParam(versionPath, "expected only with uri%s, found with %s", suffix, found)
	}
	var err error
	q.tokens, err = c.tokenize(len(value), c.memoryOf(found, value), func() ([]int32, error) {
		tokens, err := c.read(found, value)
		if err != nil {
			return nil, badParam(q.field, "%v", err)
		}
		return tokens, nil
	})
	if err == nil {
		err = c.keepText(q, found, value)
	}
	return q, err
}

// memoryOf returns an upper bound for the memory, in bytes, to parse and tokenize a field.
func (c *call) memoryOf(found string, value json.RawMessage) int64 {
	if !strings.HasPrefix(found, "bytes") {
		return c.model.parser.MemoryOf(found, value)
	}
	text := int64(base64.StdEncoding.DecodedLen(len(value)))
	return int64(len(value)) + 2*text + c.model.parser.Memory(text)
}

// read tokenizes the value of a field.
func (c *call) read(found string, value json.RawMessage) ([]int32, error) {
	if !strings.HasPrefix(found, "bytes") {
		return c.model.parser.Tokenize(found, value)
	}
	text, err := jsonlines.Text(value)
	if err != nil {
		return nil, fmt.Errorf("expected base64, found %s", jsonlines.Kind(value))
	}
	raw, err := base64.StdEncoding.DecodeString(text)
	if err != nil {
		return nil, fmt.Errorf("expected base64: %w", err)
	}
	return c.model.parser.Encode(string(raw))
}

// requestOf returns a request with the tokens that the model's input window selects from each
// sequence.
func (c *call) requestOf(sequences ...*sequence) (*requests.Request, error) {
	r := &requests.Request{ID: sequences[0].id}
	for _, q := range sequences {
		if q.graph != nil { // the graph was truncated when it was parsed
			q.graph.ID = q.id
			return q.graph, nil
		}
		if err := c.reserveCut(len(q.tokens)); err != nil {
			return nil, err
		}
		used, err := q.tokensRead(c.model.config)
		if err != nil {
			return nil, err
		}
		r.Sequences = append(r.Sequences, used)
		r.Lengths = append(r.Lengths, len(q.tokens))
	}
	return r, nil
}

// length returns the number of tokens, points or nodes before windows are applied.
func (q *sequence) length() int {
	if q.graph != nil {
		return q.graph.Lengths[0]
	}
	return len(q.tokens)
}

// tokensRead returns the tokens that the model reads if the request does not choose a window.
func (q *sequence) tokensRead(c *sft.Config) ([]int32, error) {
	used, err := c.Window(q.tokens)
	if err != nil && len(q.tokens) > longest(c) {
		return nil, fail(codeParams, tooLong{q.field, len(q.tokens), longest(c)}, "%s: %v", q.field, err)
	}
	if err != nil {
		return nil, badParam(q.field, "%v", err)
	}
	return used, nil
}

// reserveCut reserves memory for the tokens that the model's input window selects from n tokens. It
// reserves nothing if these tokens are contiguous, because they are then not copied.
func (c *call) reserveCut(n int) error {
	w := c.model.config.ReadWindow()
	if w.Tail == 0 || w.Count(n) == n {
		return nil
	}
	return c.reserve(int64(tokenBytes * w.Length))
}

// tooLong is the error data for a sequence that is too long.
type tooLong struct {
	Field   string `json:"field"`
	Length  int    `json:"length"`
	Longest int    `json:"longest"`
}

// untilChanged returns a context that ends with ctx or when one of the sequences' documents changes, and
// a function that releases the context.
func untilChanged(ctx context.Context, sequences ...*sequence) (context.Context, func()) {
	ctx, cancel := context.WithCancelCause(ctx)
	var stops []func() bool
	for _, q := range sequences {
		if q.changed != nil {
			stops = append(stops, context.AfterFunc(q.changed, func() { cancel(q.document.modifiedError(q.field)) }))
		}
	}
	return ctx, func() {
		for _, stop := range stops {
			stop()
		}
		cancel(nil)
	}
}
