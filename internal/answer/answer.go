// Package answer has a model answer what predict and embed are asked: lines of JSON and rows
// of tables, as many at a time as a batch takes, in their order.
//
// Package requests reads each and makes its reply, as it does for a server: an answer of
// serve and a line of predict have the same numbers. What differs is who waits: here the
// next batch is read while one is computed, there a queue shares the model between clients.
package answer

import (
	"context"
	"errors"

	"github.com/apache/arrow/go/v15/arrow"

	"github.com/sftseq/sftseq/internal/requests"
	"github.com/sftseq/sftseq/seq"
	"github.com/sftseq/sftseq/sft"
	"github.com/sftseq/sftseq/tokenizers"
)

// Model answers requests in one way.
type Model struct {
	// Sequences are how many a request may hold: 1, 2, or either.
	Sequences []int
	// Record makes a record of results from an Arrow record of sequences.
	Record func(context.Context, arrow.Record) (arrow.Record, error)
	// Longest is the number of tokens of the longest row of training; 0 means unknown. Far counts the requests with
	// more than [FarLonger] times that number. The longest request has Most.
	Longest, Far, Most int
	// Off counts the requests with numbers that are more than [FarOff] deviations off those of training.
	Off int

	config *sft.Config
	// answer returns a reply for each of the requests, all of which are good. A
	// *requests.Failure in place of a reply is that request's own error.
	answer  func(ctx context.Context, batch []*requests.Request) ([]any, error)
	columns func(c *sft.Config, format string, pair bool) replyColumns // of a table's rows
	places  bool                                                       // answers are [requests.Spans]
}

// FarLonger is the factor of the longest row of training beyond which the quality of an answer is unknown.
const FarLonger = 2

// measure counts requests that are far longer than the rows of training.
func (m *Model) measure(batch []*requests.Request) {
	for _, r := range batch {
		if n := r.Tokens(); m.Longest > 0 && n > FarLonger*m.Longest {
			m.Far, m.Most = m.Far+1, max(m.Most, n)
		}
		if m.isOff(r.Features) {
			m.Off++
		}
	}
}

// FarOff is the number of deviations beyond which a series is in other units than those of training.
const FarOff = 10

// isOff reports whether the root mean square of the numbers of one name, standardised as in training, is above FarOff.
func (m *Model) isOff(features [][]float32) bool {
	for j, s := range m.config.FeatureScales {
		sum := 0.0
		for _, f := range features {
			z := (float64(f[j]) - s.Mean) / s.Deviation
			sum += z * z
		}
		if s.Deviation > 0 && sum > FarOff*FarOff*float64(len(features)) {
			return true
		}
	}
	return false
}

// Task is what a [Predictor] needs of a model's task. Package task has one for each.
type Task interface {
	requests.Task
	// Columns are those of an answer in a table of a format.
	Columns(format string) requests.Columns
	// HasPlaces reports whether answers are [requests.Spans], which have places in the text.
	HasPlaces() bool
}

// Predictor replies with the answers of a task: a [requests.Reply], with an explanation if explain is set.
func Predictor(t Task, scorer *sft.Scorer, explain bool) *Model {
	c, score := scorer.Config(), scorer.Examples
	if explain {
		score = scorer.Explain
	}
	return &Model{Sequences: []int{c.Sequences()}, Record: scorer.Score, config: c,
		columns: predictionColumns(t), places: t.HasPlaces(),
		answer: func(ctx context.Context, batch []*requests.Request) ([]any, error) {
			examples := make([]seq.Example, len(batch))
			for i, r := range batch {
				examples[i] = r.Example()
			}
			outputs, err := score(ctx, examples)
			if err != nil {
				return nil, err
			}
			replies := make([]any, len(batch))
			for i, o := range outputs {
				replies[i] = orFailure(requests.NewReply(t, c, batch[i], o))
			}
			return replies, nil
		}}
}

// Embedder embeds single sequences, and of a retrieval model pairs too: [requests.Embedding].
func Embedder(scorer *sft.Scorer) *Model {
	c := scorer.Config()
	return &Model{Sequences: []int{1, c.Sequences()}, Record: scorer.Embed, config: c, columns: embeddingColumns,
		answer: func(ctx context.Context, batch []*requests.Request) ([]any, error) {
			var sequences []seq.Example
			for _, r := range batch {
				for _, tokens := range r.Sequences {
					sequences = append(sequences, seq.Example{A: tokens, Features: r.Features, Edges: r.Edges})
				}
			}
			vectors, err := scorer.EmbedExamples(ctx, sequences)
			if err != nil {
				return nil, err
			}
			replies := make([]any, len(batch))
			for i, r := range batch {
				n := len(r.Sequences)
				replies[i] = orFailure(requests.NewEmbedding(c, r, vectors[:n]))
				vectors = vectors[n:]
			}
			return replies, nil
		}}
}

// Parser returns a parser of the model's requests, see [requests.NewParser].
func (m *Model) Parser(dir, file string) *requests.Parser {
	p := requests.NewParser(m.config, dir, file, m.Sequences...)
	p.Places = m.places
	return p
}

// Filler fills masks: [requests.Filling], with so many candidates for each. The tokenizer is
// nil where there is none.
func Filler(scorer *sft.Scorer, tokenizer tokenizers.Tokenizer, candidates int) *Model {
	c := scorer.Config()
	return &Model{Sequences: []int{1}, config: c,
		answer: func(ctx context.Context, batch []*requests.Request) ([]any, error) {
			sequences := make([][]int32, len(batch))
			for i, r := range batch {
				sequences[i] = r.Sequences[0]
			}
			logits, err := scorer.Fill(ctx, sequences)
			if err != nil {
				return nil, err
			}
			replies := make([]any, len(batch))
			for i, r := range batch {
				replies[i] = orFailure(requests.NewFilling(c, tokenizer, r, logits[i], candidates))
			}
			return replies, nil
		}}
}

// orFailure is a reply, or the failure that takes its place.
func orFailure[R any](reply R, err error) any {
	var f *requests.Failure
	if errors.As(err, &f) {
		return f
	}
	return reply
}

// Answer returns a reply for each of a batch of requests: to a good one that of the model,
// to any other a [requests.Refusal].
func (m *Model) Answer(ctx context.Context, batch []*requests.Request) ([]any, error) {
	var good []*requests.Request
	for _, r := range batch {
		if r.Failure == nil {
			good = append(good, r)
		}
	}
	var answers []any
	if len(good) > 0 {
		var err error
		m.measure(good)
		if answers, err = m.answer(ctx, good); err != nil {
			return nil, err
		}
	}
	out := make([]any, len(batch))
	for i, r := range batch {
		f := r.Failure
		if f == nil {
			out[i] = answers[0]
			answers = answers[1:]
			f, _ = out[i].(*requests.Failure)
		}
		if f != nil {
			out[i] = requests.Refusal{ID: r.ID, Error: f}
		}
	}
	return out, nil
}
