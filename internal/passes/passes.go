// Package passes gives the benchmarks, the costs that info prints and the tests of devices
// the programs that package sft records, whose public interface has none.
package passes

import "github.com/sftseq/sftseq/internal/tensor"

// Record records the program of one pass of a model, forward or in training, for so many
// tokens in so many sequences. The configuration is an *sft.Config. Package sft sets it: it
// cannot be imported here.
var Record func(config any, training bool, tokens, sequences int) (*tensor.Program, error)
