package main

import (
	"errors"
	"fmt"
	"io"
	"os"
	"slices"

	"github.com/urfave/cli/v2"

	"github.com/sftseq/sftseq/internal/baseline"
	"github.com/sftseq/sftseq/internal/task"
	"github.com/sftseq/sftseq/seq"
	"github.com/sftseq/sftseq/sft"
)

func evalCommand() *cli.Command {
	return &cli.Command{
		Name:  "eval",
		Usage: "evaluate a model on labelled sequences",
		UsageText: `sftseq eval --model DIR --data FILE|DIR [flags]

Example: sftseq eval --model runs/listops --data data/listops
         sftseq eval --model runs/reviews --data data/reviews --split val --errors wrong.csv`,
		Description: `Reads a split of a data set, an Arrow file or a stream. Prints the model's metrics beside those of
baselines. Classification: accuracy, F1, AUC, calibration, confusion matrix. Multi-label: F1, average
precision. Spans: F1. Parts: IoU. Regression: MAE, R². Pairs: MRR, recall. --shard I/N --output DIR
evaluates one of N shards, and --verify prints the result of all shards.
More: docs/eval.md, docs/cluster.md`,
		Flags: slices.Concat(
			group(dataGroup,
				&cli.StringFlag{Name: "data", TakesFile: true, Usage: "evaluate on `FILE|DIR`: an Arrow file, " +
					"a data set, or - for a stream on standard input (required)"},
				&cli.StringFlag{Name: "split", Value: "test", Usage: "evaluate on split `NAME` of a data set"}),
			modelFlags(modelsFlag()),
			group(outputGroup,
				&cli.StringFlag{Name: "errors",
					Usage:     "write the wrong predictions to `FILE`: .jsonl, .csv, .tsv, .parquet or .arrow",
					TakesFile: true},
				&cli.IntFlag{Name: "evidence",
					Usage: "measure on `N` rows whether predictions depend on the tokens with the largest weights"},
				&cli.BoolFlag{Name: "json", Usage: "print one JSON object"}, csvSafeFlag()),
			advancedGroup(outputGroup,
				&cli.StringFlag{Name: "output", Aliases: []string{"o"},
					Usage: "write the results of shards to `DIR`", TakesFile: true}),
			shardFlags("print the result of all shards in --output, or list the missing shards"),
			advancedGroup(outputGroup,
				&cli.IntFlag{Name: "queries", Value: defaultQueries,
					Usage: "rank the documents of pairs for `N` queries; 0 ranks none"}),
			rankFlags()),
		Action: onAllRanks(eval),
	}
}

func eval(c *cli.Context) error {
	if err := noArguments(c); err != nil {
		return usageError{err}
	}
	if c.Bool("verify") || c.IsSet("shard") || c.IsSet("on-error") || c.IsSet("output") {
		return evalShards(c)
	}
	if c.String("data") == "" {
		return usage(c, "--data is missing: expected an Arrow file or a data set directory%s",
			recordedHint(runDirectory(c)))
	}
	if info, err := os.Stat(c.String("data")); c.IsSet("split") && (err != nil || !info.IsDir()) {
		return usage(c, "--split %s: expected --data to be a data set directory, found %s",
			c.String("split"), c.String("data"))
	}
	if queries := c.Int("queries"); queries < 0 {
		return badFlag(c, "queries", "0 or more")
	}
	if c.IsSet(csvSafe) && c.String("errors") == "" {
		return usage(c, "--%s applies to the table of wrong predictions: expected --errors FILE", csvSafe)
	}
	if c.IsSet("evidence") && c.Int("evidence") < 1 {
		return badFlag(c, "evidence", "1 or more")
	}
	single := ""
	if c.IsSet("queries") && c.Int("queries") > 0 { // ranking uses the embeddings of a single model
		single = "--queries"
	}
	m, err := loadModels(c, single)
	if err == nil && single != "" && m.Config.IsLinear() {
		err = fmt.Errorf("%s: %w", single, sft.ErrLinear)
	}
	if err != nil {
		return err
	}
	if c.IsSet("evidence") {
		return evalEvidence(c, m)
	}
	evaluator := task.Of(m.Config).Evaluator()
	if evaluator == nil {
		return evalMasked(c, m)
	}
	in, err := openEvalRows(c, m)
	if err != nil {
		return err
	}
	defer in.close()
	evaluated, input := in.evaluated(c), in.evaluatorInput(c, m)
	if err := evaluator.Begin(input); err != nil {
		return err
	}
	if err := in.measure(c, evaluator, input); err != nil {
		return err
	}
	evaluated.Members = in.members.scores()
	r, err := evaluator.Report(c.Context, evaluated)
	if err != nil {
		return err
	}
	if err := evaluator.Finish(c.Context, input, r); err != nil {
		return err
	}
	if err := in.mistakes.commit(c); err != nil {
		return err
	}
	return show(c, r, func(w io.Writer) error {
		return errors.Join(r.Write(w), in.members.write(w, c.String("model")))
	})
}

// openTestData opens the file at --data, or the file of a split of the data set at --data. It returns
// the reader, the path of the file, and the number of rows, or 0 if unknown.
func openTestData(c *cli.Context) (in *seq.Reader, file string, rows int64, err error) {
	path, split := c.String("data"), c.String("split")
	if err := refuseTestTable(path, givenModel(c)); err != nil {
		return nil, "", 0, fmt.Errorf("--data %w", err)
	}
	if info, err := os.Stat(path); path == "-" || err != nil || !info.IsDir() {
		in, err = seq.Open(path)
		return in, path, 0, err
	}
	set, err := seq.OpenDataset(path)
	if err != nil {
		return nil, "", 0, err
	}
	if file, err = set.Path(split); err != nil {
		return nil, "", 0, err
	}
	in, err = set.Reader(split)
	return in, file, set.Manifest.Splits[split].Rows, err
}

// testBaseline returns the stored baselines of a split of the data set at path. It returns nil if path
// is a file, or if no baselines are stored.
func testBaseline(c *cli.Context, path, split string) *baseline.Result {
	if info, err := os.Stat(path); err != nil || !info.IsDir() {
		return nil
	}
	set, err := seq.OpenDataset(path)
	if err != nil {
		return nil // the data set was replaced after its rows had been opened
	}
	return storedBaseline(c, set, split, noBaselinesShown)
}

// defaultQueries is the default of --queries. With 1,000 queries, a proportion has a standard
// error of at most 1.6%, and ranking takes less time than encoding documents of a few hundred tokens.
const defaultQueries = 1000
