package baseline

import (
	"context"
	"math/rand/v2"
	"os"
	"path/filepath"
	"reflect"
	"testing"

	"github.com/sftseq/sftseq/internal/must"
	"github.com/sftseq/sftseq/seq"
)

func twoClasses(r *rand.Rand) seq.Example {
	return seq.Example{A: noise(r, 5), Label: int32(r.IntN(2))}
}

// TestStore checks that stored results are read back unchanged, and that Stored ignores results of
// a different data set and refuses a damaged file. Store must replace a damaged file, but not another
// program's JSON.
func TestStore(t *testing.T) {
	set := dataset(t, spec("a", "b"), map[string]int{"train": 50, "val": 10, "test": 20}, twoClasses)
	if r, err := Stored(set, "val"); r != nil || err != nil {
		t.Fatalf("before Store: got %v, %v, want nil", r, err)
	}
	results := must.Get(Measure(context.Background(), set, nil, Splits(set.Manifest)...))(t)
	must.Succeed(t, Store(set, results))
	for i, split := range []string{"val", "test"} {
		r, err := Stored(set, split)
		if err != nil || !reflect.DeepEqual(r, &results[i]) {
			t.Errorf("%s: got %+v, %v; want %+v", split, r, err, results[i])
		}
	}
	other := dataset(t, spec("a", "b"), map[string]int{"train": 60, "val": 10, "test": 20}, twoClasses)
	text, err := os.ReadFile(filepath.Join(set.Dir, FileName))
	if err == nil {
		err = os.WriteFile(filepath.Join(other.Dir, FileName), text, 0o666)
	}
	must.Succeed(t, err)
	if r, err := Stored(other, "val"); r != nil || err != nil {
		t.Errorf("results of a different data set: got %v, %v, want nil", r, err)
	}
	damaged := dataset(t, spec("a", "b"), map[string]int{"train": 50, "val": 10}, twoClasses)
	must.Succeed(t, os.WriteFile(filepath.Join(damaged.Dir, FileName), text[:len(text)/2], 0o666))
	must.Fail(t, FileName, "half a file")(Stored(damaged, "val"))
	must.Succeed(t, Store(damaged, results))
	foreign := []byte(`{"baselines": "of another program"}`)
	must.Succeed(t, os.WriteFile(filepath.Join(damaged.Dir, FileName), foreign, 0o666))
	must.Fail(t, FileName+": refusing to replace a file that sftseq data baselines did not write",
		"a file of another program")(Store(damaged, results))
}

// TestStoredOldFormat checks that Stored reads older files, which have a single model per split.
func TestStoredOldFormat(t *testing.T) {
	set := dataset(t, spec("a", "b"), map[string]int{"train": 50, "val": 10}, twoClasses)
	text := `{"data_sha256": "` + set.Fingerprint() + `", "results": [{"split": "val", "largest_class": "a", "majority": 0.5,
		"model": {"name": "bag", "accuracy": 0.75, "rows": 10, "train_rows": 50}}]}`
	must.Succeed(t, os.WriteFile(filepath.Join(set.Dir, FileName), []byte(text), 0o666))
	want := &Result{Split: "val", Class: "a", Majority: 0.5, Models: []Model{{"bag", 0.75, 10, 50}}}
	if r, err := Stored(set, "val"); err != nil || !reflect.DeepEqual(r, want) {
		t.Errorf("got %+v, %v; want %+v", r, err, want)
	}
}

// TestSplits checks that Splits returns all splits except train, and none without a training split.
func TestSplits(t *testing.T) {
	whole := dataset(t, spec("a", "b"), map[string]int{"train": 5, "val": 3, "test": 2}, twoClasses)
	if got := Splits(whole.Manifest); !reflect.DeepEqual(got, []string{"val", "test"}) {
		t.Errorf("got %q, want val and test", got)
	}
	if got := Splits(dataset(t, spec("a", "b"), map[string]int{"test": 2}, twoClasses).Manifest); got != nil {
		t.Errorf("without a training split: got %q, want nil", got)
	}
}
