package main

import (
	"strings"
	"testing"

	"github.com/sftseq/sftseq/internal/datastats"
	"github.com/sftseq/sftseq/seq"
)

// TestStatsUnlabelled: what has no label stands behind the classes, and is called none of them.
func TestStatsUnlabelled(t *testing.T) {
	var out strings.Builder
	if err := writeStats(&out, []datastats.Split{{Name: "train", Rows: 4, Labels: map[string]int64{"z": 2, "a": 1, seq.Unlabelled: 1}}}); err != nil {
		t.Fatal(err)
	}
	lines := strings.Split(strings.TrimSpace(out.String()), "\n")
	if got := strings.Join(lines[len(lines)-3:], "|"); strings.Join(strings.Fields(got), " ") != "label a 1 (25.0%)|label z 2 (50.0%)|without label 1 (25.0%)" {
		t.Errorf("%q", got)
	}
}
