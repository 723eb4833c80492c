package main

import (
	"fmt"

	"github.com/apache/arrow/go/v15/arrow"
	"github.com/apache/arrow/go/v15/arrow/array"
	"github.com/urfave/cli/v2"

	"github.com/sftseq/sftseq/internal/metrics"
	"github.com/sftseq/sftseq/sft"
)

// evalHolding is the column of a part that says of each label whether it holds.
const evalHolding = "labels"

// multiHot has 1 for each label that holds and 0 for the others of n.
func multiHot(labels []int32, n int) []float32 {
	out := make([]float32, n)
	for _, label := range labels {
		out[label] = 1
	}
	return out
}

// reportLabelShards is reportShards of a model of several labels.
func reportLabelShards(c *cli.Context, config *sft.Config, data string) error {
	tally := metrics.NewMultiLabel(config.NumLabels)
	manifest, err := verifyParts(c, data, func(record arrow.Record) error { return addLabelRecord(tally, record, config.NumLabels) })
	if err != nil {
		return err
	}
	r := &labelsResult{Model: c.String("model"), Data: c.String("output")}
	if err := r.report(config, tally, r.Data); err != nil {
		return err
	}
	if manifest.Failed > 0 {
		fmt.Fprintf(c.App.ErrWriter, "warning: %d of %d rows have an error, and are left out\n", manifest.Failed, manifest.Rows)
	}
	return show(c, r, r.write)
}

// addLabelRecord counts the rows of a part.
func addLabelRecord(tally *metrics.MultiLabel, record arrow.Record, labels int) error {
	column := func(name string) (*array.FixedSizeList, []float32, error) {
		if at := record.Schema().FieldIndices(name); len(at) == 1 {
			if list, ok := record.Column(at[0]).(*array.FixedSizeList); ok {
				if x, ok := list.ListValues().(*array.Float32); ok && list.DataType().(*arrow.FixedSizeListType).Len() == int32(labels) {
					return list, x.Float32Values(), nil
				}
			}
		}
		return nil, nil, fmt.Errorf("expected a part of eval, with the column %s of %d float32, found %v", name, labels, record.Schema().Fields())
	}
	holding, holds, err := column(evalHolding)
	if err != nil {
		return err
	}
	vectors, logits, err := column(evalLogits)
	if err != nil {
		return err
	}
	for i := range int(record.NumRows()) {
		if vectors.IsNull(i) || holding.IsNull(i) {
			continue
		}
		from, to := vectors.ValueOffsets(i)
		at, _ := holding.ValueOffsets(i)
		held := []int32{}
		for label := range labels {
			if holds[int(at)+label] == 1 {
				held = append(held, int32(label))
			}
		}
		tally.Add(logits[from:to], held)
	}
	return nil
}
