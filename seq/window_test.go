package seq

import (
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"testing"

	"github.com/sftseq/sftseq/internal/must"
)

// TestWindow checks the selected tokens against their definition. Positions, counts and nested
// windows must agree with the selected tokens.
func TestWindow(t *testing.T) {
	windows := []Window{{}}
	for length := 1; length <= 5; length++ {
		for tail := range length + 1 {
			windows = append(windows, Window{length, tail})
		}
	}
	for n := range 13 {
		all := make([]int32, n)
		for i := range all {
			all[i] = int32(i)
		}
		for _, w := range windows {
			want := all
			if w.Length > 0 && n > w.Length {
				want = slices.Concat(all[:w.Length-w.Tail], all[n-w.Tail:])
			}
			got := Cut(w, all)
			if !slices.Equal(got, want) || w.Count(n) != len(want) {
				t.Fatalf("%v of %d tokens: got %v, %d tokens, want %v", w, n, got, w.Count(n), want)
			}
			for i, token := range got {
				if p := w.Position(i, n); p != int(token) {
					t.Fatalf("%v of %d tokens: got position %d of token %d, want %d", w, n, p, i, token)
				}
			}
			for _, other := range windows {
				if direct := Cut(other, all); w.Holds(other) && !slices.Equal(Cut(other, got), direct) {
					t.Fatalf("%v holds %v: got %v of %d tokens, want %v", w, other, Cut(other, got), n, direct)
				}
			}
		}
	}
	if !(Window{1024, 256}).Holds(Window{512, 256}) || (Window{1024, 0}).Holds(Window{512, 256}) ||
		(Window{4, 4}).Holds(Window{}) {
		t.Error("want 1024:tail=256 to hold 512:tail=256, 1024 not to hold 512:tail=256, and 4:tail=4 not to hold 0")
	}
}

// TestParseWindow checks the forms N and N:tail=M, and that errors state these forms.
func TestParseWindow(t *testing.T) {
	for text, want := range map[string]Window{"0": {}, "7": {Length: 7}, "1024:tail=256": {1024, 256},
		"1:tail=1": {1, 1}} {
		if got := must.Get(ParseWindow(text))(t); got != want || got.String() != text {
			t.Errorf("%s: got %v, want %v", text, got, want)
		}
	}
	for _, text := range []string{"", "x", "7:", "7:3", "7:tail", "7:tail=", "7:tail=8", "7:tail=0", "7:tail=-1",
		"0:tail=1", "7:head=3", "7:tail=3:1", "99999999999999999999", "-1", "-5:tail=-6"} {
		must.Fail(t, "expected N or N:tail=M", text)(ParseWindow(text))
	}
}

// TestFileTail checks that a file read through a window with a tail has the tokens that Cut keeps,
// also in pairs, and that the lengths agree. Invalid windows, and a tail for tags or graphs, must be
// refused.
func TestFileTail(t *testing.T) {
	pairs, tags := listopsSpec(), listopsSpec()
	pairs.Task, tags.Task = Retrieval, Tagging
	for _, spec := range []Spec{listopsSpec(), pairs} {
		rows := examples(300, 100, spec, 3)
		path := filepath.Join(t.TempDir(), "x.arrow")
		must.Succeed(t, os.WriteFile(path, encode(t, rows, spec, FileFormat), 0o666))
		for _, w := range []Window{{40, 13}, {40, 40}, {1, 1}} {
			f := must.Get(OpenWindow(path, w))(t)
			defer f.Close()
			for i, want := range rows {
				want.A, want.B = Cut(w, want.A), Cut(w, want.B)
				got, err := f.Example(i)
				if err != nil || !reflect.DeepEqual(got, want) || int(f.Lengths()[i]) != want.Length() {
					t.Fatalf("row %d: got %v of length %d, error %v; want %v", i, got, f.Lengths()[i], err, want)
				}
			}
		}
		for _, w := range []Window{{-1, 0}, {5, -1}, {5, 6}, {0, 1}} {
			must.Fail(t, "expected 0 ≤ tail ≤ window", w)(OpenWindow(path, w))
		}
	}
	must.Succeed(t, Window{5, 0}.check(&tags))
	for _, spec := range []*Spec{&tags, {FeatureNames: []string{"x"}, EdgeFeatureNames: []string{}}} {
		if (Window{5, 2}).check(spec) == nil {
			t.Errorf("%+v: a tail was accepted, want an error", spec)
		}
	}
}
