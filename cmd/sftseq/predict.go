package main

import (
	"fmt"

	"github.com/urfave/cli/v2"

	"github.com/sftseq/sftseq/internal/answer"
	"github.com/sftseq/sftseq/internal/requests"
	"github.com/sftseq/sftseq/sft"
	"github.com/sftseq/sftseq/tokenizers"
)

// linesHelp is what predict and embed say about their input.
const linesHelp = `A line of input is a JSON object:
   {"id": 7, "tokens": [12, 3, 10, 15]}
   {"id": "b", "text": "[MAX 2 9 ]"}
   {"tokens_a": [65, 66], "text_b": "ab"}       a pair, for a retrieval model
   {"features": [[0.1, 0.2, 0.3], [0.4, 0.5, 0.6]]}   a row of numbers for each point or node
   {"features": [[1], [2]], "edges": [[0, 1], [1, 0]]}    a graph, with its edges' numbers behind
   {"smiles": "CC(=O)O"}                        a molecule, for a model of molecules
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

` + shardHelp + `

Where both are Arrow and no column is named, an Arrow file or stream with the column
tokens (or tokens_a and tokens_b) is read batch by batch, and an Arrow file of the same
rows is written, with logits as vectors; a row that cannot be read ends it. A column id
is copied. Tokens are ids, plus first_token_id where the schema's metadata has
that: of text as bytes, each byte plus 1, or the bytes with first_token_id 1.`

func lineFlags(model cli.Flag) []cli.Flag {
	return append(append(modelFlags(model),
		&cli.BoolFlag{Name: "truncate", Usage: "read the head of a sequence that is too long"},
		maxLineFlag(),
	), append(tableFlags(), shardFlags()...)...)
}

func predictCommand() *cli.Command {
	return &cli.Command{
		Name:      "predict",
		Usage:     "classify sequences: JSON lines or tables in, labels and probabilities, or numbers, out",
		ArgsUsage: "[FILE]",
		UsageText: `sftseq predict --model DIR [flags] [FILE]
sftseq predict --model DIR [flags] --input FILE --text COLUMN [--output FILE]

Example: sftseq predict --model runs/reviews --input reviews.csv --text review --id key --keep stars --output scored.csv
         echo '{"text":"[MAX 2 9 ]"}' | sftseq predict --model runs/listops
         sftseq predict --model runs/genes --input genome.fa --text sequence --output genes.bed
         echo '{"text":"the fi[MASK]m"}' | sftseq predict --fill --model runs/pretrain`,
		Description: `Reads FILE (standard input if absent or -) and writes for each line
   {"id": 7, "label": …, "logits": […], "probabilities": […], "length": 4}
where label is the class's name if the model has names, otherwise its number;
for a pair, length_a and length_b as well. A model of a regression writes
   {"id": 7, "numbers": {"mass": 3.2, …}, "length": 4}
in the units of its data, and one of several labels a row
   {"id": 7, "labels": ["a", "c"], "probabilities": {"a": 0.9, …}, "length": 4}
with the labels whose probability reaches their threshold, which training chose on the
validation split ("thresholds" in config.json); tables have them in one column, with ;
between them. A model of tagging writes the spans that it finds,
   {"id": 7, "spans": [{"start": 0, "end": 5, "label": "PER", "score": 0.9}], "unit": "characters", "length": 4}
from the first character, 0, to behind the last: of the text, or of the tokens (unit) where
it was given tokens; the score is the mean probability of its tokens. Of points and nodes,
and of Arrow from Arrow, it writes the tag of each and its probability,
   {"id": 7, "tags": ["mug/body", …], "scores": [0.9, …], "length": 256}
Of a table, such as FASTA, --output FILE.bed writes a line of BED for each: name, start, end, label. With --explain a line also says what the
model read: for each layer the positions it sampled, their weights and the share of
its attention that each received; and the weight of each token in the pooling, which a model
of tagging does not have. Positions are those of tokens, from 0.

With --fill, and a model of sftseq pretrain, a line's text has [MASK], or --mask, in
place of tokens (tokens have the id mask_token_id of config.json), and the reply is
   {"id": 7, "text": …, "tokens": […], "masks": [{"position": 3, "candidates":
   [{"token": 12, "text": "a", "probability": 0.5}, …]}, …], "length": 4}
with the most probable token in place of each mask, told from the others alone. A mask is
one token: a byte or a whole word, as the model's tokenizer has them. --fill answers lines.

` + linesHelp,
		Flags: append(lineFlags(modelsFlag()), &cli.BoolFlag{Name: "explain", Usage: "say what the model read of each sequence"},
			&cli.BoolFlag{Name: "fill", Usage: "fill the masks of each sequence, with a model of sftseq pretrain"},
			&cli.StringFlag{Name: "mask", Value: "[MASK]", Usage: "with --fill, what stands in a text for a masked token"},
			&cli.IntFlag{Name: "candidates", Value: 5, Usage: "with --fill, the most probable `N` tokens for each mask"}),
		Action: predict,
	}
}

func predict(c *cli.Context) error {
	explain, fill := c.Bool("explain"), c.Bool("fill")
	switch {
	case (explain || fill) && c.IsSet("input"):
		return usage(c, "--%s answers lines, not --input", map[bool]string{true: "explain", false: "fill"}[explain])
	case explain && fill:
		return usage(c, "--explain and --fill exclude each other")
	case !fill && (c.IsSet("mask") || c.IsSet("candidates")):
		return usage(c, "--mask and --candidates belong to --fill")
	case c.String("mask") == "":
		return usage(c, "--mask \"\", expected the text that stands for a masked token")
	case c.Int("candidates") < 1:
		return usage(c, "--candidates %d, expected a number from 1", c.Int("candidates"))
	case !fill:
		return answerLines(c, func(s *sft.Scorer) *answer.Model { return answer.Predictor(s, explain) })
	}
	return answerLines(c, func(s *sft.Scorer) *answer.Model {
		tokenizer, err := tokenizers.Open(s.Config().Tokenizer, tokenizerDir(c))
		if err != nil {
			tokenizer = nil // who asks with tokens is answered with them
		}
		return answer.Filler(s, tokenizer, c.Int("candidates"))
	})
}

func embedCommand() *cli.Command {
	return &cli.Command{
		Name:      "embed",
		Usage:     "turn sequences into vectors: JSON lines or tables in, embeddings out",
		ArgsUsage: "[FILE]",
		UsageText: `sftseq embed --model DIR [flags] [FILE]
sftseq embed --model DIR [flags] --input FILE --text COLUMN [--output FILE]

Example: sftseq embed --model runs/reviews --input reviews.csv --text review --id key --output vectors.parquet
         echo '{"id":"q1","text":"a query"}' | sftseq embed --model runs/retrieval`,
		Description: `Reads FILE (standard input if absent or -) and writes for each line
   {"id": 7, "embedding": […], "length": 4}
the pooled vector of the sequence, to be compared by cosine. A retrieval model
embeds single sequences; for a pair it gives embedding_a and embedding_b.

` + linesHelp,
		Flags:  lineFlags(modelFlag()),
		Action: func(c *cli.Context) error { return answerLines(c, answer.Embedder) },
	}
}

// answerLines is predict and embed.
func answerLines(c *cli.Context, make func(*sft.Scorer) *answer.Model) error {
	if err := checkMaxLine(c); err != nil {
		return err
	}
	if c.Bool("verify") {
		return verifyShards(c)
	}
	isTable, err := checkTableFlags(c)
	if err != nil {
		return err
	}
	single := ""
	switch {
	case c.Command.Name == "embed":
		single = "embed"
	case c.Bool("explain"):
		single = "--explain"
	case c.Bool("fill"):
		single = "--fill"
	}
	m, err := loadModels(c, single)
	if err != nil {
		return err
	}
	if err := taskFor(c, m.Config); err != nil {
		return err
	}
	if c.Bool("truncate") {
		m.truncate()
	}
	scorer, release, err := openScorer(c, m)
	if err != nil {
		return err
	}
	defer release()
	model := make(scorer)
	switch {
	case isTable && sharded(c):
		return answerShard(c, scorer, model)
	case isTable && copiesArrow(c):
		return answerArrow(c, m.Config, model.Record)
	case isTable:
		return answerTable(c, m.Config, model)
	}
	in, name, err := openInput(c)
	if err != nil {
		return err
	}
	defer in.Close()
	parser := requests.NewParser(m.Config, tokenizerDir(c), name, model.Sequences...)
	if c.Bool("fill") {
		parser.Mask = c.String("mask")
	}
	return model.Lines(c.Context, parser, c.Int("max-line"), linesHint, in, c.App.Writer)
}

// taskFor refuses a model that cannot do what is asked for.
func taskFor(c *cli.Context, m *sft.Config) error {
	fills := m.Task == sft.FillMask
	switch fill := c.Bool("fill"); {
	case fill && !fills:
		return fmt.Errorf("--fill: the model %s is of task %s, expected one of sftseq pretrain", c.String("model"), m.Task)
	case fill && m.MaskTargets != nil:
		return fmt.Errorf("--fill: the model %s tells the spectrum around a masked sample, not the sample, so it fills no masks (pretrain --mask-targets tokens makes one that does)", c.String("model"))
	case !fill && fills && c.Command.Name == "predict":
		return fmt.Errorf("the model %s was trained without labels (sftseq pretrain), and predicts none: --fill fills masks, sftseq embed gives vectors, and sftseq train --init-from learns labels", c.String("model"))
	}
	return nil
}
