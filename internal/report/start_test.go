package report

import (
	"testing"
	"time"

	"github.com/sftseq/sftseq/internal/provenance"
	"github.com/sftseq/sftseq/sft/train"
)

// TestTrainingTime checks that the training time of a run is the sum over its processes. It also checks the
// formats of durations, dates and devices.
func TestTrainingTime(t *testing.T) {
	// metrics has a line every 10 steps, and an evaluation 1 s after the last line.
	metrics := func(seconds ...float64) *train.Metrics {
		m := &train.Metrics{}
		for i, s := range seconds {
			m.Train = append(m.Train, train.StepReport{Step: 10 * (i + 1), Seconds: s})
		}
		if n := len(seconds); n > 0 {
			m.Validation = []train.EvaluationReport{{Step: 10 * n, Seconds: seconds[n-1] + 1}}
		}
		return m
	}
	for _, c := range []struct {
		name    string
		metrics *train.Metrics
		starts  []provenance.Start
		want    float64
	}{
		{"nothing yet", metrics(), nil, 0},
		{"one program", metrics(5, 10, 15), []provenance.Start{{}}, 16},
		{"no record of starts", metrics(5, 10, 3, 8), nil, 10 + 9},
		{"resumed", metrics(5, 10, 3, 8), []provenance.Start{{}, {Step: 23}}, 10 + 9},
		{"resumed, and slower than before", metrics(5, 6, 20), []provenance.Start{{}, {Step: 20}}, 6 + 21},
		{"resumed twice without a line between", metrics(5, 6, 7),
			[]provenance.Start{{}, {Step: 20}, {Step: 20}}, 6 + 8},
		{"begun by an earlier version", metrics(5, 6, 20), []provenance.Start{{Step: 20}}, 6 + 21},
		{"resumed after the last line", metrics(5, 6), []provenance.Start{{}, {Step: 25}}, 7},
	} {
		if got := trainingTime(c.metrics, c.starts).Seconds(); got != c.want {
			t.Errorf("%s: got %v s, want %v", c.name, got, c.want)
		}
	}
	for d, want := range map[time.Duration]string{0: "0.0 s", 59500 * time.Millisecond: "59.5 s",
		61 * time.Second: "1 min 1 s", 125 * time.Minute: "2 h 5 min", 50 * time.Hour: "2 d 2 h"} {
		if got := formatDuration(d); got != want {
			t.Errorf("%v: got %s, want %s", d, got, want)
		}
	}
	day := time.Date(2026, 3, 4, 5, 6, 0, 0, time.UTC)
	for want, starts := range map[string][]provenance.Start{
		"2026-03-04 05:06 UTC": {{Time: day}},
		"2026-03-04 05:06 UTC, resumed 1×, last on 2026-03-05 05:06 UTC": {{Time: day},
			{Time: day.AddDate(0, 0, 1), Step: 9}},
		"not recorded, resumed 1×, last on 2026-03-04 05:06 UTC": {{Time: day, Step: 9}},
	} {
		if got := formatDates(starts); got != want {
			t.Errorf("got %s, want %s", got, want)
		}
	}
	if got := joinDevices([]provenance.Start{{Device: "a", Step: 9}}); got != "not recorded, then a" {
		t.Errorf("got devices %q, want not recorded, then a", got)
	}
	if got := joinDevices([]provenance.Start{{Device: "a"}, {Device: "b"}, {Device: "a"}}); got != "a, then b" {
		t.Errorf("got devices %q, want a, then b", got)
	}
}
