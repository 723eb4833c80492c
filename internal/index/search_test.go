package index

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"path/filepath"
	"reflect"
	"slices"
	"testing"

	"github.com/sftseq/sftseq/internal/must"
)

// TestSearch checks the order of hits, ties, zero vectors, k = 0 and errors of Search and Add.
func TestSearch(t *testing.T) {
	x := open(t, filepath.Join(t.TempDir(), "x.arrow"))
	for id, v := range map[string][]float32{"b": {2, 0, 0, 0}, "a": {1, 0, 0, 0}, "c": {1, 1, 0, 0},
		"d": {-1, 0, 0, 0}, "zero": {0, 0, 0, 0}} {
		must.Succeed(t, x.Add(Item{ID: id, Vector: v})())
	}
	var got []string
	for _, h := range found(t, x, []float32{3, 0, 0, 0}, 4) {
		got = append(got, fmt.Sprintf("%s %.3f", h.ID, h.Cosine))
	}
	if want := []string{"a 1.000", "b 1.000", "c 0.707", "zero 0.000"}; !slices.Equal(got, want) {
		t.Errorf("got hits %q, want %q", got, want)
	}
	if n := len(found(t, x, []float32{1, 0, 0, 0}, 0)); n != 0 {
		t.Errorf("k = 0: got %d hits, want 0", n)
	}
	unwanted := errors.New("cancelled by the test")
	query := Query{Vector: []float32{1, 0, 0, 0}}
	must.FailWith(t, unwanted)(x.Search(query, 1, func(func()) error { return unwanted }))
	must.Fail(t, "", "a vector of another size was accepted")(x.Add(Item{ID: "e", Vector: []float32{1}})())
}

// TestSearchKeepsTheBest checks that a search for k items returns the first k of all sorted hits.
func TestSearchKeepsTheBest(t *testing.T) {
	x := open(t, filepath.Join(t.TempDir(), "x.arrow"))
	random := rand.New(rand.NewPCG(3, 4))
	vector := func() []float32 {
		v := make([]float32, 4)
		for i := range v {
			v[i] = float32(random.NormFloat64())
		}
		return v
	}
	for n := range 200 {
		must.Succeed(t, x.Add(Item{ID: fmt.Sprint(n), Vector: vector()})())
	}
	for range 20 {
		query := vector()
		if got, all := found(t, x, query, 16), found(t, x, query, 1000); len(all) != 200 ||
			!slices.IsSortedFunc(all, Hit.compare) || !reflect.DeepEqual(got, all[:16]) {
			t.Errorf("got %v, want the first 16 of %v", got, all)
		}
	}
}

// TestSearchOfASnapshot checks that a search returns the items that existed at its start, although items
// are added, replaced and removed before each of its pieces, and that it does not block these changes.
func TestSearchOfASnapshot(t *testing.T) {
	x := open(t, filepath.Join(t.TempDir(), "x.arrow"))
	const count = 2*blockItems + 100
	random := rand.New(rand.NewPCG(7, 8))
	vector := func() []float32 {
		v := make([]float32, 4)
		for i := range v {
			v[i] = float32(random.NormFloat64())
		}
		return v
	}
	add := func(n int) func() error {
		return x.Add(Item{ID: fmt.Sprint(n), Tokens: []int32{random.Int32()}, Vector: vector()})
	}
	for n := range count {
		add(n)
	}
	must.Succeed(t, add(count)())
	query := vector()
	want := found(t, x, query, count+1)
	got, err := x.Search(Query{Vector: query}, count+1, func(piece func()) error {
		for range 20 {
			add(random.IntN(count + 1)) // replaces an item
			add(count + 1 + random.IntN(100))
		}
		must.Get(x.Remove([]string{fmt.Sprint(random.IntN(count + 1)), fmt.Sprint(random.IntN(count + 1))}))(t)
		piece()
		return nil
	})
	if err != nil || !reflect.DeepEqual(got, want) {
		t.Errorf("got error %v, %d items, want the %d items from before the search", err, len(got), len(want))
	}
	if now := found(t, x, query, count+1); reflect.DeepEqual(now, want) {
		t.Error("the changes are not visible after the search")
	}
}

// TestCosineRange checks that rounding does not move a cosine beyond [-1, 1].
func TestCosineRange(t *testing.T) {
	x := open(t, filepath.Join(t.TempDir(), "x.arrow"))
	for n := range 500 {
		i := itemOf(n)
		must.Succeed(t, x.Add(Item{ID: "a", Vector: i.Vector})())
		away := slices.Clone(i.Vector)
		for k := range away {
			away[k] *= -1
		}
		if a, b := found(t, x, i.Vector, 1)[0].Cosine, found(t, x, away, 1)[0].Cosine; a > 1 || b < -1 || a < 1-1e-9 {
			t.Fatalf("%v: got cosines %v and %v, want 1-1e-9 to 1 and at least -1", i.Vector, a, b)
		}
	}
}
