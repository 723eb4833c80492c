package evaluation

import (
	"bytes"
	"context"
	"math"
	"slices"
	"strings"
	"testing"

	"github.com/sftseq/sftseq/internal/metrics"
	"github.com/sftseq/sftseq/internal/must"
	"github.com/sftseq/sftseq/seq"
	"github.com/sftseq/sftseq/sft"
	"github.com/sftseq/sftseq/sft/config"
)

// TestCutTags checks that labels beyond the input window are counted but not measured, and that a row
// without labels is refused.
func TestCutTags(t *testing.T) {
	scorer := goldenScorer(t, "tagging", &config.InputWindow{Length: 4, Policy: "head"})
	cfg := scorer.Config()
	var data bytes.Buffer
	w, err := seq.NewWriter(&data, seq.Spec{Task: seq.Tagging, VocabSize: cfg.VocabSize,
		LabelNames: cfg.LabelNames}, seq.FileFormat)
	must.Succeed(t, err)
	for _, labels := range [][]int32{{0, 1, 2}, {0, 0, -1, 0, 1, -1, 2}, nil, {1, 1, 1, 1, 1}} {
		x := seq.Example{A: slices.Repeat([]int32{7}, max(1, len(labels))), Label: seq.NoLabel, Labels: labels}
		must.Succeed(t, w.Write(x))
	}
	must.Succeed(t, w.Close())
	r := must.Get(seq.NewReader(bytes.NewReader(data.Bytes()), "x"))(t)
	tags := &Tags{Tagging: metrics.NewTagging(cfg.LabelNames, cfg.NumLabels)}
	seen, refused := 0, ""
	e := &Evaluation{Name: "x", Scorer: scorer,
		Score: func(ctx context.Context, examples []seq.Example) ([]sft.Output, error) {
			return scorer.Examples(ctx, examples)
		}, Measure: tags,
		Seen: func(x *seq.Example, length int, logits []float32) {
			seen += length
			if len(x.Labels) != len(x.A) || len(logits) != len(x.A)*cfg.NumLabels {
				t.Errorf("row %d: got %d labels and %d logits for %d tokens, want %[4]d and %d", x.Index, len(x.Labels),
					len(logits), len(x.A), len(x.A)*cfg.NumLabels)
			}
		},
		Refused: func(_ *seq.Example, _ int, err error) { refused += err.Error() }}
	must.Succeed(t, e.Run(t.Context(), r, func(int64) {}))
	if e.CutTags != 3 || tags.Tokens() != 3+3+4 || tags.Rows != 3 || seen != 3+7+5 ||
		!strings.Contains(refused, "column label: expected a label for each token, found none") {
		t.Errorf("got %d labels cut, %d measured in %d rows of %d tokens, want 3, 10, 3 and 15; refused: %q, want "+
			"the row without labels", e.CutTags, tags.Tokens(), tags.Rows, seen, refused)
	}
}

// TestMeasures checks two methods of each measure: check must reject missing or invalid targets, and add
// must reject outputs that are not finite.
func TestMeasures(t *testing.T) {
	c := &sft.Config{Task: config.Tagging, Head: config.Head{NumLabels: 2}}
	row := seq.Example{A: []int32{1, 2}, Label: 1, Labels: []int32{0, 1}, Numbers: []float32{1, 2}}
	for _, test := range []struct {
		measure Measure
		corrupt func(x *seq.Example)
		want    string
	}{
		{Classes{metrics.NewTally(2)}, func(x *seq.Example) { x.Label = seq.NoLabel },
			"column label: expected a label, found none"},
		{Classes{metrics.NewTally(2)}, func(x *seq.Example) { x.Label = 2 }, "column label: expected 0 to 1, found 2"},
		{Labels{metrics.NewMultiLabel(2)}, func(x *seq.Example) { x.Labels = nil },
			"column label: found no labels"},
		{Labels{metrics.NewMultiLabel(2)}, func(x *seq.Example) { x.Labels = []int32{2} },
			"column label: label 2, expected 0 to 1"},
		{&Numbers{Regression: metrics.NewRegression(2)}, func(x *seq.Example) { x.Numbers = nil },
			"column numbers: expected numbers, found none"},
		{&Tags{Tagging: metrics.NewTagging(nil, 2)}, func(x *seq.Example) { x.Labels = nil },
			"column label: expected a label for each token, found none"},
		{&Tags{Tagging: metrics.NewTagging(nil, 2)}, func(x *seq.Example) { x.Labels = []int32{-1, 2} },
			"column label: token 1: expected 0 to 1, found 2"},
	} {
		x := row
		if err := test.measure.check(c, &x); err != nil {
			t.Errorf("%T: valid row: %v", test.measure, err)
		}
		for _, v := range []float64{math.NaN(), math.Inf(1), math.Inf(-1)} {
			err := test.measure.add(c, &x, 2, []float32{0, float32(v)})
			if err == nil {
				t.Errorf("%T: got no error for a logit of %v", test.measure, v)
			}
		}
		test.corrupt(&x)
		if err := test.measure.check(c, &x); err == nil || !strings.HasPrefix(err.Error(), test.want) {
			t.Errorf("%T: got error %v, want %s", test.measure, err, test.want)
		}
	}
}
