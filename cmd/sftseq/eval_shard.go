package main

import (
	"context"
	"errors"
	"fmt"
	"io"

	"github.com/apache/arrow/go/v15/arrow"
	"github.com/apache/arrow/go/v15/arrow/array"
	"github.com/urfave/cli/v2"

	"github.com/sftseq/sftseq/internal/evaluation"
	"github.com/sftseq/sftseq/internal/metrics"
	"github.com/sftseq/sftseq/internal/rowwriter"
	"github.com/sftseq/sftseq/internal/shard"
	"github.com/sftseq/sftseq/seq"
	"github.com/sftseq/sftseq/sft"
)

// evalShards is eval of a shard, or of the parts of all.
func evalShards(c *cli.Context) error {
	if ranksOf(c) != nil {
		return usage(c, "--shard, --verify: expected one process, as ranks share the rows of one run")
	}
	for _, name := range []string{"errors", "queries"} {
		if c.IsSet(name) {
			return usage(c, "--%s is of a run without shards", name)
		}
	}
	if c.Bool("verify") {
		return reportShards(c)
	}
	if c.String("data") == "" {
		return usage(c, "--data is missing, an Arrow file or a data set directory was expected")
	}
	j, err := newShardJob(c)
	if err != nil {
		return err
	}
	if j.dir == "" {
		return usage(c, "--output -: expected a directory of parts, which --verify reports on")
	}
	m, err := loadModel(c)
	if err != nil {
		return err
	}
	if !m.Config.Answers() && !m.Config.LabelsHold() {
		return usage(c, "--shard: the model %s has no classes, and eval measures it without shards", c.String("model"))
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

// evalOptions are those of eval that change what a part has.
type evalOptions struct {
	Command string `json:"command"`
	Errors  bool   `json:"errors"` // have a column
}

// dataFile is the file that --data stands for, whose rows a model can read.
func dataFile(c *cli.Context, config *sft.Config) (string, error) {
	in, path, _, err := testData(c.String("data"), c.String("split"))
	if err != nil {
		return "", err
	}
	defer in.Close()
	if err := fits(config, in.Spec()); err != nil {
		return "", fmt.Errorf("%s does not fit the model %s: %w", path, c.String("model"), err)
	}
	return path, nil
}

// Columns of a part of eval, after its id.
const (
	evalRow    = "row"
	evalLabel  = "label"
	evalLength = "length"
	evalLogits = "logits"
)

// eval writes what is to be known of a shard's rows, all that a report is made of, and
// returns how many there are.
func (j *shardJob) eval(c *cli.Context, scorer *sft.Scorer, in *shard.Input, to io.Writer, key *shard.Key) (count int, err error) {
	classes := scorer.Config().NumLabels
	columns := []rowwriter.Column{{Name: "id"}, {Name: evalRow, Kind: rowwriter.Whole}, {Name: evalLabel, Kind: rowwriter.Whole},
		{Name: evalLength, Kind: rowwriter.Whole}, {Name: evalLogits, Kind: rowwriter.Vector, Width: classes}}
	if !j.strict {
		columns = append(columns, rowwriter.Column{Name: shard.ErrorColumn})
	}
	if scorer.Config().LabelsHold() {
		columns[2] = rowwriter.Column{Name: evalHolding, Kind: rowwriter.Vector, Width: classes}
	}
	out, err := rowwriter.NewArrow(to, columns, key.Metadata(), false)
	if err != nil {
		return 0, err
	}
	failed := 0
	var unwritten error
	write := func(x *seq.Example, values ...any) {
		if unwritten != nil {
			return
		}
		var id any
		if x.ID != "" {
			id = x.ID
		}
		if !j.strict && len(values) == 3 {
			values = append(values, nil)
		}
		count++
		unwritten = out.Write(append([]any{id, int64(x.Index)}, values...))
	}
	e := &evaluation.Evaluation{Name: c.String("data"), Scorer: scorer, Measure: evaluation.Classes{Tally: metrics.NewTally(classes)},
		Score: func(ctx context.Context, examples []seq.Example) ([]sft.Output, error) {
			if unwritten != nil { // what follows would be scored in vain
				return nil, unwritten
			}
			return scorer.Examples(ctx, examples)
		},
		Seen: func(x *seq.Example, length int, logits []float32) {
			write(x, int64(x.Label), int64(length), logits)
		}}
	if scorer.Config().LabelsHold() {
		e.Measure, e.Seen = evaluation.Labels{MultiLabel: metrics.NewMultiLabel(classes)}, func(x *seq.Example, length int, logits []float32) {
			write(x, multiHot(x.Labels, classes), int64(length), logits)
		}
	}
	if !j.strict {
		e.Refused = func(x *seq.Example, length int, why error) {
			failed++
			write(x, nil, int64(length), nil, why.Error())
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
		if unwritten != nil {
			return 0, unwritten
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

// reportShards reports on the parts of all shards, in their order, so that each number is
// that of one run.
func reportShards(c *cli.Context) error {
	if err := checkVerify(c, "data"); err != nil {
		return err
	}
	m, err := loadModel(c)
	if err != nil {
		return err
	}
	data := ""
	if c.String("data") != "" {
		if data, err = dataFile(c, m.Config); err != nil {
			return err
		}
	}
	if m.Config.LabelsHold() {
		return reportLabelShards(c, m.Config, data)
	}
	tally := metrics.NewTally(m.Config.NumLabels)
	manifest, err := verifyParts(c, data, func(record arrow.Record) error { return addRecord(tally, record) })
	if err != nil {
		return err
	}
	r := tally.Report()
	if r == nil {
		return fmt.Errorf("%s: no rows that were measured, at least 1 was expected", c.String("output"))
	}
	if manifest.Failed > 0 {
		fmt.Fprintf(c.App.ErrWriter, "warning: %d of %d rows have an error, and are left out\n", manifest.Failed, manifest.Rows)
	}
	result := newEvalResult(c.String("model"), c.String("output"), r, m.Config.LabelNames)
	return show(c, result, result.write)
}

// addRecord counts the rows of a part.
func addRecord(tally *metrics.Tally, record arrow.Record) error {
	column := func(name string) arrow.Array {
		if at := record.Schema().FieldIndices(name); len(at) == 1 {
			return record.Column(at[0])
		}
		return nil
	}
	labels, ok := column(evalLabel).(*array.Int64)
	lengths, also := column(evalLength).(*array.Int64)
	vectors, too := column(evalLogits).(*array.FixedSizeList)
	if !ok || !also || !too {
		return fmt.Errorf("expected a part of eval, with the columns %s, %s and %s, found %v", evalLabel, evalLength, evalLogits, record.Schema().Fields())
	}
	logits, ok := vectors.ListValues().(*array.Float32)
	if !ok {
		return fmt.Errorf("column %s: expected float32, found %s", evalLogits, vectors.DataType())
	}
	for i := range int(record.NumRows()) {
		if vectors.IsNull(i) {
			continue
		}
		from, to := vectors.ValueOffsets(i)
		if err := tally.Add(int(labels.Value(i)), logits.Float32Values()[from:to], int(lengths.Value(i))); err != nil {
			return fmt.Errorf("row %d: %w", i, err)
		}
	}
	return nil
}
