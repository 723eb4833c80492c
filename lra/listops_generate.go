package lra

import (
	"context"
	"fmt"
	"iter"

	"github.com/sftseq/sftseq/seq"
)

// drawsPerChunk is the number of draws in a worker's chunk. It does not affect the result.
const drawsPerChunk = 1024

// maxDrawsWithoutRow is the number of consecutive draws without a new row after which generation
// fails. The rule of the Long Range Arena keeps one draw in twelve.
const maxDrawsWithoutRow = 1 << 22

// draw returns rows of distinct expressions.
func (r *ListOpsRule) draw(ctx context.Context, seed uint64, _, _ int) (training, others rows) {
	seen := map[[16]byte]struct{}{}
	others = toExamples(listOpsRows(ctx, seed, 0, *r, seen))
	if r.Train != nil {
		training = toExamples(listOpsRows(ctx, seed, firstTrainDraw, *r.Train, seen))
	}
	return training, others
}

func (r *ListOpsRule) provenance() map[string]any {
	p := map[string]any{"rule": r}
	if r.Train != nil {
		p["train_rule"] = r.Train
	}
	return p
}

// toExamples returns the rows of kept draws.
func toExamples(draws iter.Seq2[listOpsRow, error]) rows {
	return func(yield func(seq.Example, error) bool) {
		for d, err := range draws {
			if !yield(seq.Example{A: d.tokens, Label: d.label}, err) {
				return
			}
		}
	}
}

// listOpsRows returns the kept draws whose keys are not in seen, and adds their keys to seen. The
// parameter first is the number of the first draw. The sequence ends with an error if the context is
// cancelled or too many consecutive draws yield no new row. Workers draw ahead, and their chunks are
// used in order.
func listOpsRows(ctx context.Context, seed, first uint64, rule ListOpsRule,
	seen map[[16]byte]struct{}) iter.Seq2[listOpsRow, error] {
	return func(yield func(listOpsRow, error) bool) {
		chunks, stop := drawAhead(first, drawsPerChunk, func() func(uint64) (listOpsRow, bool) {
			d := listOpsDraw{random: random{seed: seed}, rule: rule}
			return d.draw
		})
		defer stop()
		drawsSinceRow := 0
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
				drawsSinceRow = 0
				if !yield(row, nil) {
					return
				}
			}
			if drawsSinceRow += drawsPerChunk; drawsSinceRow > maxDrawsWithoutRow {
				yield(listOpsRow{}, fmt.Errorf("listops: found %d distinct expressions with more than %d and fewer than %d tokens, "+
					"and no other in %d draws: widen the lengths or request fewer rows",
					len(seen), rule.MinLength, rule.MaxLength, maxDrawsWithoutRow))
				return
			}
		}
	}
}
