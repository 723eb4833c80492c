package lra

import (
	"context"
	"fmt"
	"iter"

	"github.com/sftseq/sftseq/seq"
)

// drawsPerChunk is how many draws a worker makes at a time; it does not change
// what is drawn.
const drawsPerChunk = 1024

// drawsWithoutRow is when a rule is given up as one that keeps nothing: the
// rule of the Long Range Arena keeps one draw in twelve.
const drawsWithoutRow = 1 << 22

// generateListOps writes the splits one after the other from one sequence of
// draws, so that no expression is in two of them.
func generateListOps(ctx context.Context, spec seq.Spec, dir string, options GenerateOptions) (*seq.Dataset, error) {
	rule := options.ListOps.filled()
	if err := rule.Validate(); err != nil {
		return nil, fmt.Errorf("listops: %w", err)
	}
	splits := []struct {
		name string
		rows int
	}{{"train", options.Train}, {"val", options.Val}, {"test", options.Test}}
	for _, split := range splits {
		if split.rows < 0 {
			return nil, fmt.Errorf("listops: %s: expected 0 rows or more, found %d", split.name, split.rows)
		}
	}
	builder, err := seq.CreateDataset(dir, spec, options.Replace)
	if err != nil {
		return nil, err
	}
	defer builder.Abort()
	// A training rule of its own draws from the same sequence, far ahead, and
	// shares the memory of what was seen.
	seen := map[[16]byte]struct{}{}
	next, stop := iter.Pull2(examples(listOpsRows(ctx, options.Seed, 0, rule, seen)))
	defer stop()
	nextTrain := next
	if options.ListOpsTrain != nil {
		own := options.ListOpsTrain.filled()
		if err := own.Validate(); err != nil {
			return nil, fmt.Errorf("listops: training split: %w", err)
		}
		var stopTrain func()
		nextTrain, stopTrain = iter.Pull2(examples(listOpsRows(ctx, options.Seed, trainDraws, own, seen)))
		defer stopTrain()
	}
	for _, split := range splits {
		if split.rows == 0 {
			continue
		}
		rows := next
		if split.name == "train" {
			rows = nextTrain
		}
		if err := writeSplit(builder, split.name, counted(limit(rows, split.rows), options.Progress)); err != nil {
			return nil, err
		}
	}
	provenance := map[string]any{"generator": "listops", "seed": options.Seed, "rule": rule}
	if options.ListOpsTrain != nil {
		provenance["train_rule"] = options.ListOpsTrain.filled()
	}
	for key, value := range options.Provenance {
		provenance[key] = value
	}
	return builder.Finish(provenance)
}

// examples are kept draws as rows.
func examples(draws iter.Seq2[listOpsRow, error]) rows {
	return func(yield func(seq.Example, error) bool) {
		for d, err := range draws {
			if !yield(seq.Example{A: d.tokens, Label: d.label}, err) {
				return
			}
		}
	}
}

// trainDraws is the first draw of a training split with a rule of its own.
const trainDraws = 1 << 40

// listOpsRows yields the kept draws from the first on, but none seen before,
// until the caller has enough; at the end an error if the context is done or the
// rule keeps next to nothing. Workers draw ahead; chunks are taken in order.
func listOpsRows(ctx context.Context, seed, first uint64, rule ListOpsRule, seen map[[16]byte]struct{}) iter.Seq2[listOpsRow, error] {
	return func(yield func(listOpsRow, error) bool) {
		chunks, stop := drawAhead(first, drawsPerChunk, func() func(uint64) (listOpsRow, bool) {
			d := listOpsDraw{random: random{seed: seed}, rule: rule}
			return d.draw
		})
		defer stop()
		without := 0
		for {
			if err := ctx.Err(); err != nil {
				yield(listOpsRow{}, err)
				return
			}
			for _, row := range <-<-chunks {
				if _, ok := seen[row.key]; ok {
					continue
				}
				seen[row.key] = struct{}{}
				without = 0
				if !yield(row, nil) {
					return
				}
			}
			if without += drawsPerChunk; without > drawsWithoutRow {
				yield(listOpsRow{}, fmt.Errorf("listops: no new expression with more than %d and fewer than %d tokens in %d draws; %d were found: widen the lengths or ask for fewer rows",
					rule.MinLength, rule.MaxLength, drawsWithoutRow, len(seen)))
				return
			}
		}
	}
}
