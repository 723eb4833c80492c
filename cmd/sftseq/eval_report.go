package main

import (
	"cmp"

	"github.com/sftseq/sftseq/internal/provenance"
	"github.com/sftseq/sftseq/internal/task"
	"github.com/sftseq/sftseq/sft/train"
)

// trainedIn returns the best step of a run directory (or its last step, if the run has no best step), or
// the number of models in a folder of runs. It also reports whether the training of any model is unfinished,
// and whether the last evaluation of a single run was its best.
func trainedIn(dir string) (t task.Trained) {
	members := membersOf(dir)
	if len(members) > 1 {
		t.Models = len(members)
	}
	for _, name := range members {
		run, err := train.LoadCheckpoint(name)
		if err != nil {
			continue // a model is usable without a checkpoint
		}
		t.Unfinished = t.Unfinished || !provenance.Ended(run)
		if t.Models == 0 {
			t.Step = cmp.Or(run.State.BestStep, run.State.Step)
			t.EndedAtBest = run.State.BestStep > 0 && run.State.SinceBest == 0
		}
	}
	return t
}
