package baseline

import (
	"context"

	"github.com/sftseq/sftseq/seq"
	"github.com/sftseq/sftseq/tokenizers"
)

// baseline is a fast method whose accuracy is compared with the accuracy of a trained model. learn
// receives the training rows in batches, finish completes training, and countCorrect counts the
// correctly predicted rows of a batch.
type baseline struct {
	name         string
	window       int // maximum tokens per row; 0 means all
	limits       limits
	learn        func([]seq.Example)
	finish       func(*work) (rows int, err error) // returns the number of training rows
	train        func(*work) (rows int, err error) // replaces learn and finish for models that read rows themselves
	countCorrect func([]seq.Example) int
}

// limits bounds time and memory. train and test are numbers of tokens; a larger split is sampled.
type limits struct {
	train, test int64
	updates     int   // maximum weight updates in training
	nGrams      int64 // maximum weight updates of n-grams per epoch, with five epochs
}

// usual holds the limits of [Measure]. They keep a baseline to 400 MiB and, except on images, to a few
// seconds on one core.
var usual = limits{train: 8 << 20, test: 16 << 20, updates: 200 << 20, nGrams: 32 << 20}

// times returns the limits with the token limits multiplied by n.
func (l limits) times(n int64) limits {
	l.train, l.test = n*l.train, n*l.test
	return l
}

const (
	// maxClasses and maxMeans bound the memory of weights and means.
	maxClasses = 256
	maxMeans   = 1 << 24

	// cheap is the factor by which the token limits are larger for models that only sum tokens.
	cheap = 8
)

// suited returns the baselines to train on a data set, or nil if none suits it.
func suited(ctx context.Context, set *seq.Dataset, limits limits) ([]*baseline, error) {
	m := set.Manifest
	classes, tokenizer := len(m.LabelNames), tokenizers.TypeOf(m.Tokenizer)
	pair := m.Task == seq.Retrieval
	switch {
	case pair && classes != 2 || classes < 2 || classes > maxClasses:
		return nil, nil
	case m.FeatureNames != nil: // rows with features have no token ids
		return []*baseline{moments(m, classes, limits)}, nil
	case !pair && tokenizer == tokenizers.ListOps{}.Type():
		return []*baseline{root(classes, limits)}, nil
	}
	counted, err := countedOf(ctx, set, tokenizer)
	if err != nil {
		return nil, err
	}
	limits = limits.times(counted.tokens)
	if pair {
		return []*baseline{cosine(counted, limits)}, nil
	}
	first, err := nGrams(counted, set, limits)
	if err != nil {
		return nil, err
	}
	out := []*baseline{first}
	if length := levels(m, tokenizer); length > 0 && length*classes <= maxMeans {
		out = append(out, nearestMean(length, classes, limits.times(cheap)))
	}
	return out, nil
}

// levels returns the common length of all rows if token ids are intensity or audio levels, or plain
// ids that may be levels. Otherwise it returns 0.
func levels(m *seq.Manifest, tokenizer string) int {
	switch tokenizer {
	case tokenizers.Pixel{}.Type(), tokenizers.MuLaw{}.Type(), tokenizers.IDs{}.Type():
	default:
		return 0
	}
	length := m.Splits["train"].Lengths.Max
	for _, s := range m.Splits {
		if s.Rows > 0 && (s.Lengths.Min != length || s.Lengths.Max != length) {
			return 0
		}
	}
	return int(length)
}
