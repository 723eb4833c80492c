package task

import (
	"context"
	"fmt"

	"github.com/sftseq/sftseq/seq"
	"github.com/sftseq/sftseq/sft"
)

// forEachRow calls visit for each row of the validation split, truncated to the model's input.
func forEachRow(set *seq.Dataset, config *sft.Config, visit func(x *seq.Example)) error {
	f, err := config.OpenSplit(set, "val")
	if err != nil {
		return err
	}
	defer f.Close()
	for i := range f.Len() {
		x, err := f.Example(i)
		if err != nil {
			return err
		}
		visit(&x)
	}
	return nil
}

// Baselines returns nil, because data convert measures the classification baselines.
func (classes) Baselines(context.Context, *seq.Dataset, string) ([]Score, error) { return nil, nil }

func (masks) Baselines(context.Context, *seq.Dataset, string) ([]Score, error) { return nil, nil }

// Baselines returns the scores of the baselines that predict the most frequent tags.
func (t spans) Baselines(_ context.Context, set *seq.Dataset, _ string) ([]Score, error) {
	return tagBaselines(set, t.config)
}

// Baselines returns the scores of the baselines that predict the most frequent tags.
func (t nodeTags) Baselines(_ context.Context, set *seq.Dataset, _ string) ([]Score, error) {
	return tagBaselines(set, t.config)
}

// tagBaselines returns the scores of the baselines of [newConstantTags] on the validation split.
func tagBaselines(set *seq.Dataset, config *sft.Config) (scores []Score, err error) {
	baselines, err := newConstantTags(set.Dir, config)
	if err != nil {
		return nil, err
	}
	err = forEachRow(set, config, func(x *seq.Example) {
		if x.Labels == nil {
			return
		}
		for _, s := range baselines {
			s.measure(x)
		}
	})
	for _, s := range baselines {
		if b := s.baseline(config); s.tally.Tokens() > 0 {
			text, value := fmt.Sprintf("%s %.2f%% macro F1 %.4f", b.Name, 100*b.Accuracy, b.MacroF1), b.MacroF1
			if b.SpanF1 != nil {
				text += fmt.Sprintf(" span F1 %.4f", *b.SpanF1)
				value = *b.SpanF1
			}
			if b.InstanceIoU != nil {
				text += fmt.Sprintf(" instance IoU %.4f", *b.InstanceIoU)
				value = *b.InstanceIoU
			}
			scores = append(scores, Score{b.Name, text, value})
		}
	}
	return scores, err
}
