package sft

import (
	"encoding/json"
	"errors"
	"strings"
	"testing"

	"github.com/sftseq/sftseq/seq"
)

// TestDescribeData: the task is that of the data unless the configuration states another that
// takes as many sequences, and whatever the data lack is an error.
func TestDescribeData(t *testing.T) {
	addTask(t, "second", classification{}) // of the same rows
	full := seq.Spec{VocabSize: 9, Tokenizer: json.RawMessage(`{"type":"listops"}`), LabelNames: []string{"a", "b"}}
	of := func(task string, change func(*seq.Spec)) seq.Spec {
		s := full
		s.Task = task
		change(&s)
		return s
	}
	same := func(*seq.Spec) {}
	for _, c := range []struct {
		stated string
		data   seq.Spec
		want   string // task, or what the error says
	}{
		{"", of(Classification, same), Classification},
		{"", of(Retrieval, same), Retrieval},
		{Classification, of(Classification, same), Classification},
		{"second", of(Classification, same), "second"},
		{"second", of(Retrieval, same), "task: second of 1 sequences, expected one of 2"},
		{Retrieval, of(Classification, same), "task: retrieval of 2 sequences, expected one of 1"},
		{"ranking", of(Classification, same), `task: "ranking", expected ` + strings.Join(Tasks(), ", ")},
		{"", of(Classification, func(s *seq.Spec) { s.LabelNames = nil }), ErrNoLabels.Error()},
		{"", of(Classification, func(s *seq.Spec) { s.VocabSize = 0 }), "no vocabulary"},
		{"", of(Classification, func(s *seq.Spec) { s.Tokenizer = nil }), "no tokenizer"},
	} {
		m := tinyConfig()
		m.Task = c.stated
		switch err := m.DescribeData(c.data); {
		case err != nil && !strings.Contains(err.Error(), c.want) ||
			errors.Is(err, ErrNoLabels) != (c.data.LabelNames == nil):
			t.Errorf("%q, data of %+v: error %v, expected %q", c.stated, c.data, err, c.want)
		case err == nil && (m.Task != c.want || m.NumLabels != 2 || m.VocabSize != 9 ||
			string(m.Tokenizer) != string(full.Tokenizer)):
			t.Errorf("%q, data of %+v: %+v, expected %q", c.stated, c.data, m, c.want)
		}
	}
}
