package baseline

import (
	"context"

	"github.com/sftseq/sftseq/seq"
	"github.com/sftseq/sftseq/tokenizers"
)

// simple is a model that is shown the rows of the training split, some at a time, is
// trained on them, and then says how many of some others it answers right.
type simple struct {
	name   string
	window int // tokens of a row that it reads; 0 is all
	most   limits
	learn  func([]seq.Example)
	finish func(*work) (rows int, err error) // how many it was trained on
	train  func(*work) (rows int, err error) // in place of learn and finish, of a model that reads rows itself
	right  func([]seq.Example) int
}

// limits bound time and memory: of more tokens rows are sampled.
type limits struct {
	train, test int64
	updates     int   // updates of weights in training
	nGrams      int64 // updates of the weights of n-grams, in each of five epochs
}

// usual limits take some seconds of one core, and 400 MiB.
var usual = limits{train: 8 << 20, test: 16 << 20, updates: 200 << 20, nGrams: 32 << 20}

// times multiplies the limits of tokens by n.
func (l limits) times(n int64) limits {
	l.train, l.test = n*l.train, n*l.test
	return l
}

const (
	// maxClasses and maxMeans keep weights and means within memory.
	maxClasses = 256
	maxMeans   = 1 << 24

	// cheap is how much less time a token takes where it is but added to a sum.
	cheap = 8
)

// suited are the models that suit what is known of a data set, or none.
func suited(ctx context.Context, set *seq.Dataset, most limits) ([]*simple, error) {
	m := set.Manifest
	classes, tokenizer := len(m.LabelNames), tokenizers.TypeOf(m.Tokenizer)
	pair := m.Task == seq.Retrieval
	switch {
	case pair && classes != 2 || classes < 2 || classes > maxClasses:
		return nil, nil
	case m.FeatureNames != nil: // there are no ids to count
		return []*simple{moments(m, classes, most)}, nil
	case !pair && tokenizer == tokenizers.ListOps{}.Type():
		return []*simple{root(classes, most)}, nil
	}
	counted, err := countedOf(ctx, set, tokenizer)
	if err != nil {
		return nil, err
	}
	most = most.times(counted.tokens)
	if pair {
		return []*simple{cosine(counted, most)}, nil
	}
	first, err := nGrams(counted, set, most)
	if err != nil {
		return nil, err
	}
	out := []*simple{first}
	if length := levels(m, tokenizer); length > 0 && length*classes <= maxMeans {
		out = append(out, nearestMean(length, classes, most.times(cheap)))
	}
	return out, nil
}

// levels is the one length of all rows where ids are levels, of light or sound, or plain
// numbers that may be some; otherwise 0.
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
