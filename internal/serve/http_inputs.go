package serve

import (
	"bytes"
	"encoding/json"

	"github.com/sftseq/sftseq/internal/jsonlines"
)

// inputsFields are the known fields of Text Embeddings Inference's POST /embed. A prompt_name is
// refused. The fields about truncation have no effect, because truncation depends only on --truncate.
var inputsFields = map[string]bool{"inputs": true, "normalize": true, "dimensions": true, "prompt_name": true,
	"truncate": true, "truncation_direction": true}

// embedOrInputs implements POST /embed: sequence/embed, or the API of Text Embeddings Inference if
// the body has the field inputs.
func (c *call) embedOrInputs() (any, error) {
	if !bytes.Contains(c.params, []byte(`"inputs"`)) {
		return c.result()
	}
	var fields map[string]json.RawMessage
	var err error
	if stopped := c.do(len(c.params),
		func() { fields, err = jsonlines.Object(c.params, inputsFields) }); stopped != nil {
		return nil, stopped
	}
	if err == nil && fields["inputs"] == nil { // "inputs" occurs only inside a value
		return c.result()
	}
	if why := needsSingleModel(c); why != "" {
		return nil, fail(codeNoMethod, errorLocation{Found: c.method}, "%s", why)
	}
	var r embeddingsRequest
	unit := true
	if err := c.parseList(func() (err error) { r, unit, err = parseInputs(c.params); return err }); err != nil {
		return nil, err
	}
	vectors, _, err := c.vectors(&r, unit)
	return vectors, err
}

// parseInputs parses a well-formed body. unit is the field normalize, true by default.
func parseInputs(body json.RawMessage) (r embeddingsRequest, unit bool, err error) {
	fields, err := knownFields(body, inputsFields)
	if err != nil {
		return r, false, err
	}
	unit = true
	if value := fields["normalize"]; value != nil {
		if json.Unmarshal(value, &unit) != nil {
			return r, false, badParam("normalize", "expected true or false, found %s", jsonlines.Kind(value))
		}
	}
	if value := fields["dimensions"]; value != nil {
		if json.Unmarshal(value, &r.dimensions) != nil {
			return r, false, badParam("dimensions", "expected a whole number, found %s", jsonlines.Kind(value))
		}
	}
	if value := fields["prompt_name"]; value != nil {
		return r, false, badParam("prompt_name", "the model has no prompts, found %s", jsonlines.Kind(value))
	}
	return r, unit, r.parseInput("inputs", fields["inputs"])
}

// knownFields returns the known fields of a well-formed body, without null values.
func knownFields(body json.RawMessage, known map[string]bool) (map[string]json.RawMessage, error) {
	fields, err := jsonlines.Object(body, known)
	if err != nil {
		return nil, fail(codeInvalidRequest, nil, "%v", err)
	}
	for name, value := range fields {
		if string(value) == "null" {
			delete(fields, name)
		}
	}
	return fields, nil
}
