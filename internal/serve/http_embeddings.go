package serve

import (
	"bytes"
	"encoding/base64"
	"encoding/binary"
	"encoding/json"
	"fmt"
	"math"
	"strings"

	"github.com/sftseq/sftseq/internal/jsonlines"
)

// embeddingsFields are the supported fields of POST /v1/embeddings. Other fields, such as user in
// OpenAI's API, are ignored.
var embeddingsFields = map[string]bool{"model": true, "input": true, "encoding_format": true, "dimensions": true}

// Formats of a vector: a list of numbers, or base64 of little-endian float32 values.
const (
	floatFormat  = "float"
	base64Format = "base64"
)

// embeddingsRequest is the body of POST /v1/embeddings, or of POST /embed with the field inputs.
type embeddingsRequest struct {
	model      string
	format     string
	dimensions *int
	name       string            // name of the field with the input
	field      string            // field of each sequence: text or tokens
	input      []json.RawMessage // strings or lists of token ids; slices of the body
	single     bool              // whether the input is one sequence instead of a list
}

// embeddingList is the response in OpenAI's format.
type embeddingList struct {
	Object string            `json:"object"`
	Data   []embeddingObject `json:"data"`
	Model  string            `json:"model"`
	Usage  struct {
		Prompt int `json:"prompt_tokens"` // tokens read by the model
		Total  int `json:"total_tokens"`
	} `json:"usage"`
}

type embeddingObject struct {
	Object    string `json:"object"`
	Index     int    `json:"index"`
	Embedding any    `json:"embedding"` // []float32, or littleEndian for base64
}

// parseEmbeddings parses a well-formed body. The input is a string, a list of strings, a list of
// token ids, or a list of lists of token ids.
func parseEmbeddings(body json.RawMessage) (r embeddingsRequest, err error) {
	fields, err := knownFields(body, embeddingsFields)
	if err != nil {
		return r, err
	}
	r.format = floatFormat
	for name, into := range map[string]*string{"model": &r.model, "encoding_format": &r.format} {
		if value := fields[name]; value != nil {
			if err := unmarshal(name, value, into, "a string"); err != nil {
				return r, err
			}
		}
	}
	if r.format != floatFormat && r.format != base64Format {
		return r, badParam("encoding_format", "expected %q or %q, found %.40q", floatFormat, base64Format, r.format)
	}
	if value := fields["dimensions"]; value != nil {
		if json.Unmarshal(value, &r.dimensions) != nil {
			return r, badParam("dimensions", "expected a whole number, found %s", jsonlines.Kind(value))
		}
	}
	return r, r.parseInput("input", fields["input"])
}

// parseInput splits the input into sequences. name is the name of the input's field.
func (r *embeddingsRequest) parseInput(name string, input json.RawMessage) error {
	const expected = "expected a string, a list of strings, a list of token ids or a list of such lists"
	r.name = name
	if input == nil {
		return badParam(name, "%s, found none", expected)
	}
	r.field, r.single = "text", true
	switch input[0] {
	case '"':
		r.input = []json.RawMessage{input}
		return nil
	case '[':
	default:
		return badParam(name, "%s, found %s", expected, jsonlines.Kind(input))
	}
	n := 0
	for element := range jsonlines.Elements(input) {
		kind := element[0]
		if kind == '-' || kind >= '0' && kind <= '9' {
			kind = '0'
		}
		switch first := n == 0; {
		case first && kind == '0': // the other ids are checked when the tokens are read
			r.field, r.input = "tokens", []json.RawMessage{input}
			return nil
		case first && kind == '[':
			r.field, r.single = "tokens", false
		case first && kind == '"':
			r.single = false
		case first:
			return badParam(name+"[0]", "expected a string, a token id or a list of token ids, found %s",
				jsonlines.Kind(element))
		}
		if want := map[string]byte{"text": '"', "tokens": '['}[r.field]; kind != want {
			return badParam(fmt.Sprintf("%s[%d]", name, n), "expected %s like the first element, found %s",
				map[byte]string{'"': "a string", '[': "a list of token ids"}[want], jsonlines.Kind(element))
		}
		if n == maxElements {
			return badParam(name, "expected at most %d sequences, found more", maxElements)
		}
		r.input = append(r.input, element)
		n++
	}
	if n == 0 {
		return badParam(name, "%s, found an empty list", expected)
	}
	return nil
}

// params returns the request as params of sequence/embed.
func (r *embeddingsRequest) params() json.RawMessage {
	var out bytes.Buffer
	out.Grow(r.bytes())
	out.WriteString(`{"sequences":[`)
	for n, value := range r.input {
		if n > 0 {
			out.WriteByte(',')
		}
		fmt.Fprintf(&out, `{%q:`, r.field)
		out.Write(value)
		out.WriteByte('}')
	}
	out.WriteString("]}")
	return out.Bytes()
}

// bytes returns an upper bound for the length of params.
func (r *embeddingsRequest) bytes() int {
	n := len(`{"sequences":[]}`)
	for _, value := range r.input {
		n += len(value) + len(`{"tokens":},`)
	}
	return n
}

// paramName returns the field of this request for a field of params, such as input[3] for
// sequences[3].text.
func (r *embeddingsRequest) paramName(field string) string {
	if r.single {
		return r.name
	}
	index, _, _ := strings.Cut(strings.TrimPrefix(field, "sequences"), ".")
	return r.name + index
}

// embeddings implements POST /v1/embeddings. An error in one sequence fails the request. If unit is
// true, the vectors are scaled to length 1.
func (c *call) embeddings(unit bool) (any, error) {
	if why := needsSingleModel(c); why != "" {
		return nil, fail(codeNoMethod, errorLocation{Found: c.method}, "%s", why)
	}
	var r embeddingsRequest
	if err := c.parseList(func() (err error) { r, err = parseEmbeddings(c.params); return err }); err != nil {
		return nil, err
	}
	if err := c.checkModelName("model", r.model); err != nil {
		return nil, err
	}
	vectors, tokens, err := c.vectors(&r, unit)
	if err != nil {
		return nil, err
	}
	out := embeddingList{Object: "list", Data: []embeddingObject{}, Model: c.model.loaded.Name}
	for n, v := range vectors {
		x := embeddingObject{Object: "embedding", Index: n, Embedding: v}
		if r.format == base64Format {
			x.Embedding = littleEndian(v)
		}
		out.Data = append(out.Data, x)
	}
	out.Usage.Prompt, out.Usage.Total = tokens, tokens
	return out, nil
}

// parseList reserves memory for a list of sequences. Then it waits for a turn and runs parse, which
// reads the list from the call's params.
func (c *call) parseList(parse func() error) error {
	elements := min(maxElements, bytes.Count(c.params, []byte{','})+1)
	if err := c.reserve(elementBytes * int64(elements)); err != nil {
		return err
	}
	var err error
	if stopped := c.do(len(c.params), func() { err = parse() }); stopped != nil {
		return stopped
	}
	return err
}

// vectors returns the embeddings of a request's sequences and the number of tokens that the model
// has read. If unit is true, the vectors are scaled to length 1.
func (c *call) vectors(r *embeddingsRequest, unit bool) (vectors [][]float32, tokens int, err error) {
	if d := r.dimensions; d != nil && *d != c.model.config.HiddenSize {
		return nil, 0, badParam("dimensions", "expected the model's %d dimensions, found %d", c.model.config.HiddenSize, *d)
	}
	if err := c.reserve(int64(r.bytes())); err != nil {
		return nil, 0, err
	}
	if stopped := c.do(r.bytes(), func() { c.params = r.params() }); stopped != nil {
		return nil, 0, stopped
	}
	result, err := c.result()
	if err != nil {
		return nil, 0, r.renameField(asError(err))
	}
	for _, one := range result.(results).Results {
		if one.Error != nil {
			return nil, 0, r.renameField(one.Error)
		}
		e := one.Result.(embeddingResult)
		if unit {
			e.Embedding.Embedding = normalize(e.Embedding.Embedding)
		}
		vectors = append(vectors, e.Embedding.Embedding)
		read := e.Length
		if e.Used != nil {
			read = *e.Used
		}
		tokens += read
	}
	return vectors, tokens, nil
}

// normalize returns v scaled to length 1. A zero vector is returned unchanged.
func normalize(v []float32) []float32 {
	var sum float64
	for _, x := range v {
		sum += float64(x) * float64(x)
	}
	if sum == 0 {
		return v
	}
	out, scale := make([]float32, len(v)), 1/math.Sqrt(sum)
	for i, x := range v {
		out[i] = float32(float64(x) * scale)
	}
	return out
}

// renameField converts an error of sequence/embed: its field becomes a field of this request.
func (r *embeddingsRequest) renameField(e *Error) *Error {
	var data map[string]any
	if json.Unmarshal(e.Data, &data) != nil {
		return e
	}
	field, ok := data["field"].(string)
	if !ok || !strings.HasPrefix(field, "sequences[") {
		return e
	}
	param := r.paramName(field)
	data["field"] = param
	return fail(e.Code, data, "%s%s", param, strings.TrimPrefix(e.Message, field))
}

// littleEndian is a vector that is written to JSON as base64 of little-endian float32 values.
type littleEndian []float32

// MarshalText returns the base64 text.
func (v littleEndian) MarshalText() ([]byte, error) {
	raw := make([]byte, 0, 4*len(v))
	for _, x := range v {
		raw = binary.LittleEndian.AppendUint32(raw, math.Float32bits(x))
	}
	return base64.StdEncoding.AppendEncode(nil, raw), nil
}
