package main

import (
	"strings"
	"testing"

	"github.com/sftseq/sftseq/internal/chart"
	"github.com/sftseq/sftseq/internal/metrics"
	"github.com/sftseq/sftseq/internal/must"
	"github.com/sftseq/sftseq/seq"
)

// TestStatsUnlabelled checks that rows without a label are listed after the classes and do not
// count as a class.
func TestStatsUnlabelled(t *testing.T) {
	var out strings.Builder
	must.Succeed(t, writeStats(&out,
		[]metrics.Stats{{Name: "train", Rows: 4, Labels: map[string]int64{"z": 2, "a": 1, seq.Unlabelled: 1}}}))
	lines := strings.Split(strings.TrimSpace(out.String()), "\n")
	equal(t, strings.Join(strings.Fields(strings.Join(lines[len(lines)-3:], "|")), " "),
		"label a 1 (25.0%)|label z 2 (50.0%)|without label 1 (25.0%)")
}

// TestOutline checks that the outline of a histogram is zero at both ends and between separate bins.
func TestOutline(t *testing.T) {
	s := metrics.Stats{Rows: 4, Histogram: []metrics.Bin{{From: 1, To: 2, Rows: 1}, {From: 2, To: 3, Rows: 1},
		{From: 8, To: 9, Rows: 2}}}
	want := []chart.Datum{{X: 1}, {X: 1, Y: 25}, {X: 2, Y: 25}, {X: 2, Y: 25}, {X: 3, Y: 25}, {X: 3}, {X: 8},
		{X: 8, Y: 50}, {X: 9, Y: 50}, {X: 9}}
	equal(t, outline(&s), want)
	if got := outline(&metrics.Stats{}); len(got) > 0 {
		t.Errorf("outline of no rows: %v, want none", got)
	}
}
