package evaluation

import (
	"bytes"
	"context"
	"slices"
	"strings"
	"testing"

	"github.com/sftseq/sftseq/internal/metrics"
	"github.com/sftseq/sftseq/seq"
	"github.com/sftseq/sftseq/sft"
)

// TestCutTags: the labels of tokens beyond the input window are counted, and not measured; those of
// rows that are refused are not counted.
func TestCutTags(t *testing.T) {
	scorer := goldenScorer(t, "tagging", &sft.InputWindow{Length: 4, Policy: "head"})
	config := scorer.Config()
	var data bytes.Buffer
	w, err := seq.NewWriter(&data, seq.Spec{Task: seq.Tagging, VocabSize: config.VocabSize, LabelNames: config.LabelNames}, seq.FileFormat)
	if err != nil {
		t.Fatal(err)
	}
	for _, labels := range [][]int32{{0, 1, 2}, {0, 0, -1, 0, 1, -1, 2}, nil, {1, 1, 1, 1, 1}} {
		x := seq.Example{A: slices.Repeat([]int32{7}, max(1, len(labels))), Label: seq.NoLabel, Labels: labels}
		if err := w.Write(x); err != nil {
			t.Fatal(err)
		}
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	r, err := seq.NewReader(bytes.NewReader(data.Bytes()), "x")
	if err != nil {
		t.Fatal(err)
	}
	tags := &Tags{Tagging: metrics.NewTagging(config.LabelNames, config.NumLabels)}
	seen, refused := 0, ""
	e := &Evaluation{Name: "x", Scorer: scorer, Score: func(ctx context.Context, examples []seq.Example) ([]sft.Output, error) {
		return scorer.Examples(ctx, examples)
	}, Measure: tags,
		Seen: func(x *seq.Example, length int, logits []float32) {
			seen += length
			if len(x.Labels) != len(x.A) || len(logits) != len(x.A)*config.NumLabels {
				t.Errorf("row %d: %d labels, %d tokens, %d logits", x.Index, len(x.Labels), len(x.A), len(logits))
			}
		},
		Refused: func(_ *seq.Example, _ int, err error) { refused += err.Error() }}
	if err := e.Run(t.Context(), r, func(int64) {}); err != nil {
		t.Fatal(err)
	}
	if e.CutTags != 3 || tags.Tokens() != 3+3+4 || tags.Rows != 3 || seen != 3+7+5 || !strings.Contains(refused, "column label: expected a label for each token, found none") {
		t.Errorf("%d labels cut, %d measured in %d rows of %d tokens; refused: %s", e.CutTags, tags.Tokens(), tags.Rows, seen, refused)
	}
}
