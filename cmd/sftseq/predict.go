package main

import (
	"context"
	"errors"

	"github.com/urfave/cli/v2"

	"github.com/sftseq/sftseq/internal/requests"
	"github.com/sftseq/sftseq/seq"
	"github.com/sftseq/sftseq/sft"
)

// linesHelp is what predict and embed say about their input.
const linesHelp = `A line of input is a JSON object:
   {"id": 7, "tokens": [12, 3, 10, 15]}
   {"id": "b", "text": "[MAX 2 9 ]"}
   {"tokens_a": [65, 66], "text_b": "ab"}       a pair, for a retrieval model
The id is any JSON value and comes back in the reply; without one it is the
number of the line. Other fields are passed over. Replies keep the order of the
lines and appear as soon as they are known. A bad line is answered by
   {"id": 7, "error": {"code": -32602, "message": "FILE:3: tokens: …"}}
and the rest goes on; the exit status is then 1. The codes:
   -32700  not a line of JSON, or longer than --max-line
   -32600  not an object with the sequences that the model takes
   -32602  a sequence that the model cannot read: empty, too long, bad tokens
   -32603  the model's output is not finite
A sequence longer than the model accepts is an error, unless --truncate reads
its head, or the model has an input window that does; "used" then says how many
tokens were read.

` + tableHelp + `

Where both are Arrow and no column is named, an Arrow file or stream with the column
tokens (or tokens_a and tokens_b) is read batch by batch, and an Arrow file of the same
rows is written, with logits as vectors; a row that cannot be read ends it. A column id
is copied. Tokens are ids, plus first_token_id where the schema's metadata has
that: of text as bytes, each byte plus 1, or the bytes with first_token_id 1.`

func lineFlags() []cli.Flag {
	return append(append(modelFlags(),
		&cli.BoolFlag{Name: "truncate", Usage: "read the head of a sequence that is too long"},
		maxLineFlag(),
	), tableFlags()...)
}

func predictCommand() *cli.Command {
	return &cli.Command{
		Name:      "predict",
		Usage:     "classify sequences: JSON lines or tables in, labels and probabilities out",
		ArgsUsage: "[FILE]",
		UsageText: `sftseq predict --model DIR [flags] [FILE]
sftseq predict --model DIR [flags] --input FILE --text COLUMN [--output FILE]

Example: sftseq predict --model runs/reviews --input reviews.csv --text review --id key --keep stars --output scored.csv
         echo '{"text":"[MAX 2 9 ]"}' | sftseq predict --model runs/listops`,
		Description: `Reads FILE (standard input if absent or -) and writes for each line
   {"id": 7, "label": …, "logits": […], "probabilities": […], "length": 4}
where label is the class's name if the model has names, otherwise its number;
for a pair, length_a and length_b as well. With --explain a line also says what the
model read: for each layer the positions it sampled, their weights and the share of
its attention that each received; and the weight of each token in the pooling.

` + linesHelp,
		Flags: append(lineFlags(), &cli.BoolFlag{Name: "explain", Usage: "say what the model read of each sequence"}),
		Action: func(c *cli.Context) error {
			explain := c.Bool("explain")
			if explain && c.IsSet("input") {
				return usage(c, "--explain answers lines, not --input")
			}
			return answerLines(c, func(s *sft.Scorer) answerer { return predictor(s, explain) })
		},
	}
}

// answerer is how a command answers: lines, and Arrow records.
type answerer struct {
	sequences []int // how many a line may hold
	lines     func(s *stream) func(context.Context, []*requests.Request) ([]any, error)
	record    recordFunc
	columns   func(c *sft.Config, format string, pair bool) replyColumns // of a table's rows
}

// answerLines is predict and embed.
func answerLines(c *cli.Context, make func(*sft.Scorer) answerer) error {
	if err := checkMaxLine(c); err != nil {
		return err
	}
	isTable, err := checkTableFlags(c)
	if err != nil {
		return err
	}
	m, err := loadModel(c)
	if err != nil {
		return err
	}
	if c.Bool("truncate") {
		m.Config.Truncate()
	}
	scorer, release, err := openScorer(c, m)
	if err != nil {
		return err
	}
	defer release()
	a := make(scorer)
	switch {
	case isTable && copiesArrow(c):
		return answerArrow(c, m.Config, a.record)
	case isTable:
		return answerTable(c, m.Config, a)
	}
	in, name, err := openInput(c)
	if err != nil {
		return err
	}
	defer in.Close()
	s := &stream{parser: requests.NewParser(m.Config, c.String("model"), name, a.sequences...), maxLine: c.Int("max-line")}
	s.answer = a.lines(s)
	return s.run(c.Context, in, c.App.Writer)
}

func predictor(scorer *sft.Scorer, explain bool) answerer {
	c, score := scorer.Config(), scorer.Examples
	if explain {
		score = scorer.Explain
	}
	lines := func(s *stream) func(context.Context, []*requests.Request) ([]any, error) {
		return func(ctx context.Context, batch []*requests.Request) ([]any, error) {
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
				replies[i] = orFailure(requests.NewPrediction(c, batch[i], o))
			}
			return replies, nil
		}
	}
	return answerer{sequences: []int{c.Sequences()}, lines: lines, record: scorer.Score, columns: predictionColumns}
}

// orFailure is a reply, or the failure that takes its place.
func orFailure[R any](reply R, err error) any {
	var f *requests.Failure
	if errors.As(err, &f) {
		return f
	}
	return reply
}
