package requests

import (
	"encoding/json"
	"strings"
	"testing"

	"sftseq/sft"
)

// TestUnknownTokenizer: a model of a tokenizer that this version does not know takes
// tokens, and says why it takes no text.
func TestUnknownTokenizer(t *testing.T) {
	config, err := sft.ReadConfig("../../sft/testdata/golden/pre/config.json")
	if err != nil {
		t.Fatal(err)
	}
	config.Tokenizer = json.RawMessage(`{"type":"runes"}`)
	p := NewParser(config, "", "f", true, false)
	if r := p.Parse([]byte(`{"text":"1"}`), 1, nil); r.Failure == nil || r.Failure.Code != CodeParams || !strings.Contains(r.Failure.Message, `tokenizer type "runes" is not known`) {
		t.Errorf("%+v", r.Failure)
	}
	if r := p.Parse([]byte(`{"tokens":[1]}`), 1, nil); r.Failure != nil {
		t.Errorf("%+v", r.Failure)
	}
}
