package config_test

import (
	"encoding/json"
	"errors"
	"strings"
	"testing"

	"github.com/sftseq/sftseq/seq"
	"github.com/sftseq/sftseq/sft/config"
	"github.com/sftseq/sftseq/sft/internal/configtest"
)

// TestDescribeData checks that the task is the task of the data, unless the configuration states
// another task with the same number of sequences. Missing properties of the data are errors.
func TestDescribeData(t *testing.T) {
	t.Cleanup(config.AddTask("second", config.Classification)) // reads the same rows
	full := seq.Spec{VocabSize: 9, Tokenizer: json.RawMessage(`{"type":"listops"}`), LabelNames: []string{"a", "b"}}
	newSpec := func(task string, change func(*seq.Spec)) seq.Spec {
		s := full
		s.Task = task
		change(&s)
		return s
	}
	unchanged := func(*seq.Spec) {}
	for _, c := range []struct {
		stated string
		data   seq.Spec
		want   string // task, or a part of the error
	}{
		{"", newSpec(config.Classification, unchanged), config.Classification},
		{"", newSpec(config.Retrieval, unchanged), config.Retrieval},
		{config.Classification, newSpec(config.Classification, unchanged), config.Classification},
		{"second", newSpec(config.Classification, unchanged), "second"},
		{"second", newSpec(config.Retrieval, unchanged), "task: second, expected a task for pairs"},
		{config.Retrieval, newSpec(config.Classification, unchanged),
			"task: retrieval, expected a task for single sequences"},
		{"ranking", newSpec(config.Classification, unchanged),
			`task: "ranking", expected ` + strings.Join(config.Tasks(), ", ")},
		{"", newSpec(config.Classification, func(s *seq.Spec) { s.LabelNames = nil }), config.ErrNoLabels.Error()},
		{"", newSpec(config.Classification, func(s *seq.Spec) { s.VocabSize = 0 }), "no vocabulary"},
		{"", newSpec(config.Classification, func(s *seq.Spec) { s.Tokenizer = nil }), "no tokenizer"},
	} {
		m := configtest.TinyConfig()
		m.Task = c.stated
		switch err := m.DescribeData(c.data); {
		case err != nil && !strings.Contains(err.Error(), c.want) ||
			errors.Is(err, config.ErrNoLabels) != (c.data.LabelNames == nil):
			t.Errorf("%q, data of %+v: error %v, expected %q", c.stated, c.data, err, c.want)
		case err == nil && (m.Task != c.want || m.NumLabels != 2 || m.VocabSize != 9 ||
			string(m.Tokenizer) != string(full.Tokenizer)):
			t.Errorf("%q, data of %+v: %+v, expected %q", c.stated, c.data, m, c.want)
		}
	}
}
