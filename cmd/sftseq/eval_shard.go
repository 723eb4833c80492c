package main

import (
	"context"
	"errors"
	"fmt"
	"io"

	"github.com/apache/arrow/go/v15/arrow"
	"github.com/urfave/cli/v2"

	"github.com/sftseq/sftseq/internal/evaluation"
	"github.com/sftseq/sftseq/internal/shard"
	"github.com/sftseq/sftseq/internal/table"
	"github.com/sftseq/sftseq/internal/task"
	"github.com/sftseq/sftseq/seq"
	"github.com/sftseq/sftseq/sft"
)

// evalShards evaluates one shard. With --verify it reports on the parts of all shards instead.
func evalShards(c *cli.Context) error {
	if ranksOf(c) != nil {
		return usage(c, "--shard and --verify exclude ranks: expected one process, because ranks share the rows of "+
			"one run")
	}
	for _, name := range []string{"errors", "queries"} {
		if c.IsSet(name) {
			return usage(c, "--%s does not apply to shards", name)
		}
	}
	if c.Bool("verify") {
		return reportShards(c)
	}
	if c.String("data") == "" {
		return usage(c, "--data is missing: expected an Arrow file or a data set directory")
	}
	j, err := newShardJob(c)
	if err != nil {
		return err
	}
	if j.dir == "" {
		return usage(c, "--output -: expected a directory of parts, which --verify then evaluates")
	}
	m, err := loadModels(c, "")
	if err != nil {
		return err
	}
	if task.Of(m.Config).Evaluator() == nil {
		return usage(c, "--shard: the model %s was trained without labels: evaluate it without shards",
			givenModel(c))
	}
	path, err := dataFile(c, m.Config)
	if err != nil {
		return err
	}
	in, err := shard.Find(c.Context, []string{path}, "arrow")
	if err != nil {
		return err
	}
	scorer, release, err := openScorer(c, m)
	if err != nil {
		return err
	}
	defer release()
	key, err := j.key(c, scorer.Kernels(), in, evalOptions{c.Command.Name, !j.strict})
	if err != nil {
		return err
	}
	part, err := j.begin(c, key, nil, in)
	if part == nil || err != nil {
		return err
	}
	defer part.Abort()
	rows, err := j.eval(c, scorer, in, part, key)
	if err != nil {
		return err
	}
	return j.commit(c, part, rows)
}

// evalOptions contains the options of eval that affect the contents of a part.
type evalOptions struct {
	Command string `json:"command"`
	Errors  bool   `json:"errors"` // whether errors are written to a column
}

// dataFile returns the file of --data and checks that the model can read its rows.
func dataFile(c *cli.Context, config *sft.Config) (string, error) {
	in, path, _, err := openTestData(c)
	if err != nil {
		return "", err
	}
	defer in.Close()
	return path, checkRows(config, in.Spec(), path, givenModel(c))
}

// eval writes the part of a shard with all data that a report needs, and returns the number of
// rows.
func (j *shardJob) eval(c *cli.Context, scorer *sft.Scorer, in *shard.Input, to io.Writer,
	key *shard.Key) (count int, err error) {
	evaluator := task.Of(scorer.Config()).Evaluator()
	columns := append([]table.OutputColumn{{Name: "id"}, {Name: task.PartRow, Kind: table.IntColumn},
		{Name: task.PartLength, Kind: table.IntColumn}}, evaluator.Columns()...)
	if !j.strict {
		columns = append(columns, table.OutputColumn{Name: shard.ErrorColumn})
	}
	out, err := table.NewArrowWriter(to, columns, key.Metadata(), false)
	if err != nil {
		return 0, err
	}
	failed := 0
	var writeErr error
	write := func(x *seq.Example, length int, values []any, failure any) {
		if writeErr != nil {
			return
		}
		row := []any{nil, int64(x.Index), int64(length)}
		if x.ID != "" {
			row[0] = x.ID
		}
		row = append(row, values...)
		if !j.strict {
			row = append(row, failure)
		}
		count++
		writeErr = out.Write(row)
	}
	e := &evaluation.Evaluation{Name: c.String("data"), Scorer: scorer, Measure: evaluator.Measure(),
		Score: func(ctx context.Context, examples []seq.Example) ([]sft.Output, error) {
			if writeErr != nil { // do not score further rows in vain
				return nil, writeErr
			}
			return scorer.Examples(ctx, examples)
		}}
	var previousCut int64
	e.Seen = func(x *seq.Example, length int, logits []float32) {
		write(x, length, evaluator.Values(x, logits, e.CutTags-previousCut), nil)
		previousCut = e.CutTags
	}
	if !j.strict {
		e.Refused = func(x *seq.Example, length int, reason error) {
			failed++
			write(x, length, make([]any, len(evaluator.Columns())), reason.Error())
		}
	}
	p := newProgress(0, "evaluating shard "+j.String(), "rows")
	defer p.Finish()
	for _, f := range in.Cut(j.Shard) {
		rows, err := seq.OpenPart(f.Path, f.From, f.To)
		if err != nil {
			return 0, err
		}
		err = errors.Join(e.Run(c.Context, rows, p.Add), rows.Close())
		if writeErr != nil {
			return 0, writeErr
		}
		if err != nil {
			return 0, err
		}
	}
	if err := out.Close(); err != nil {
		return 0, err
	}
	if failed > 0 {
		fmt.Fprintf(c.App.ErrWriter, "warning: %d of %d rows have an error\n", failed, count)
	}
	return count, nil
}

// reportShards reports on the parts of all shards in order, so each number equals that of a single
// run.
func reportShards(c *cli.Context) error {
	if err := checkVerify(c, "data"); err != nil {
		return err
	}
	m, err := loadModels(c, "")
	if err != nil {
		return err
	}
	data := ""
	if c.String("data") != "" {
		if data, err = dataFile(c, m.Config); err != nil {
			return err
		}
	}
	evaluator := task.Of(m.Config).Evaluator()
	manifest, err := verifyParts(c, data, func(record arrow.Record) error { return task.AddPart(evaluator, record) })
	if err != nil {
		return err
	}
	result, err := evaluator.Report(c.Context, task.Evaluated{Model: givenModel(c), Data: c.String("output"),
		Trained: trainedIn(c.String("model"))})
	if err != nil {
		return err
	}
	if manifest.Failed > 0 {
		fmt.Fprintf(c.App.ErrWriter, "warning: %d of %d rows have an error and were left out\n",
			manifest.Failed, manifest.Rows)
	}
	return show(c, result, result.Write)
}
