package main

import (
	"context"
	"fmt"
	"io"
	"sync"

	"github.com/sftseq/sftseq/internal/fusion"
	"github.com/sftseq/sftseq/internal/metrics"
	"github.com/sftseq/sftseq/internal/task"
	"github.com/sftseq/sftseq/seq"
	"github.com/sftseq/sftseq/sft"
)

// memberTally measures the members of a fusion and their sum. The methods scores and write of a nil
// memberTally do nothing.
type memberTally struct {
	fusion  *sft.Fusion
	scorer  *sft.Scorer
	lock    sync.Mutex
	tallies []metrics.FusionTally // one per member, then one for the sum
}

// newMemberTally returns an empty memberTally for a fusion.
func newMemberTally(f *sft.Fusion, s *sft.Scorer) *memberTally {
	t := &memberTally{fusion: f, scorer: s}
	for range len(f.Members) + 1 {
		t.tallies = append(t.tallies, metrics.FusionTally{Kind: fusion.Kind(s.Config())})
	}
	return t
}

// score returns the outputs of the fusion. For labelled examples, it also adds the outputs of each member
// and of the sum to the tallies.
func (t *memberTally) score(ctx context.Context, examples []seq.Example) ([]sft.Output, error) {
	outputs, err := t.scorer.MemberOutputs(ctx, examples)
	if err != nil {
		return nil, err
	}
	sum := t.scorer.Combine(outputs)
	t.lock.Lock()
	defer t.lock.Unlock()
	for i, e := range examples {
		truth, known := fusion.Truth(t.scorer.Config(), e)
		if !known {
			continue
		}
		for m := range outputs {
			t.tallies[m].Add(outputs[m][i].Logits, truth)
		}
		t.tallies[len(outputs)].Add(sum[i].Logits, truth)
	}
	return sum, nil
}

// scores returns the scores of the members, followed by the score of the sum.
func (t *memberTally) scores() (out []task.MemberScore) {
	if t == nil {
		return nil
	}
	for m, name := range t.fusion.Members {
		out = append(out, task.MemberScore{Name: name, Weight: t.fusion.Weights[m], FusionScore: t.tallies[m].Score()})
	}
	return append(out, task.MemberScore{Name: sumName, FusionScore: t.tallies[len(t.tallies)-1].Score()})
}

// write prints the scores below a report. dir is the directory of the fusion.
func (t *memberTally) write(w io.Writer, dir string) error {
	if t == nil {
		return nil
	}
	kind, heading := t.tallies[0].Kind, "members"
	if kind == metrics.FusedNumbers { // the loss above is by default the smooth L1 loss
		heading = "members (loss: mean squared error of standardised numbers)"
	}
	scores, classes := t.scores(), kind == metrics.FusedClasses
	_, err := fmt.Fprintf(w, "%s\n%s%s", heading, memberTable(scores, classes), betterMember(scores, classes, dir))
	return err
}
