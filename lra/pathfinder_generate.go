package lra

import (
	"cmp"
	"context"
	"fmt"
	"iter"

	"sftseq/seq"
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
	b, err := seq.CreateDataset(dir, spec, options.Replace)
	if err != nil {
		return nil, err
	}
	defer b.Abort()
	next, stop := iter.Pull2(pathfinderRows(ctx, options.Seed, rule))
	defer stop()
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
		if err := writeSplit(b, split.name, counted(limit(next, split.rows), options.Progress)); err != nil {
			return nil, err
		}
	}
	provenance := map[string]any{"generator": "pathfinder", "seed": options.Seed, "rule": rule}
	for key, value := range options.Provenance {
		provenance[key] = value
	}
	return b.Finish(provenance)
}

// pathfinderRows draws images from number 0 on, without an end.
func pathfinderRows(ctx context.Context, seed uint64, rule PathfinderRule) rows {
	return func(yield func(seq.Example, error) bool) {
		chunks, stop := drawAhead(0, imagesPerChunk, func() func(uint64) (seq.Example, bool) {
			d := &pathfinderDraw{random: random{seed: seed}, rule: rule}
			return func(n uint64) (seq.Example, bool) { return d.draw(n), true }
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
