package lra

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"sync"

	"github.com/sftseq/sftseq/seq"
)

// imagesPerChunk is the number of images that a worker draws at a time.
const imagesPerChunk = 32

// Options returns all parameters of the rule.
func (r *PathfinderRule) Options() []Option {
	return []Option{
		{Name: "contour", Usage: "draw contours of `N` dashes, 3 to 14", Value: &r.Contour},
		{Name: "distractors", Value: &r.Distractors, Usage: "draw up to `N` short contours in addition to the two " +
			"long ones"},
		{Name: "train-shortest", Value: &r.Shortest, Usage: "sort training rows for train --stages: from contours " +
			"of `N` dashes up to --contour; 0: unsorted"},
	}
}

// Validate returns an error if the rule's images cannot be drawn or are too crowded.
func (r *PathfinderRule) Validate() error {
	switch {
	case r.Contour < 3 || r.Contour > 14:
		return fmt.Errorf("dashes of a contour: expected 3 to 14, found %d", r.Contour)
	case r.Distractors < 0 || r.Distractors > 100:
		return fmt.Errorf("distractors: expected 0 to 100, found %d", r.Distractors)
	// Contours of one or two dashes are allowed only for the first rows: the distance between the
	// marks predicts the label.
	case r.Shortest < 0 || r.Shortest > r.Contour:
		return fmt.Errorf("dashes of the shortest contour: expected 1 to %d, or 0, found %d", r.Contour, r.Shortest)
	}
	return nil
}

// draw implements [Rule]. If Shortest is set, the training images are a separate sequence, in which each
// image has its own rule.
func (r *PathfinderRule) draw(ctx context.Context, seed uint64, train, _ int) (training, others rows) {
	others = pathfinderRows(ctx, seed, 0, func(uint64) PathfinderRule { return *r })
	if r.Shortest > 0 {
		training = pathfinderRows(ctx, seed, firstTrainDraw, func(n uint64) PathfinderRule {
			return r.ruleForRow(int(n-firstTrainDraw), train)
		})
	}
	return training, others
}

func (r *PathfinderRule) provenance() map[string]any {
	p := map[string]any{"rule": r}
	if r.Shortest > 0 {
		p["train_shortest"] = r.Shortest
	}
	return p
}

// ruleForRow returns the rule of row n of a training split with the given number of rows. The contours
// have r.Shortest dashes at first and r.Contour dashes at the end. Each length has the same number of
// rows, up to rounding. The number of distractors cycles from 0 to r.Distractors.
func (r *PathfinderRule) ruleForRow(n, rows int) PathfinderRule {
	n = min(n, rows-1) // workers draw more rows than requested
	return PathfinderRule{Contour: r.Shortest + n*(r.Contour-r.Shortest+1)/rows, Distractors: n % (r.Distractors + 1)}
}

// firstRedraw is the number of the first image of [Redraw]. The images of generated data sets have
// smaller numbers.
const firstRedraw = 1 << 63

// Redraw returns a function that draws the training rows of a data set of [Task.Generate] anew for
// each epoch. It supports only [Pathfinder], whose rows have equal length and do not depend on each
// other. The function is safe for concurrent use. For a given data set, a row depends only on seed,
// epoch and the row's index.
func Redraw(m *seq.Manifest, seed uint64) (func(epoch, row uint32) seq.Example, error) {
	var p struct {
		Generator string          `json:"generator"`
		Rule      *PathfinderRule `json:"rule"`
		Shortest  int             `json:"train_shortest"`
	}
	text, err := json.Marshal(m.Provenance)
	if err == nil {
		err = json.Unmarshal(text, &p)
	}
	if err != nil || p.Generator != Pathfinder.Name || p.Rule == nil {
		return nil, errors.New("expected data of sftseq data generate pathfinder, found other data")
	}
	p.Rule.Shortest = p.Shortest
	if err := p.Rule.Validate(); err != nil {
		return nil, err
	}
	rows := int(m.Splits["train"].Rows)
	draws := sync.Pool{New: func() any { return &pathfinderDraw{random: random{seed: seed}} }}
	return func(epoch, row uint32) seq.Example {
		d := draws.Get().(*pathfinderDraw)
		defer draws.Put(d)
		if d.rule = *p.Rule; p.Shortest > 0 {
			d.rule = p.Rule.ruleForRow(int(row), rows)
		}
		return d.draw(firstRedraw | uint64(epoch)<<32 | uint64(row))
	}, nil
}

// pathfinderRows returns an endless sequence of images. The parameter first is the number of the first
// image. The function rule returns the rule of each image.
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
