package convert

import (
	"fmt"
	"path/filepath"
	"testing"
)

// TestWalkOption checks that return probabilities follow the other features and do not affect the
// splits.
func TestWalkOption(t *testing.T) {
	lines := ""
	for i := range 40 {
		lines += fmt.Sprintf(`{"features":[[%d],[3]],"edges":[[0,1],[1,0]],"label":"a"}`+"\n", i)
	}
	o := graphOptions(writeLines(t, lines))
	o.SplitFractions = []SplitFraction{{Split: "train", Fraction: 0.5}, {Split: "test", Fraction: 0.5}}
	without, err := ConvertGraphs(t.Context(), filepath.Join(t.TempDir(), "data"), o)
	if err != nil {
		t.Fatal(err)
	}
	o.RandomWalk = 2
	with, err := ConvertGraphs(t.Context(), filepath.Join(t.TempDir(), "data"), o)
	if err != nil || fmt.Sprint(with.Manifest.FeatureNames) != "[f0 rw1 rw2]" ||
		with.Manifest.Splits["test"].Rows != without.Manifest.Splits["test"].Rows {
		if err != nil {
			t.Fatal(err)
		}
		t.Fatalf("got features %v and %d test rows, want [f0 rw1 rw2] and %d", with.Manifest.FeatureNames,
			with.Manifest.Splits["test"].Rows, without.Manifest.Splits["test"].Rows)
	}
	a, b := rowTexts(t, without, "test"), rowTexts(t, with, "test")
	if a[0] == b[0] {
		t.Errorf("got %s without return probabilities", b[0])
	}
	var f int
	fmt.Sscanf(a[0], "[[%d]", &f)
	if want := fmt.Sprintf("[[%d 0 1] [3 0 1]] [{0 1 []} {1 0 []}] 0 [] []", f); b[0] != want {
		t.Errorf("got %s, want %s", b[0], want)
	}
	o.FeatureNames = []string{"rw1"}
	if _, err := ConvertGraphs(t.Context(), filepath.Join(t.TempDir(), "data"), o); err == nil {
		t.Error("got no error for a duplicate feature name")
	}
}
