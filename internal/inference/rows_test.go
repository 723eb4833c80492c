package inference

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/sftseq/sftseq/internal/requests"
	"github.com/sftseq/sftseq/internal/table"
	"github.com/sftseq/sftseq/sft"
	"github.com/sftseq/sftseq/sft/config"
)

// TestRowHead checks that a row keeps only the tokens inside the input window, and that its spans
// have positions in the text.
func TestRowHead(t *testing.T) {
	c := &sft.Config{
		Task: config.Tagging,
		Inputs: config.Inputs{VocabSize: 257, MaxLength: 100, PadTokenID: new(int32(0)),
			InputWindow: &config.InputWindow{Length: 3, Policy: "head"}, Tokenizer: json.RawMessage(`{"type":"byte"}`)},
		Head: config.Head{NumLabels: 1, LabelNames: []string{"X"}},
	}
	parser := requests.NewParser(c, "", "f", 1)
	parser.RecordOffsets = true
	r := newTableReader(&Table{Path: "f", Sources: []string{"text"}, Options: table.Options{Columns: []string{"text"}}},
		parser, []string{"text"})
	row := r.request(&table.Row{File: "f", Line: 1, Values: []table.Value{{Text: "éa" + strings.Repeat("b", 1<<16)}}})
	if row.Failure != nil {
		t.Fatal(row.Failure)
	}
	if kept := cap(row.Sequences[0]); kept > 8 || row.Lengths[0] != 3+1<<16 || row.Tokens() != 3 {
		t.Errorf("got capacity %d, length %d, Tokens() = %d, want at most 8, %d and 3", kept, row.Lengths[0],
			row.Tokens(), 3+1<<16)
	}
	s, err := requests.NewSpans(c.Spans([]float32{0, 0, 0}), row.Request)
	if err != nil || len(s.Spans) != 1 || s.Spans[0].Start != 0 || s.Spans[0].End != 2 ||
		s.Unit != requests.Characters {
		t.Errorf("got spans %+v, error %v, want one span of the characters 0 to 2", s, err)
	}
}

// TestFailedRow checks that a pair with an invalid second sequence keeps nothing of the first.
func TestFailedRow(t *testing.T) {
	c := &sft.Config{
		Task: config.Retrieval,
		Inputs: config.Inputs{VocabSize: 257, MaxLength: 100, PadTokenID: new(int32(0)),
			Tokenizer: json.RawMessage(`{"type":"byte"}`)},
		Head: config.Head{NumLabels: 2},
	}
	columns := []string{"a", "b"}
	r := newTableReader(&Table{Path: "f", Sources: columns, Options: table.Options{Columns: columns}},
		requests.NewParser(c, "", "f", 1), columns)
	row := r.request(&table.Row{File: "f", Line: 1,
		Values: []table.Value{{Text: strings.Repeat("b", 50)}, {Null: true}}})
	if row.Failure == nil || row.Failure.Message != "column b: expected a value, found none" || row.Tokens() != 0 {
		t.Errorf("got %d tokens, failure %+v, want 0 tokens and a failure of column b", row.Tokens(), row.Failure)
	}
}
