package task

import (
	"context"
	"fmt"

	"github.com/sftseq/sftseq/internal/evaluation"
	"github.com/sftseq/sftseq/internal/table"
	"github.com/sftseq/sftseq/seq"
	"github.com/sftseq/sftseq/sft"
)

// tagEvaluator measures the predicted tags of tokens.
type tagEvaluator struct {
	baseEvaluator
	config    *sft.Config
	tally     *evaluation.Tags
	baselines []*constantTags
	cut       int64 // number of labels beyond the input window
}

func newTagEvaluator(c *sft.Config) *tagEvaluator {
	return &tagEvaluator{config: c, tally: evaluation.NewTags(c)}
}

func (k *tagEvaluator) Begin(in *Input) error { return k.addBaselines(in.Data) }

// addBaselines adds the baselines from the training split of a data set.
func (k *tagEvaluator) addBaselines(data string) (err error) {
	k.baselines, err = newConstantTags(data, k.config)
	return err
}

func (k *tagEvaluator) Measure() evaluation.Measure { return k.tally }

func (k *tagEvaluator) See(x *seq.Example, _ []float32, cutTags int64) {
	k.cut += cutTags
	for _, s := range k.baselines {
		s.measure(x)
	}
}

func (k *tagEvaluator) Report(_ context.Context, evaluated Evaluated) (Report, error) {
	return k.result(evaluated)
}

func (k *tagEvaluator) result(evaluated Evaluated) (*TagsResult, error) {
	if k.tally.Tokens() == 0 {
		return nil, fmt.Errorf("%s: expected labelled tokens, found none in the %d evaluated rows",
			evaluated.rowsIn(), k.tally.Rows)
	}
	r := &TagsResult{Evaluated: evaluated, Rows: k.tally.Rows, Loss: k.tally.Loss / float64(k.tally.Tokens()),
		CutTags:   k.cut,
		TagScores: scoresOf(k.config, k.tally)}
	for _, s := range k.baselines {
		r.Baselines = append(r.Baselines, s.baseline(k.config))
	}
	return r, nil
}

func (k *tagEvaluator) Columns() []table.OutputColumn {
	out := []table.OutputColumn{{Name: partLabels, Kind: table.ListColumn}, {Name: partTags, Kind: table.ListColumn},
		{Name: partLoss, Kind: table.FloatColumn}, {Name: partCut, Kind: table.IntColumn}}
	if k.tally.Parts != nil {
		out = append(out, table.OutputColumn{Name: partAmong, Kind: table.ListColumn})
	}
	return out
}

func (k *tagEvaluator) Values(x *seq.Example, logits []float32, cutTags int64) []any {
	row := []any{x.Labels, k.config.TagsOf(logits), float32(k.config.TaggingLossOf(logits, *x)), cutTags}
	if k.tally.Parts != nil {
		row = append(row, k.tally.Predict(x.Labels, logits))
	}
	return row
}

func (k *tagEvaluator) Add(p *PartColumns, i int) error {
	labels, tags := p.list(partLabels, i), p.list(partTags, i)
	inCategory := tags
	if k.tally.Parts != nil {
		inCategory = p.list(partAmong, i)
	}
	if len(labels) != len(tags) || len(labels) != len(inCategory) {
		return fmt.Errorf("found %d labels, %d tags and %d tags within the category, expected equal counts",
			len(labels), len(tags), len(inCategory))
	}
	n := int32(k.config.NumLabels)
	known := func(tag int32) bool { return tag >= 0 && tag < n }
	for t, label := range labels {
		if label >= n || !known(tags[t]) || !known(inCategory[t]) {
			return fmt.Errorf("token %d has label %d and tags %d and %d, expected values below %d, and no negative tag",
				t, label, tags[t], inCategory[t], n)
		}
	}
	k.tally.Count(labels, tags, inCategory, p.float(partLoss, i))
	k.cut += p.integer(partCut, i)
	return nil
}
