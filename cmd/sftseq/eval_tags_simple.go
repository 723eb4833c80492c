package main

import (
	"io"
	"os"

	"github.com/sftseq/sftseq/internal/metrics"
	"github.com/sftseq/sftseq/seq"
	"github.com/sftseq/sftseq/sft"
)

// simpleTags is a model that gives each token the most frequent tag that it had in the training
// split, or the same tag to all.
type simpleTags struct {
	name  string
	most  int32           // the most frequent of all
	of    map[int32]int32 // by token; nil: the same for all
	tally *metrics.Tagging
}

func (s *simpleTags) tags(tokens []int32) []int32 {
	out := make([]int32, len(tokens))
	for i, token := range tokens {
		out[i] = s.most
		if tag, ok := s.of[token]; ok {
			out[i] = tag
		}
	}
	return out
}

// newSimpleTags counts the tags of a data set's training split; there are none without one.
func newSimpleTags(path string, config *sft.Config) ([]*simpleTags, error) {
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
	all, by := make([]int64, config.NumLabels), map[int32][]int64{}
	for {
		rows, err := in.Next()
		if err == io.EOF {
			break
		}
		if err != nil {
			return nil, err
		}
		for i := range rows.Len() {
			e := rows.Example(i)
			for t, label := range e.Labels {
				if label < 0 || int(label) >= config.NumLabels {
					continue
				}
				counts := by[e.A[t]]
				if counts == nil {
					counts = make([]int64, config.NumLabels)
					by[e.A[t]] = counts
				}
				all[label]++
				counts[label]++
			}
		}
	}
	most := &simpleTags{name: "the most frequent tag", most: mostFrequent(all)}
	each := &simpleTags{name: "the most frequent tag of each token", most: most.most, of: map[int32]int32{}}
	for token, counts := range by {
		each.of[token] = mostFrequent(counts)
	}
	for _, s := range []*simpleTags{most, each} {
		s.tally = metrics.NewTagging(config.LabelNames, config.NumLabels)
	}
	return []*simpleTags{most, each}, nil
}

// mostFrequent is the first of the largest.
func mostFrequent(counts []int64) int32 {
	best := 0
	for i, n := range counts {
		if n > counts[best] {
			best = i
		}
	}
	return int32(best)
}
