package requests

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/sftseq/sftseq/internal/must"
	"github.com/sftseq/sftseq/sft/config"
)

// TestUnknownTokenizer: a model of a tokenizer that this version does not know takes
// tokens, and says why it takes no text.
func TestUnknownTokenizer(t *testing.T) {
	cfg := must.Get(config.Read("../../sft/testdata/golden/pre/config.json"))(t)
	cfg.Tokenizer = json.RawMessage(`{"type":"runes"}`)
	p := NewParser(cfg, "", "f", 1)
	if r := p.Parse([]byte(`{"text":"1"}`), 1, nil); r.Failure == nil || r.Failure.Code != CodeParams ||
		!strings.Contains(r.Failure.Message, `tokenizer type "runes" is not known`) {
		t.Errorf("%+v", r.Failure)
	}
	if r := p.Parse([]byte(`{"tokens":[1]}`), 1, nil); r.Failure != nil {
		t.Errorf("%+v", r.Failure)
	}
}

// TestHalfCharacters: half of a surrogate pair is no text, and is not made another one.
func TestHalfCharacters(t *testing.T) {
	cfg := must.Get(config.Read("../../sft/testdata/golden/pre/config.json"))(t)
	cfg.LabelNames = []string{"\ufffd", "1", "2", "3", "4", "5", "6", "7", "8", "9"}
	p := NewParser(cfg, "", "f", 1)
	r := p.Parse([]byte(`{"id":"\ud800","text":"1 \ud83d"}`), 1, nil)
	if r.Failure == nil || r.Failure.Code != CodeParams || string(r.ID) != `"\ud800"` ||
		!strings.Contains(r.Failure.Message,
			`text: expected text, found \ud83d at byte 2, half of a surrogate pair without the other`) {
		t.Errorf("%s: %+v", r.ID, r.Failure)
	}
	if r := p.Parse([]byte(`{"text":"1 \ud83d\ude42"}`), 1, nil); r.Failure != nil || len(r.Sequences[0]) != 2 {
		t.Errorf("%+v", r.Failure)
	}
	for value, ok := range map[string]bool{`"\ud800"`: false, `"\ufffd"`: true, `"1"`: true, `1`: true} {
		if _, err := ParseLabel(cfg, json.RawMessage(value)); (err == nil) != ok {
			t.Errorf("label %s: %v", value, err)
		}
	}
}

// TestRequestOutlivesLine: what answers a line is its own, though the line is read over.
func TestRequestOutlivesLine(t *testing.T) {
	cfg := must.Get(config.Read("../../sft/testdata/golden/pre/config.json"))(t)
	line := []byte(`{"id":"abc","text":"1","label":7}`)
	r := NewParser(cfg, "", "f", 1).Parse(line, 1, nil)
	clear(line)
	if string(r.ID) != `"abc"` || string(r.Label) != "7" {
		t.Errorf("id %q, label %q", r.ID, r.Label)
	}
}

// TestFieldsOfMethods: a line whose sequence is in a field of methods gets an error with the fields of lines; beside a
// sequence such a field is ignored.
func TestFieldsOfMethods(t *testing.T) {
	cfg := must.Get(config.Read("../../sft/testdata/golden/pre/config.json"))(t)
	p := NewParser(cfg, "", "f", 1)
	const expected = "f:1: expected tokens or text, found bytes, which only the methods of sftseq serve take"
	if r := p.Parse([]byte(`{"id":3,"bytes":"W01BWCAyIDkgXQ=="}`), 1, nil); r.Failure == nil ||
		r.Failure.Message != expected || string(r.ID) != "3" {
		t.Errorf("%s: %+v", r.ID, r.Failure)
	}
	if r := p.Parse([]byte(`{"uri":"a","text":"1"}`), 1, nil); r.Failure != nil {
		t.Errorf("%+v", r.Failure)
	}
	if r := p.Parse([]byte(`{"bytes":"a","text_a":"1"}`), 1, nil); r.Failure == nil ||
		r.Failure.Message != "f:1: expected tokens or text, found only text_a" {
		t.Errorf("%+v", r.Failure)
	}
}
