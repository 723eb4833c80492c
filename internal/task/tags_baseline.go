package task

import (
	"os"
	"slices"

	"github.com/sftseq/sftseq/internal/evaluation"
	"github.com/sftseq/sftseq/seq"
	"github.com/sftseq/sftseq/sft"
)

// constantTags is a baseline that predicts the most frequent tag in the training split: the same
// tag for all tokens, one per token id, or one per category.
type constantTags struct {
	name            string
	tag             int32           // most frequent tag of all tokens
	byToken         map[int32]int32 // most frequent tag by token id; nil means the same tag for all tokens
	partFrequencies []float32       // number of training tokens of each part; nil if tags are not parts
	tally           *evaluation.Tags
}

// measure adds the predictions of the baseline for a row.
func (s *constantTags) measure(x *seq.Example) {
	tags := s.tags(x)
	s.tally.Count(x.Labels, tags, tags, 0)
}

func (s *constantTags) tags(x *seq.Example) []int32 {
	if s.partFrequencies != nil {
		return s.tally.Predict(x.Labels, slices.Repeat(s.partFrequencies, len(x.Labels)))
	}
	out := make([]int32, len(x.Labels))
	for i := range out {
		out[i] = s.tag
		if s.byToken == nil {
			continue
		}
		if tag, ok := s.byToken[x.A[i]]; ok {
			out[i] = tag
		}
	}
	return out
}

// baseline returns the scores of the baseline.
func (s *constantTags) baseline(config *sft.Config) TagBaseline {
	out := TagBaseline{Name: s.name, Accuracy: s.tally.Accuracy(), MacroF1: s.tally.MacroF1()}
	if !config.HasFeatures() {
		out.SpanF1 = new(s.tally.SpanF1())
	}
	if p := s.tally.Parts; p != nil {
		out.InstanceIoU, out.ClassIoU = new(p.InstanceIoU()), new(p.ClassIoU())
	}
	return out
}

// newConstantTags returns the baselines from the training split of a data set. It returns nil if path
// is not a directory, or if the data set has no training split.
func newConstantTags(path string, config *sft.Config) ([]*constantTags, error) {
	if info, err := os.Stat(path); path == "-" || err != nil || !info.IsDir() {
		return nil, nil
	}
	set, err := seq.OpenDataset(path)
	if err != nil || set.Manifest.Splits["train"].Rows == 0 {
		return nil, err
	}
	in, err := set.Reader("train")
	if err != nil {
		return nil, err
	}
	defer in.Close()
	counts, byToken := make([]int64, config.NumLabels), map[int32][]int64{}
	for rows, err := range in.All() {
		if err != nil {
			return nil, err
		}
		for i := range rows.Len() {
			e := rows.Example(i)
			for t, label := range e.Labels {
				if label < 0 || int(label) >= config.NumLabels {
					continue
				}
				if counts[label]++; config.HasFeatures() {
					continue
				}
				tokenCounts := byToken[e.A[t]]
				if tokenCounts == nil {
					tokenCounts = make([]int64, config.NumLabels)
					byToken[e.A[t]] = tokenCounts
				}
				tokenCounts[label]++
			}
		}
	}
	single := &constantTags{name: "the most frequent tag", tag: mostFrequent(counts)}
	single.tally = evaluation.NewTags(config)
	switch {
	case single.tally.Parts != nil:
		single.name = "the most frequent part of the category"
		for _, n := range counts {
			single.partFrequencies = append(single.partFrequencies, float32(n))
		}
	case !config.HasFeatures():
		perToken := &constantTags{name: "the most frequent tag of each token", tag: single.tag,
			byToken: map[int32]int32{},
			tally:   evaluation.NewTags(config)}
		for token, counts := range byToken {
			perToken.byToken[token] = mostFrequent(counts)
		}
		return []*constantTags{single, perToken}, nil
	}
	return []*constantTags{single}, nil
}

// mostFrequent returns the index of the largest count, the first of equal counts.
func mostFrequent(counts []int64) int32 {
	return int32(slices.Index(counts, slices.Max(counts)))
}
