package main

import (
	"encoding/json"
	"slices"
	"strings"
	"testing"

	"sftseq/sft"
)

// FuzzRequest reads any line: it gives what the JSON package gives, within the
// model's bounds, or a failure with a code, a place and a message of one line.
func FuzzRequest(f *testing.F) {
	for _, line := range []string{
		`{"id":7,"tokens":[12,3,10,15]}`, `{"id":"b","text":"[MAX 2 9 ]","x":[{}]}`, `{"tokens":[1,1e3]}`, `{"tokens":[ 1 , 2 ]}`,
		`{"tokens":[]}`, `{"tokens":[1,"2,3"]}`, `{"tokens":[[1,2]]}`, `{"tokens":[-0]}`, `{"tokens":[4294967297]}`, `{"tokens":null,"text":"1"}`,
		`{"tokens":[1],"tokens":[2]}`, `{"tokens_a":[1],"tokens_b":[2]}`, `{"id":{"a":[1]},"tokens":[1]}`, `[`, `{`, `null`, "\xff", "{\"text\":\"\\ud800\"}",
		"{\"tokens\":[1]}\x00", `{"tokens":[0]}`, `{"label":1.5,"tokens":[1]}`,
	} {
		f.Add([]byte(line))
	}
	config, err := sft.ReadConfig(golden("pre", "config.json"))
	if err != nil {
		f.Fatal(err)
	}
	p := newParser(config, "f", true, false)
	f.Fuzz(func(t *testing.T, line []byte) {
		r := p.parse(line, 5, nil)
		if !json.Valid(r.id) {
			t.Fatalf("id %q", r.id)
		}
		if r.failure != nil {
			if r.sequences != nil || !strings.HasPrefix(r.failure.Message, "f:5: ") || !slices.Contains([]int{codeParse, codeRequest, codeParams}, r.failure.Code) {
				t.Fatalf("%+v, %+v", r, r.failure)
			}
			return
		}
		if len(r.sequences) != 1 || r.lengths[0] != len(r.sequences[0]) {
			t.Fatalf("%+v", r)
		}
		if err := config.CheckTokens(r.sequences[0]); err != nil {
			t.Fatal(err)
		}
		var want map[string]json.RawMessage
		if err := json.Unmarshal(line, &want); err != nil {
			t.Fatal(err)
		}
		var tokens []int32
		if json.Unmarshal(want["tokens"], &tokens) == nil && tokens != nil && !slices.Equal(tokens, r.sequences[0]) {
			t.Fatalf("%v, want %v", r.sequences[0], tokens)
		}
		if label, err := parseLabel(config, r.label); err == nil && (label < 0 || label > 9) {
			t.Fatalf("label %d", label)
		}
	})
}
