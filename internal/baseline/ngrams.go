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

// usualSlots is the number of slots of n-grams, of which models with many classes have fewer.
const usualSlots = 1 << 22

// smallVocabulary is the size up to which single tokens say little, so that longer n-grams are counted, as those of
// bytes or bases.
const smallVocabulary = 512

// NGrams are the n-grams that suit the rows of a data set, and the learning rate of a linear model of them.
func NGrams(ctx context.Context, set *seq.Dataset) (o ngram.Options, rate float64, err error) {
	what, err := countedOf(ctx, set, tokenizers.TypeOf(set.Manifest.Tokenizer))
	return what.nGrams(set.Manifest), what.rate, err
}

// fewRows is the number of training rows below which n-grams of a single row are used, too, and no longer ones than
// pairs of words. Of 500 film reviews this is worth a point of accuracy, of 2,000 nothing.
const fewRows = 1000

func (what counted) nGrams(s *seq.Manifest) ngram.Options {
	o := ngram.Options{Units: what.units, MinN: 1, MaxN: 3, Slots: usualSlots, MinCount: 2}
	if s.Splits["train"].Rows < fewRows {
		o.MinCount, o.MaxN = 1, 2
	}
	if !what.words && s.VocabSize <= smallVocabulary {
		o.MaxN = 6
	}
	return o
}

// nGrams is the linear model of package linear. What epoch it keeps the validation split decides, where there is one.
func nGrams(what counted, set *seq.Dataset, most limits) (*simple, error) {
	spec := set.Spec()
	o := what.nGrams(set.Manifest)
	config, err := linear.NewConfig(&spec, o)
	if err != nil {
		return nil, err
	}
	// Of many classes and long n-grams fewer rows are measured, and validation, which only chooses among five epochs,
	// reads still fewer.
	most.test = min(most.test, 8*most.nGrams*what.tokens/int64(o.Orders()*len(spec.LabelNames)))
	tokens := map[string]int64{"train": most.train, "val": min(most.train, most.test/8)}
	var model *linear.Model
	return &simple{
		name: what.name, most: most,
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
			o := linear.Options{Seed: 1, Rate: what.rate, Updates: most.nGrams, Progress: w.done}
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
		right: func(examples []seq.Example) int { return rightOf(model, examples) },
	}, nil
}

// rightOf counts the rows whose label has the largest logit, the first of equal ones, on all cores.
func rightOf(model *linear.Model, examples []seq.Example) int {
	var right atomic.Int64
	var group sync.WaitGroup
	workers := runtime.GOMAXPROCS(0)
	for w := range workers {
		group.Go(func() {
			p := model.NewPredictor()
			for i := w; i < len(examples); i += workers {
				if z := p.Logits(&examples[i]); slices.Index(z, slices.Max(z)) == int(examples[i].Label) {
					right.Add(1)
				}
			}
		})
	}
	group.Wait()
	return int(right.Load())
}

// sampled are rows of a file.
type sampled struct {
	file    *seq.File
	picked  []int
	lengths []int32
}

// sampledOf is a sample of a number of tokens of a file, the same one in each call.
func sampledOf(f *seq.File, tokens int64) *sampled {
	s := &sampled{file: f, picked: sample(f.Lengths(), tokens)}
	for _, i := range s.picked {
		s.lengths = append(s.lengths, f.Lengths()[i])
	}
	return s
}

func (s *sampled) Lengths() []int32 { return s.lengths }

func (s *sampled) Example(i int) (seq.Example, error) { return s.file.Example(s.picked[i]) }
