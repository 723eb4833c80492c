package linear

import (
	"context"
	"slices"

	"github.com/sftseq/sftseq/seq"
)

// Refit trains a model on the rows of two splits together, with the choice that [Fit] made when it trained
// on train and validated on val. [Refits] is false for regressions and pairs, which Refit does not support.
func Refit(ctx context.Context, config *Config, train, val Rows, choice Choice, o Options) (*Model, *Report, error) {
	o.maxEpoch, o.scale = choice.Epoch, choice.Scale
	if choice.Rate > 0 {
		o.Rate = choice.Rate
	}
	return Fit(ctx, config, bothSplits{train, val}, nil, o)
}

// Refits reports whether [Refit] supports the models of a configuration.
func Refits(c *Config) bool { return c.Task != seq.Regression && c.Pairs == nil }

// bothSplits concatenates the rows of two splits.
type bothSplits [2]Rows

func (s bothSplits) Lengths() []int32 { return slices.Concat(s[0].Lengths(), s[1].Lengths()) }

func (s bothSplits) Example(i int) (seq.Example, error) {
	if first := len(s[0].Lengths()); i >= first {
		return s[1].Example(i - first)
	}
	return s[0].Example(i)
}
