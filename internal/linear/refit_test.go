package linear

import (
	"bytes"
	"context"
	"slices"
	"testing"

	"github.com/sftseq/sftseq/internal/must"
	"github.com/sftseq/sftseq/seq"
)

// TestRefit checks that Refit equals training on the concatenated splits for the given number of
// epochs.
func TestRefit(t *testing.T) {
	train, val, judge := moods(1, 400, 2), moods(2, 100, 2), moods(3, 200, 2)
	for i := range judge { // with wrong labels, an early epoch has the lowest loss
		if judge[i].Label != seq.NoLabel {
			judge[i].Label = 1 - judge[i].Label
		}
	}
	s := classSpec(2)
	c := must.Get(NewConfig(s, wordOptions))(t)
	weights := func(m *Model, _ *Report, err error) []byte {
		must.Succeed(t, err)
		var b bytes.Buffer
		must.Succeed(t, m.WriteWeights(&b))
		return b.Bytes()
	}
	both := slices.Concat(train, val)
	m, report, err := Fit(context.Background(), c, both, judge, Options{Seed: 3})
	want := weights(m, report, err)
	if report.Kept == defaultEpochs-1 || report.Choice.Scale == 1 {
		t.Fatalf("report %+v: expected an epoch before the last and a scale", report)
	}
	if !bytes.Equal(weights(Refit(context.Background(), c, train, val, report.Choice, Options{Seed: 3})), want) {
		t.Error("the model differs from training on the concatenated rows")
	}
	all := weights(Fit(context.Background(), c, both, nil, Options{Seed: 3}))
	if !bytes.Equal(weights(Refit(context.Background(), c, train, val, Choice{}, Options{Seed: 3})), all) {
		t.Error("with a zero Choice the model differs from training for all epochs")
	}
}
