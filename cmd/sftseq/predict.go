package main

import (
	"cmp"
	"fmt"
	"slices"

	"github.com/urfave/cli/v2"

	"github.com/sftseq/sftseq/internal/inference"
	"github.com/sftseq/sftseq/internal/provenance"
	"github.com/sftseq/sftseq/internal/task"
	"github.com/sftseq/sftseq/sft"
	"github.com/sftseq/sftseq/tokenizers"
)

// lineFlags returns the flags that predict and embed have in common. formats lists the formats of --output.
func lineFlags(model cli.Flag, formats string) []cli.Flag {
	return slices.Concat(modelFlags(model), tableFlags(formats), shardFlags("compute nothing: list missing parts "+
		"of --output, or write its _manifest.json"),
		group(inputGroup, &cli.BoolFlag{Name: "truncate",
			Usage: "read only the beginning of a sequence that is too long"}),
		advancedGroup(inputGroup, maxLineFlag()), documentFlags())
}

func predictCommand() *cli.Command {
	return &cli.Command{
		Name:      "predict",
		Usage:     "predict classes, labels, tags or numbers of sequences",
		ArgsUsage: "[FILE]",
		UsageText: `sftseq predict --model DIR [flags] [FILE]
sftseq predict --model DIR [flags] --input FILE --text COLUMN [--output FILE]
sftseq predict --model DIR [flags] --document FILE [--output FILE]

Example: sftseq predict --model runs/reviews --input reviews.csv --text review --output scored.csv
         echo '{"text":"[MAX 2 9 ]"}' | sftseq predict --model runs/listops
         sftseq predict --model runs/genes --input genome.fa --text sequence --output genes.bed
         sftseq predict --model runs/logs --document server.log
         echo '{"text":"the fi[MASK]m"}' | sftseq predict --fill --model runs/pretrained`,
		Description: `Reads JSON lines from FILE or standard input, or with --input a table, and writes a line or row for
each in the same order:
  {"id": 7, "text": "[MAX 2 9 ]"}
  {"id": 7, "label": "9", "logits": […], "probabilities": […], "length": 4}
--document reads one raw file of any length, with a chunked or linear model.
An invalid input yields an error in its place; the exit status is then 1. --output DIR/ writes one
part for each task of a Slurm array or a Kubernetes job, and by default stops at an invalid input.
More: docs/predict.md, docs/cluster.md`,
		Flags: slices.Concat(lineFlags(modelsFlag(), predictionFormats),
			group(outputGroup,
				&cli.BoolFlag{Name: "explain",
					Usage: "explain each prediction by the weights of tokens, chunks or n-grams"},
				&cli.BoolFlag{Name: "fill", Usage: "fill the masks of each line, with a model from sftseq pretrain"}),
			advancedGroup(outputGroup,
				&cli.StringFlag{Name: "mask", Value: "[MASK]", Usage: "read this `TEXT` as a masked token (--fill)"},
				&cli.IntFlag{Name: "candidates", Value: 5,
					Usage: "list the `N` most probable tokens of a mask (--fill)"})),
		Action: predict,
	}
}

func predict(c *cli.Context) error {
	explain, fill := c.Bool("explain"), c.Bool("fill")
	switch {
	case explain && c.IsSet("input"):
		return usage(c, "--explain reads JSON lines, not --input")
	case fill && c.IsSet("input"):
		return usage(c, "--fill reads JSON lines, not --input")
	case explain && fill:
		return usage(c, "--explain and --fill exclude each other")
	case !fill && (c.IsSet("mask") || c.IsSet("candidates")):
		return usage(c, "--mask and --candidates belong to --fill")
	case c.String("mask") == "":
		return usage(c, "--mask \"\": expected the text that stands for a masked token")
	case c.Int("candidates") < 1:
		return badFlag(c, "candidates", "at least 1")
	case !fill:
		return runScorer(c, func(s *sft.Scorer) *inference.Model {
			var tokenizer tokenizers.Tokenizer
			if explain {
				tokenizer = openTokenizer(c, s)
			}
			return inference.Predictor(task.Of(s.Config()), s, explain, tokenizer)
		})
	}
	return runScorer(c, func(s *sft.Scorer) *inference.Model {
		return inference.Filler(s, openTokenizer(c, s), c.Int("candidates"))
	})
}

// openTokenizer returns the tokenizer of a model, or nil. Without a tokenizer, requests and predictions are tokens.
func openTokenizer(c *cli.Context, s *sft.Scorer) tokenizers.Tokenizer {
	t, err := tokenizers.Open(s.Config().Tokenizer, tokenizerDir(c))
	if err != nil {
		return nil
	}
	return t
}

func embedCommand() *cli.Command {
	return &cli.Command{
		Name:      "embed",
		Usage:     "embed sequences as vectors",
		ArgsUsage: "[FILE]",
		UsageText: `sftseq embed --model DIR [flags] [FILE]
sftseq embed --model DIR [flags] --input FILE --text COLUMN [--output FILE]
sftseq embed --model DIR [flags] --document FILE [--output FILE]

Example: sftseq embed --model runs/reviews/lexical --input reviews.csv --text review --output vectors.parquet
         echo '{"id":"q1","text":"a query"}' | sftseq embed --model runs/retrieval`,
		Description: `Reads the same input as predict and writes the pooled vector of each sequence, to be compared by
cosine:
  {"id": "q1", "embedding": […], "length": 7}
A pair yields embedding_a and embedding_b. More: docs/predict.md, docs/cluster.md`,
		Flags:  lineFlags(modelFlag(), vectorFormats),
		Action: func(c *cli.Context) error { return runScorer(c, inference.Embedder) },
	}
}

// runScorer runs the command predict or embed with the model that newModel creates for a scorer.
func runScorer(c *cli.Context, newModel func(*sft.Scorer) *inference.Model) error {
	if err := cmp.Or(checkMaxLine(c), checkDocumentFlags(c)); err != nil {
		return err
	}
	if c.Bool("verify") {
		return verifyShards(c)
	}
	isTable, err := false, error(nil)
	if !c.IsSet("document") {
		if isTable, err = checkTableFlags(c); err != nil {
			return err
		}
	}
	single := ""
	switch {
	case c.Command.Name == "embed":
		single = "embed"
	case c.Bool("explain"):
		single = explainFlag
	case c.Bool("fill"):
		single = fillFlag
	}
	m, err := loadModels(c, single)
	if err != nil {
		return err
	}
	if single == "embed" && m.Config.IsLinear() && !c.IsSet("document") {
		return withoutLayers(givenModel(c))
	}
	if err := checkOutput(c, m.Config); err != nil {
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
	model := newModel(scorer)
	for _, member := range append([]*sft.Model{m.Model}, m.others...) {
		if p, err := provenance.Of(member.Config); err == nil { // a model of another program has no provenance
			model.Longest = max(model.Longest, int(p.Longest))
			if p.Shortest == p.Longest && tokenizers.TypeOf(m.Config.Tokenizer) == (tokenizers.Pixel{}).Type() {
				model.Pixels = int(p.Longest)
			}
		}
	}
	model.Unknown = tokenizers.UnknownID(m.Config.Tokenizer)
	err = scoreInput(c, m.Config, scorer, model, isTable)
	warnUnlike(c, model)
	return err
}

// warnUnlike prints a warning for each kind of input that is unlike the training rows.
func warnUnlike(c *cli.Context, model *inference.Model) {
	warn := func(n int, format string, args ...any) {
		if n > 0 {
			fmt.Fprintf(c.App.ErrWriter, "warning: "+format+"\n", args...)
		}
	}
	warn(model.LongRequests, "inputs more than %d times as long as the longest training row (%s): %d (predictions for "+
		"such lengths are unreliable; the longest input has %s)", inference.MaxLengthRatio,
		countOf(model.Longest, "token"), model.LongRequests, countOf(model.LongestRequest, "token"))
	warn(model.OtherSizes, "inputs that do not have the %d pixels of the training images: %d (their predictions are "+
		"meaningless; the model reads one byte for each gray pixel, not PNG or JPEG files)", model.Pixels, model.OtherSizes)
	warn(model.UnknownRequests,
		"inputs with more than %.0f%% unknown words: %d (their predictions hardly depend on "+
			"the text)", 100*inference.MaxUnknown, model.UnknownRequests)
	warn(model.OutlierRequests, "inputs with numbers that are on average (root mean square) more than %d standard "+
		"deviations from the training mean: %d (check their units against feature_scales in config.json)",
		inference.MaxDeviations, model.OutlierRequests)
}

// scoreInput scores a document, a table, a shard of a table, or JSON lines with a model.
func scoreInput(c *cli.Context, config *sft.Config, scorer *sft.Scorer, model *inference.Model, isTable bool) error {
	switch {
	case c.IsSet("document"):
		return predictDocument(c, config, scorer, model)
	case isTable && sharded(c):
		return predictShard(c, scorer, model)
	case isTable && copiesArrow(c):
		return predictArrow(c, config, model.Record)
	case isTable:
		return predictTable(c, config, model)
	}
	in, name, err := openInput(c)
	if err != nil {
		return err
	}
	defer in.Close()
	parser := model.Parser(tokenizerDir(c), name)
	if c.Bool("fill") {
		parser.Mask = c.String("mask")
	}
	return model.Lines(c.Context, parser, c.Int("max-line"), linesHint(config), in, c.App.Writer)
}

// checkOutput returns an error if a model does not support the requested output.
func checkOutput(c *cli.Context, m *sft.Config) error {
	fills := task.Of(m).Evaluator() == nil
	switch fill := c.Bool("fill"); {
	case fill && !fills:
		return fmt.Errorf("--fill: the model %s has the task %s, expected a model from sftseq pretrain",
			givenModel(c), m.Task)
	case fill && m.MaskTargets != nil:
		return fmt.Errorf("--fill: the model %s predicts the spectrum around a masked sample, not the sample (to fill "+
			"masks, train a model with sftseq pretrain --mask-targets tokens)", givenModel(c))
	case !fill && fills && c.Command.Name == "predict":
		return fmt.Errorf("the model %s was trained without labels (sftseq pretrain), so it cannot predict them: "+
			"fill masks with --fill, compute vectors with sftseq embed, or train on labels with sftseq train "+
			"--init-from", givenModel(c))
	}
	return nil
}
