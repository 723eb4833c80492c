package serve

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"github.com/sftseq/sftseq/internal/must"
	"github.com/sftseq/sftseq/internal/serve/batching"
	"github.com/sftseq/sftseq/internal/task"
	"github.com/sftseq/sftseq/sft"
	"github.com/sftseq/sftseq/sft/config"
)

// TestInfoWithoutVocabulary checks that model/info has the tokenizer's hash instead of its
// vocabulary. The hash depends on the words, but not on JSON white space.
func TestInfoWithoutVocabulary(t *testing.T) {
	words := func(n int, between string) json.RawMessage {
		var list []string
		for i := range n {
			list = append(list, fmt.Sprintf("%q", fmt.Sprintf("word%d", i)))
		}
		return json.RawMessage(`{"type":"words","words":[` + strings.Join(list, between) + `]}`)
	}
	info := func(spec json.RawMessage) *tokenizerInfo {
		cfg := &sft.Config{Task: config.Classification, Inputs: config.Inputs{Tokenizer: spec}}
		reply, err := json.Marshal(infoOf(&served{Model: batching.Model{Scorer: &sft.Scorer{}}, loaded: &Model{},
			task: task.Of(cfg), config: cfg}))
		if err != nil || len(reply) > 500 {
			t.Fatalf("got %d bytes, error %v, want at most 500 bytes: %.600s", len(reply), err, reply)
		}
		var m modelInfo
		must.Succeed(t, json.Unmarshal(reply, &m))
		return m.Tokenizer
	}
	many := info(words(20000, ","))
	if many == nil || many.Type != "words" || len(many.Hash) != 64 {
		t.Fatalf("got %+v, want type words and a hash of 64 digits", many)
	}
	if other := info(words(19999, ",")); other.Hash == many.Hash {
		t.Error("two vocabularies have the same hash")
	}
	if spaced := info(words(20000, ", ")); spaced.Hash != many.Hash {
		t.Error("spaces between the words changed the hash")
	}
	if none := info(nil); none != nil {
		t.Errorf("model without a tokenizer: got %+v, want nil", none)
	}
}
