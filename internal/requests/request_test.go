package requests

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/sftseq/sftseq/internal/must"
	"github.com/sftseq/sftseq/sft/config"
)

// TestUnknownTokenizer checks that a model with an unknown tokenizer type reads tokens and refuses
// text with the reason.
func TestUnknownTokenizer(t *testing.T) {
	cfg := must.Get(config.Read("../../sft/testdata/golden/pre/config.json"))(t)
	cfg.Tokenizer = json.RawMessage(`{"type":"runes"}`)
	p := NewParser(cfg, "", "f", 1)
	if r := p.Parse([]byte(`{"text":"1"}`), 1, nil); r.Failure == nil || r.Failure.Code != CodeParams ||
		!strings.Contains(r.Failure.Message, `tokenizer type "runes": expected one of`) {
		t.Errorf("text: got failure %+v, want the unknown tokenizer type", r.Failure)
	}
	if r := p.Parse([]byte(`{"tokens":[1]}`), 1, nil); r.Failure != nil {
		t.Errorf("tokens: got failure %+v", r.Failure)
	}
}

// TestLoneSurrogates checks that lone surrogates are refused in texts and labels instead of
// being replaced.
func TestLoneSurrogates(t *testing.T) {
	cfg := must.Get(config.Read("../../sft/testdata/golden/pre/config.json"))(t)
	cfg.LabelNames = []string{"\ufffd", "1", "2", "3", "4", "5", "6", "7", "8", "9"}
	p := NewParser(cfg, "", "f", 1)
	r := p.Parse([]byte(`{"id":"\ud800","text":"1 \ud83d"}`), 1, nil)
	if r.Failure == nil || r.Failure.Code != CodeParams || string(r.ID) != `"\ud800"` ||
		!strings.Contains(r.Failure.Message,
			`text: expected text, found lone surrogate \ud83d at byte 2`) {
		t.Errorf("got id %s, failure %+v, want the id unchanged and an error about the surrogate in the text", r.ID,
			r.Failure)
	}
	if r := p.Parse([]byte(`{"text":"1 \ud83d\ude42"}`), 1, nil); r.Failure != nil || len(r.Sequences[0]) != 2 {
		t.Errorf("a surrogate pair: got sequences %v, failure %+v, want two tokens", r.Sequences, r.Failure)
	}
	for value, ok := range map[string]bool{`"\ud800"`: false, `"\ufffd"`: true, `"1"`: true, `1`: true} {
		if _, err := ParseLabel(cfg, json.RawMessage(value)); (err == nil) != ok {
			t.Errorf("label %s: got error %v, want an error: %v", value, err, !ok)
		}
	}
}

// TestRequestOutlivesLine checks that a request keeps its id and label after the buffer of its line
// is overwritten.
func TestRequestOutlivesLine(t *testing.T) {
	cfg := must.Get(config.Read("../../sft/testdata/golden/pre/config.json"))(t)
	line := []byte(`{"id":"abc","text":"1","label":7}`)
	r := NewParser(cfg, "", "f", 1).Parse(line, 1, nil)
	clear(line)
	if string(r.ID) != `"abc"` || string(r.Label) != "7" {
		t.Errorf("got id %q, label %q, want \"abc\" and 7", r.ID, r.Label)
	}
}

// TestFieldsOfMethods checks that a line whose only sequence is in a field of JSON-RPC methods gets
// an error that names the fields of lines. If the line also has another sequence, the field is
// ignored.
func TestFieldsOfMethods(t *testing.T) {
	cfg := must.Get(config.Read("../../sft/testdata/golden/pre/config.json"))(t)
	p := NewParser(cfg, "", "f", 1)
	const expected = "f:1: expected tokens or text, found bytes (only the methods of sftseq serve accept it)"
	if r := p.Parse([]byte(`{"id":3,"bytes":"W01BWCAyIDkgXQ=="}`), 1, nil); r.Failure == nil ||
		r.Failure.Message != expected || string(r.ID) != "3" {
		t.Errorf("id %s: got failure %+v, want %q with id 3", r.ID, r.Failure, expected)
	}
	if r := p.Parse([]byte(`{"uri":"a","text":"1"}`), 1, nil); r.Failure != nil {
		t.Errorf("got failure %+v, want none", r.Failure)
	}
	if r := p.Parse([]byte(`{"bytes":"a","text_a":"1"}`), 1, nil); r.Failure == nil ||
		r.Failure.Message != "f:1: expected tokens or text, found only text_a" {
		t.Errorf("got failure %+v, want one that names only text_a", r.Failure)
	}
}

// TestSequenceFields checks the error for a line that has a single text and one or both texts of a pair.
func TestSequenceFields(t *testing.T) {
	cfg := must.Get(config.Read("../../sft/testdata/golden/pre/config.json"))(t)
	for line, want := range map[string]string{
		`{"text":"1","text_a":"1","text_b":"1"}`: "found both text and text_a, expected one sequence or a pair",
		`{"text":"1","text_b":"1"}`:              "found both text and text_b, expected one sequence or a pair",
	} {
		r := NewParser(cfg, "", "f", 1, 2).Parse([]byte(line), 1, nil)
		if r.Failure == nil || !strings.HasSuffix(r.Failure.Message, want) {
			t.Errorf("%s: got failure %+v, want %q", line, r.Failure, want)
		}
	}
}
