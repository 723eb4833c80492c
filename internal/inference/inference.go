// Package inference runs the models of the commands predict and embed: it reads lines of JSON or rows of
// tables in batches and writes a reply to each line or row, in the same order.
//
// As in a server, package requests parses the requests and makes the replies, so that serve and
// predict return the same numbers. Only the scheduling differs: predict reads the next batch while
// the model computes the previous batch, and a server has a queue that shares the model between
// clients.
package inference

import (
	"context"
	"errors"

	"github.com/apache/arrow/go/v15/arrow"

	"github.com/sftseq/sftseq/internal/requests"
	"github.com/sftseq/sftseq/seq"
	"github.com/sftseq/sftseq/sft"
	"github.com/sftseq/sftseq/tokenizers"
)

// Model replies to requests of one kind.
type Model struct {
	// Sequences are the allowed numbers of sequences per request: 1, 2, or either.
	Sequences []int
	// Record converts an Arrow record of sequences to a record of results; nil for a model of [Filler].
	Record func(context.Context, arrow.Record) (arrow.Record, error)
	// Longest is the number of tokens of the longest training row; 0 means unknown. LongRequests
	// counts the requests longer than [MaxLengthRatio] times Longest. LongestRequest is the number of
	// tokens of the longest such request.
	Longest, LongRequests, LongestRequest int
	// Pixels is the number of pixels of every training image; 0 for other models and for images of
	// several sizes. OtherSizes counts the requests with another number of tokens.
	Pixels, OtherSizes int
	// Unknown is the id of unknown words, or nil. UnknownRequests counts the requests whose fraction of
	// unknown words exceeds [MaxUnknown].
	Unknown         *int32
	UnknownRequests int
	// OutlierRequests counts the requests with a feature whose root mean square deviation from the
	// training mean exceeds [MaxDeviations] standard deviations of the training data.
	OutlierRequests int

	config *sft.Config
	// replies returns a reply for each of the requests, which are all valid. A *requests.Failure in
	// place of a reply is the error of the request.
	replies      func(ctx context.Context, batch []*requests.Request) ([]any, error)
	reply        func(r *requests.Request, o sft.Output) any                // nil for a model of Filler
	columns      func(c *sft.Config, format string, pair bool) replyColumns // nil for a model of Filler
	hasPositions bool                                                       // predictions are [requests.Spans]
}

// MaxLengthRatio is the multiple of the length of the longest training row above which the quality of a
// prediction is unknown.
const MaxLengthRatio = 2

// MaxUnknown is the fraction of unknown words above which a prediction hardly depends on the text.
const MaxUnknown = 0.9

// measure counts requests that are unlike the training rows: much longer requests, images of another
// size, texts of mostly unknown words, and outlying features.
func (m *Model) measure(batch []*requests.Request) {
	for _, r := range batch {
		m.measureLength(r.Tokens())
		if m.Pixels > 0 && r.Tokens() != m.Pixels {
			m.OtherSizes++
		}
		if m.Unknown != nil && float64(count(r.Sequences, *m.Unknown)) > MaxUnknown*float64(r.Tokens()) {
			m.UnknownRequests++
		}
		if m.isOutlier(r.Features) {
			m.OutlierRequests++
		}
	}
}

// count returns how often a token occurs in sequences.
func count(sequences [][]int32, token int32) (n int) {
	for _, s := range sequences {
		for _, t := range s {
			if t == token {
				n++
			}
		}
	}
	return n
}

// measureLength counts a request of n tokens if it is much longer than the training rows.
func (m *Model) measureLength(n int) {
	if m.Longest > 0 && n > MaxLengthRatio*m.Longest {
		m.LongRequests, m.LongestRequest = m.LongRequests+1, max(m.LongestRequest, n)
	}
}

// MaxDeviations is the number of standard deviations above which the units of a series probably differ from
// the units of the training data.
const MaxDeviations = 10

// isOutlier reports whether the root mean square of a feature, after standardisation with the mean and
// the deviation of the training data, exceeds MaxDeviations.
func (m *Model) isOutlier(features [][]float32) bool {
	for j, s := range m.config.FeatureScales {
		sum := 0.0
		for _, f := range features {
			z := (float64(f[j]) - s.Mean) / s.Deviation
			sum += z * z
		}
		if s.Deviation > 0 && sum > MaxDeviations*MaxDeviations*float64(len(features)) {
			return true
		}
	}
	return false
}

// Task is the part of a model's task that a [Predictor] needs. Package task has an implementation
// for each task.
type Task interface {
	requests.Task
	// Columns returns the columns of a reply in a table of the given format.
	Columns(format string) requests.Columns
	// HasPositions reports whether predictions are [requests.Spans], which have positions in the text.
	HasPositions() bool
}

// Predictor returns a model that replies with predictions: a [requests.Reply], with an explanation
// if explain is set. The explanation has the text of n-grams unless tokenizer is nil.
func Predictor(t Task, scorer *sft.Scorer, explain bool, tokenizer tokenizers.Tokenizer) *Model {
	c, score := scorer.Config(), scorer.Examples
	if explain {
		score = scorer.Explain
	}
	reply := func(r *requests.Request, o sft.Output) any { return orFailure(requests.NewReply(t, c, r, o)) }
	return &Model{Sequences: []int{c.Sequences()}, Record: scorer.Score, config: c,
		columns: predictionColumns(t), hasPositions: t.HasPositions(), reply: reply,
		replies: func(ctx context.Context, batch []*requests.Request) ([]any, error) {
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
				addTexts(tokenizer, batch[i], o)
				batch[i].InRow(c, o)
				replies[i] = reply(batch[i], o)
			}
			return replies, nil
		}}
}

// addTexts adds the text of each n-gram to the explanations of an output. It does nothing if tokenizer is
// nil.
func addTexts(tokenizer tokenizers.Tokenizer, r *requests.Request, o sft.Output) {
	if tokenizer == nil {
		return
	}
	for i, e := range o.Explanations {
		if e.Linear == nil {
			continue
		}
		for _, list := range [][]sft.NGramExplanation{e.Linear.NGrams, e.Linear.Shared} {
			for n := range list {
				place := list[n].Places[0]
				list[n].Text = tokenizer.Decode(r.Sequences[i][place[0]:place[1]])
			}
		}
	}
}

// Embedder returns a model that replies with [requests.Embedding] to single sequences, and for
// retrieval also to pairs.
func Embedder(scorer *sft.Scorer) *Model {
	c := scorer.Config()
	return &Model{Sequences: []int{1, c.Sequences()}, Record: scorer.Embed, config: c, columns: embeddingColumns,
		reply: func(r *requests.Request, o sft.Output) any {
			return orFailure(requests.NewEmbedding(c, r, o.Embeddings))
		},
		replies: func(ctx context.Context, batch []*requests.Request) ([]any, error) {
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
	p.RecordOffsets, p.LengthAdvice = m.hasPositions, "--truncate reads its beginning"
	return p
}

// Filler returns a model that replies with [requests.Filling], with the given number of candidates
// per mask. tokenizer may be nil.
func Filler(scorer *sft.Scorer, tokenizer tokenizers.Tokenizer, candidates int) *Model {
	c := scorer.Config()
	return &Model{Sequences: []int{1}, config: c,
		replies: func(ctx context.Context, batch []*requests.Request) ([]any, error) {
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

// orFailure returns a reply, or the failure that replaces it.
func orFailure[R any](reply R, err error) any {
	if err == nil {
		return reply
	}
	if f, ok := errors.AsType[*requests.Failure](err); ok {
		return f
	}
	return &requests.Failure{Code: requests.CodeInternal, Message: err.Error()}
}

// Reply returns a reply for each request of a batch: the model's reply, or a [requests.Refusal] if
// the request is invalid or fails.
func (m *Model) Reply(ctx context.Context, batch []*requests.Request) ([]any, error) {
	var good []*requests.Request
	for _, r := range batch {
		if r.Failure == nil {
			good = append(good, r)
		}
	}
	var replies []any
	if len(good) > 0 {
		var err error
		m.measure(good)
		if replies, err = m.replies(ctx, good); err != nil {
			return nil, err
		}
	}
	out := make([]any, len(batch))
	for i, r := range batch {
		f := r.Failure
		if f == nil {
			out[i] = replies[0]
			replies = replies[1:]
			f, _ = out[i].(*requests.Failure)
		}
		if f != nil {
			out[i] = requests.Refusal{ID: r.ID, Error: f}
		}
	}
	return out, nil
}
