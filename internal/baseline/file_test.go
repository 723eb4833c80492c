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

// What is kept comes back; of a data set that was made again nothing does.
func TestStore(t *testing.T) {
	set := dataset(t, spec("a", "b"), map[string]int{"train": 50, "val": 10, "test": 20}, twoClasses)
	if r, err := Stored(set, "val"); r != nil || err != nil {
		t.Fatalf("before: %v, %v", r, err)
	}
	results := must.Get(Measure(context.Background(), set, nil, Splits(set.Manifest)...))(t)
	must.Succeed(t, Store(set, results))
	for i, split := range []string{"val", "test"} {
		r, err := Stored(set, split)
		if err != nil || !reflect.DeepEqual(r, &results[i]) {
			t.Errorf("%s: %+v, %v; expected %+v", split, r, err, results[i])
		}
	}
	other := dataset(t, spec("a", "b"), map[string]int{"train": 60, "val": 10, "test": 20}, twoClasses)
	text, err := os.ReadFile(filepath.Join(set.Dir, FileName))
	if err == nil {
		err = os.WriteFile(filepath.Join(other.Dir, FileName), text, 0o666)
	}
	must.Succeed(t, err)
	if r, err := Stored(other, "val"); r != nil || err != nil {
		t.Errorf("of another data set: %v, %v", r, err)
	}
	damaged := dataset(t, spec("a", "b"), map[string]int{"train": 50, "val": 10}, twoClasses)
	must.Succeed(t, os.WriteFile(filepath.Join(damaged.Dir, FileName), text[:len(text)/2], 0o666))
	must.Fail(t, FileName, "half a file")(Stored(damaged, "val"))
	must.Succeed(t, Store(damaged, results))
	foreign := []byte(`{"baselines": "of another program"}`)
	must.Succeed(t, os.WriteFile(filepath.Join(damaged.Dir, FileName), foreign, 0o666))
	must.Fail(t, FileName+": this file is not of sftseq data baselines",
		"a file of another program")(Store(damaged, results))
}

// Files of before knew one model of a split.
func TestStoredBefore(t *testing.T) {
	set := dataset(t, spec("a", "b"), map[string]int{"train": 50, "val": 10}, twoClasses)
	text := `{"data_sha256": "` + set.Fingerprint() + `", "results": [{"split": "val", "largest_class": "a", "majority": 0.5,
		"model": {"name": "bag", "accuracy": 0.75, "rows": 10, "train_rows": 50}}]}`
	must.Succeed(t, os.WriteFile(filepath.Join(set.Dir, FileName), []byte(text), 0o666))
	want := &Result{Split: "val", Class: "a", Majority: 0.5, Models: []Model{{"bag", 0.75, 10, 50}}}
	if r, err := Stored(set, "val"); err != nil || !reflect.DeepEqual(r, want) {
		t.Errorf("%+v, %v; expected %+v", r, err, want)
	}
}

// What is measured of a data set is every split but that of training.
func TestSplits(t *testing.T) {
	whole := dataset(t, spec("a", "b"), map[string]int{"train": 5, "val": 3, "test": 2}, twoClasses)
	if got := Splits(whole.Manifest); !reflect.DeepEqual(got, []string{"val", "test"}) {
		t.Errorf("%q", got)
	}
	if got := Splits(dataset(t, spec("a", "b"), map[string]int{"test": 2}, twoClasses).Manifest); got != nil {
		t.Errorf("without training: %q", got)
	}
}
