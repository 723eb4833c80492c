package lra

import (
	"cmp"
	"context"
	"fmt"
	"iter"

	"github.com/sftseq/sftseq/seq"
)

// imagesPerChunk is how many images a worker draws at a time.
const imagesPerChunk = 32

// filled puts the default in place of a zero.
func (r PathfinderRule) filled() PathfinderRule {
	r.Contour = cmp.Or(r.Contour, LRAPathfinder.Contour)
	return r
}

// Validate reports a rule that has no images, or too crowded ones.
func (r PathfinderRule) Validate() error {
	switch {
	case r.Contour < 3 || r.Contour > 14:
		return fmt.Errorf("pathfinder: dashes of a contour: expected 3 to 14, found %d", r.Contour)
	case r.Distractors < 0 || r.Distractors > 100:
		return fmt.Errorf("pathfinder: distractors: expected 0 to 100, found %d", r.Distractors)
	}
	return nil
}

// generatePathfinder writes the splits one after the other from one sequence of
// draws.
func generatePathfinder(ctx context.Context, spec seq.Spec, dir string, options GenerateOptions) (*seq.Dataset, error) {
	rule := LRAPathfinder
	if options.Pathfinder != nil {
		rule = options.Pathfinder.filled()
	}
	if err := rule.Validate(); err != nil {
		return nil, err
	}
	// Contours of one dash or two are too easy for a data set of their own: how far the marks
	// are from each other tells the label. That is what a model learns first.
	shortest := options.PathfinderShortest
	if shortest < 0 || shortest > rule.Contour {
		return nil, fmt.Errorf("pathfinder: dashes of the shortest contour: expected 1 to %d, found %d", rule.Contour, shortest)
	}
	b, err := seq.CreateDataset(dir, spec, options.Replace)
	if err != nil {
		return nil, err
	}
	defer b.Abort()
	next, stop := iter.Pull2(pathfinderRows(ctx, options.Seed, 0, func(uint64) PathfinderRule { return rule }))
	defer stop()
	nextTrain := next
	if shortest > 0 { // from the same sequence of draws, far ahead
		var stopTrain func()
		nextTrain, stopTrain = iter.Pull2(pathfinderRows(ctx, options.Seed, trainDraws, func(n uint64) PathfinderRule {
			return rule.easier(shortest, int(n-trainDraws), options.Train)
		}))
		defer stopTrain()
	}
	for _, split := range []struct {
		name string
		rows int
	}{{"train", options.Train}, {"val", options.Val}, {"test", options.Test}} {
		if split.rows < 0 {
			return nil, fmt.Errorf("pathfinder: %s: expected 0 rows or more, found %d", split.name, split.rows)
		}
		if split.rows == 0 {
			continue
		}
		rows := next
		if split.name == "train" {
			rows = nextTrain
		}
		if err := writeSplit(b, split.name, counted(limit(rows, split.rows), options.Progress)); err != nil {
			return nil, err
		}
	}
	provenance := map[string]any{"generator": "pathfinder", "seed": options.Seed, "rule": rule}
	if shortest > 0 {
		provenance["train_shortest"] = shortest
	}
	for key, value := range options.Provenance {
		provenance[key] = value
	}
	return b.Finish(provenance)
}

// easier is the rule of row n of rows, which begin with contours of as many dashes as
// shortest and end with those of r, all in equal numbers, and have from none to r's
// distractors in turns.
func (r PathfinderRule) easier(shortest, n, rows int) PathfinderRule {
	n = min(n, rows-1) // workers draw ahead of what is asked for
	r.Contour = shortest + n*(r.Contour-shortest+1)/rows
	r.Distractors = n % (r.Distractors + 1)
	return r
}

// pathfinderRows draws images from the first number on, without an end, each by its rule.
func pathfinderRows(ctx context.Context, seed, first uint64, rule func(n uint64) PathfinderRule) rows {
	return func(yield func(seq.Example, error) bool) {
		chunks, stop := drawAhead(first, imagesPerChunk, func() func(uint64) (seq.Example, bool) {
			d := &pathfinderDraw{random: random{seed: seed}}
			return func(n uint64) (seq.Example, bool) {
				d.rule = rule(n)
				return d.draw(n), true
			}
		})
		defer stop()
		for {
			for _, e := range <-<-chunks {
				if !yield(e, ctx.Err()) || ctx.Err() != nil {
					return
				}
			}
		}
	}
}
