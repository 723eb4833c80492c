package baseline

import (
	"context"
	"errors"
	"runtime"
	"slices"
	"sync"
	"sync/atomic"

	"github.com/sftseq/sftseq/internal/linear"
	"github.com/sftseq/sftseq/internal/ngram"
	"github.com/sftseq/sftseq/seq"
	"github.com/sftseq/sftseq/tokenizers"
)

// usualSlots is the number of hash slots for n-grams. linear.NewConfig reduces it if there are many
// classes.
const usualSlots = 1 << 22

// smallVocabulary is the vocabulary size up to which n-grams have up to six tokens, not three:
// single tokens such as bytes or bases carry little information.
const smallVocabulary = 512

// NGrams returns the n-gram options that suit the rows of a data set, and the learning rate of a
// linear model on these n-grams. A rate of 0 means the default.
func NGrams(ctx context.Context, set *seq.Dataset) (o ngram.Options, rate float64, err error) {
	c, err := countedOf(ctx, set, tokenizers.TypeOf(set.Manifest.Tokenizer))
	return c.nGrams(set.Manifest), c.rate, err
}

// fewRows is the number of training rows below which n-grams that occur in a single row are kept,
// and n-grams of words, or of tokens of a large vocabulary, have at most two units. Together these
// settings raise the accuracy by one percentage point with 500 film reviews, and do not change it
// with 2,000.
const fewRows = 1000

func (c counted) nGrams(s *seq.Manifest) ngram.Options {
	o := ngram.Options{Units: c.units, MinN: 1, MaxN: 3, Slots: usualSlots, MinCount: 2}
	if s.Splits["train"].Rows < fewRows {
		o.MinCount, o.MaxN = 1, 2
	}
	if !c.words && s.VocabSize <= smallVocabulary {
		o.MaxN = 6
	}
	return o
}

// nGrams returns the baseline that trains a linear model of n-grams. The validation split, if any,
// selects the epoch whose weights are kept.
func nGrams(c counted, set *seq.Dataset, limits limits) (*baseline, error) {
	spec := set.Spec()
	o := c.nGrams(set.Manifest)
	config, err := linear.NewConfig(&spec, o)
	if err != nil {
		return nil, err
	}
	// The time of a prediction grows with the number of classes and of n-gram lengths. Validation uses
	// at most an eighth of the test tokens, because it only selects one of five epochs.
	limits.test = min(limits.test, 8*limits.nGrams*c.tokens/int64(o.Orders()*len(spec.LabelNames)))
	tokens := map[string]int64{"train": limits.train, "val": min(limits.train, limits.test/8)}
	var model *linear.Model
	return &baseline{
		name: c.name, limits: limits,
		train: func(w *work) (int, error) {
			rows := [2]linear.Rows{}
			for i, split := range []string{"train", "val"} {
				if set.Manifest.Splits[split].Rows == 0 {
					continue
				}
				f, err := set.Open(split)
				if err != nil {
					return 0, err
				}
				defer f.Close()
				rows[i] = sampledOf(f, tokens[split])
			}
			o := linear.Options{Seed: 1, Rate: c.rate, Updates: limits.nGrams, Progress: w.done}
			var report *linear.Report
			model, report, err = linear.Fit(w.ctx, config, rows[0], rows[1], o)
			if errors.Is(err, linear.ErrNothingToLearn) {
				return 0, noLabels(set.Dir, "train", len(rows[0].Lengths()))
			}
			if err != nil {
				return 0, err
			}
			return report.Rows, nil
		},
		countCorrect: func(examples []seq.Example) int { return countCorrect(model, examples) },
	}, nil
}

// countCorrect returns the number of rows whose label is the first class with the largest logit. It
// uses all cores.
func countCorrect(model *linear.Model, examples []seq.Example) int {
	var correct atomic.Int64
	var group sync.WaitGroup
	workers := runtime.GOMAXPROCS(0)
	for w := range workers {
		group.Go(func() {
			p := model.NewPredictor()
			for i := w; i < len(examples); i += workers {
				if z := p.Logits(&examples[i]); slices.Index(z, slices.Max(z)) == int(examples[i].Label) {
					correct.Add(1)
				}
			}
		})
	}
	group.Wait()
	return int(correct.Load())
}

// sampled is a subset of the rows of a file.
type sampled struct {
	file    *seq.File
	picked  []int
	lengths []int32
}

// sampledOf returns a sample of rows with at most the given number of tokens, but at least one row.
// Every call selects the same rows.
func sampledOf(f *seq.File, tokens int64) *sampled {
	s := &sampled{file: f, picked: sample(f.Lengths(), tokens)}
	for _, i := range s.picked {
		s.lengths = append(s.lengths, f.Lengths()[i])
	}
	return s
}

func (s *sampled) Lengths() []int32 { return s.lengths }

func (s *sampled) Example(i int) (seq.Example, error) { return s.file.Example(s.picked[i]) }
