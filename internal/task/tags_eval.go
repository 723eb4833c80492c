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
	aloneEvaluator
	config *sft.Config
	tally  *evaluation.Tags
	simple []*constantTags
	cut    int64
}

func newTagEvaluator(c *sft.Config) *tagEvaluator {
	return &tagEvaluator{config: c, tally: evaluation.NewTags(c)}
}

func (k *tagEvaluator) Begin(in *Input) error { return k.compare(in.Data) }

// compare adds the baselines from the training split of a data set.
func (k *tagEvaluator) compare(data string) (err error) {
	k.simple, err = newConstantTags(data, k.config)
	return err
}

func (k *tagEvaluator) Measure() evaluation.Measure { return k.tally }

func (k *tagEvaluator) See(x *seq.Example, _ []float32, cutTags int64) {
	k.cut += cutTags
	for _, s := range k.simple {
		s.see(x)
	}
}

func (k *tagEvaluator) Report(_ context.Context, of Evaluated) (Report, error) { return k.result(of) }

func (k *tagEvaluator) result(of Evaluated) (*TagsResult, error) {
	if k.tally.Tokens() == 0 {
		return nil, fmt.Errorf("%s: expected labelled tokens, found none in the %d evaluated rows",
			of.rowsIn(), k.tally.Rows)
	}
	r := &TagsResult{Evaluated: of, Rows: k.tally.Rows, Loss: k.tally.Loss / float64(k.tally.Tokens()), CutTags: k.cut,
		TagScores: scoresOf(k.config, k.tally)}
	for _, s := range k.simple {
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
		row = append(row, k.tally.Among(x.Labels, logits))
	}
	return row
}

func (k *tagEvaluator) Add(p *PartColumns, i int) error {
	labels, tags := p.list(partLabels, i), p.list(partTags, i)
	among := tags
	if k.tally.Parts != nil {
		among = p.list(partAmong, i)
	}
	if len(labels) != len(tags) || len(labels) != len(among) {
		return fmt.Errorf("found %d labels, %d tags and %d tags within the category, expected equal counts",
			len(labels), len(tags), len(among))
	}
	n := int32(k.config.NumLabels)
	known := func(tag int32) bool { return tag >= 0 && tag < n }
	for t, label := range labels {
		if label >= n || !known(tags[t]) || !known(among[t]) {
			return fmt.Errorf("token %d has label %d and tags %d and %d, expected values below %d", t,
				label, tags[t], among[t], n)
		}
	}
	k.tally.Count(labels, tags, among, p.real(partLoss, i))
	k.cut += p.whole(partCut, i)
	return nil
}
