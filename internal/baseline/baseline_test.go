package baseline

import (
	"context"
	"math"
	"math/rand/v2"
	"reflect"
	"slices"
	"testing"

	"github.com/sftseq/sftseq/internal/must"
	"github.com/sftseq/sftseq/seq"
)

// dataset writes a data set with splits of the given sizes. draw generates each row.
func dataset(t *testing.T, spec seq.Spec, sizes map[string]int, draw func(r *rand.Rand) seq.Example) *seq.Dataset {
	t.Helper()
	b := must.Get(seq.CreateDataset(t.TempDir(), spec, false))(t)
	r := rand.New(rand.NewPCG(5, 7))
	for _, split := range []string{"train", "val", "test"} {
		if sizes[split] == 0 {
			continue
		}
		w := must.Get(b.Split(split))(t)
		for range sizes[split] {
			must.Succeed(t, w.Write(draw(r)))
		}
		must.Succeed(t, w.Close())
	}
	return must.Get(b.Finish(nil))(t)
}

func spec(labels ...string) seq.Spec {
	return seq.Spec{Task: seq.Classification, Name: "made", VocabSize: 50, LabelNames: labels}
}

func noise(r *rand.Rand, n int) []int32 {
	out := make([]int32, n)
	for i := range out {
		out[i] = int32(r.IntN(40))
	}
	return out
}

// only returns the only model of a result, and expects it to have the name.
func only(t *testing.T, r Result, name string) Model {
	t.Helper()
	if len(r.Models) != 1 || r.Models[0].Name != name {
		t.Fatalf("%s: %+v, expected %s alone", r.Split, r.Models, name)
	}
	return r.Models[0]
}

var sizes = map[string]int{"train": 2000, "val": 300, "test": 500}

// TestTokens: a model of three classes of different sizes learns a token that occurs in one class only.
func TestTokens(t *testing.T) {
	set := dataset(t, spec("a", "b", "c"), sizes, func(r *rand.Rand) seq.Example {
		label := int32(min(2, r.IntN(4))) // half of them are c
		tokens := noise(r, 20)
		tokens[r.IntN(len(tokens))] = 40 + label
		return seq.Example{A: tokens, Label: label}
	})
	out := must.Get(Measure(context.Background(), set, nil, "val", "test"))(t)
	for _, r := range out {
		info := set.Manifest.Splits[r.Split]
		if want := float64(info.Labels["c"]) / float64(info.Rows); r.Class != "c" || r.Majority != want {
			t.Errorf("%s: largest class %s with %v, expected c with %v", r.Split, r.Class, r.Majority, want)
		}
		if m := only(t, r, TokenNGrams); m.Accuracy < 0.97 || m.Rows != int(info.Rows) || m.Trained != 2000 {
			t.Errorf("%s: %+v, expected nearly all right", r.Split, m)
		}
	}
}

// TestNeighbours: neighbours distinguish rows of the same tokens in another order.
func TestNeighbours(t *testing.T) {
	set := dataset(t, spec("ab", "ba"), sizes, func(r *rand.Rand) seq.Example {
		tokens, at, label := noise(r, 20), r.IntN(19), r.IntN(2)
		tokens[at+label], tokens[at+1-label] = 41, 42
		return seq.Example{A: tokens, Label: int32(label)}
	})
	out, err := Measure(context.Background(), set, nil, "test")
	if err != nil || only(t, out[0], TokenNGrams).Accuracy < 0.97 {
		t.Fatalf("%v, %v", out, err)
	}
}

// TestChance: labels that are independent of the tokens are predicted with an accuracy of chance.
func TestChance(t *testing.T) {
	set := dataset(t, spec("a", "b"), sizes, func(r *rand.Rand) seq.Example {
		return seq.Example{A: noise(r, 20), Label: int32(r.IntN(2))}
	})
	out, err := Measure(context.Background(), set, nil, "test")
	if err != nil || math.Abs(only(t, out[0], TokenNGrams).Accuracy-0.5) > 0.09 { // four standard errors
		t.Fatalf("%v, %v", out, err)
	}
}

// TestPairs: pairs that share tokens are distinguished from others; pairs of identical words are not.
func TestPairs(t *testing.T) {
	s := spec("apart", "together")
	s.Task = seq.Retrieval
	set := dataset(t, s, sizes, func(r *rand.Rand) seq.Example {
		e := seq.Example{A: noise(r, 12), B: noise(r, 12), Label: int32(r.IntN(2))}
		if e.Label == 1 {
			copy(e.B[:6], e.A[3:])
		}
		return e
	})
	out, err := Measure(context.Background(), set, nil, "test")
	if err != nil || only(t, out[0], Cosine).Accuracy < 0.95 {
		t.Fatalf("%v, %v", out, err)
	}
}

// TestBestThreshold: no other threshold classifies more pairs correctly.
func TestBestThreshold(t *testing.T) {
	r := rand.New(rand.NewPCG(3, 3))
	for range 200 {
		s := make([]similarity, 1+r.IntN(12))
		for i := range s {
			s[i] = similarity{float64(r.IntN(5)) / 4, r.IntN(2) == 0}
		}
		right := func(at float64) (n int) {
			for _, v := range s {
				if (v.cosine >= at) == v.related {
					n++
				}
			}
			return n
		}
		best := 0
		for i := range 6 {
			best = max(best, right(float64(i)/4))
		}
		if at := bestThreshold(slices.Clone(s)); right(at) != best {
			t.Fatalf("%v: threshold %v is right %d times, expected %d", s, at, right(at), best)
		}
	}
}

// TestSample: large splits are sampled reproducibly. The sample has all classes even if the file is
// sorted by class.
func TestSample(t *testing.T) {
	n := int32(0)
	set := dataset(t, spec("a", "b"), sizes, func(r *rand.Rand) seq.Example {
		label := n / 1000 % 2 // n is a row of the training split, then of the others
		n++
		tokens := noise(r, 20)
		tokens[3] = 41 + label
		return seq.Example{A: tokens, Label: label}
	})
	few := limits{train: 200 * 20, test: 100 * 20, nGrams: 1 << 30}
	var done int64
	first, err := measure(context.Background(), set, []string{"test"}, few, func(rows int64) { done += rows })
	if want := int64(7*200 + 100); done != want {
		t.Errorf("progress of %d rows, expected %d: 200 of training in two passes and 5 epochs, and 100 of the test",
			done, want)
	}
	must.Succeed(t, err)
	if m := only(t, first[0], TokenNGrams); m.Trained != 200 || m.Rows != 100 || m.Accuracy < 0.7 {
		t.Errorf("%+v, expected a sample of 200 and 100 rows with nearly all labels right", m)
	}
	again, err := measure(context.Background(), set, []string{"test"}, few, nil)
	if err != nil || !reflect.DeepEqual(first, again) {
		t.Errorf("%+v, then %+v, %v", first, again, err)
	}
	few.nGrams, done = 1000, 0 // some twenty rows
	short, err := measure(context.Background(), set, []string{"test"}, few, func(rows int64) { done += rows })
	if err != nil || only(t, short[0], TokenNGrams).Trained != 200 || done < 500+5*10 || done > 500+5*50 {
		t.Errorf("%+v, %d rows, %v", short, done, err)
	}
}

// TestNothingToMeasure: data without labels and missing splits are errors; one class has no model.
func TestNothingToMeasure(t *testing.T) {
	draw := func(label int32) func(*rand.Rand) seq.Example {
		return func(r *rand.Rand) seq.Example { return seq.Example{A: noise(r, 3), Label: label} }
	}
	plain := seq.Spec{Task: seq.Classification, VocabSize: 50}
	if _, err := Measure(context.Background(), dataset(t, plain, map[string]int{"train": 3, "test": 3},
		draw(seq.NoLabel)), nil, "test"); err == nil {
		t.Error("no labels: no error")
	}
	one := dataset(t, spec("a"), map[string]int{"train": 3, "test": 3}, draw(0))
	if out, err := Measure(context.Background(), one, nil, "test"); err != nil ||
		out[0].Models != nil || out[0].Majority != 1 {
		t.Errorf("one class: %+v, %v", out, err)
	}
	must.Fail(t, "", "no such split")(Measure(context.Background(), one, nil, "val"))
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	two := dataset(t, spec("a", "b"), map[string]int{"train": 3, "test": 3}, draw(0))
	if _, err := Measure(ctx, two, nil, "test"); err != context.Canceled {
		t.Errorf("cancelled: %v", err)
	}
}

// TestStep: a step descends the gradient of −ln p(label | row): AdaGrad's first step is
// −rate·sign(gradient), the later ones add the squares.
func TestStep(t *testing.T) {
	l := newLogistic(3)
	r := rand.New(rand.NewPCG(9, 9))
	row := []feature{{3, 0.5}, {7, -1.25}, {200, 2}}
	for i := range l.weights {
		l.weights[i] = float32(r.NormFloat64())
	}
	loss := func() float64 {
		s := make([]float64, 3)
		l.scores(row, s)
		return math.Log(math.Exp(s[0])+math.Exp(s[1])+math.Exp(s[2])) - s[1]
	}
	const h = 1e-2
	for _, f := range append(row, feature{buckets, 1}) {
		for c := range 3 {
			w := &l.weights[int(f.bucket)*3+c]
			was := *w
			*w = was + h
			up := loss()
			*w = was - h
			down := loss()
			*w = was
			want := (up - down) / (2 * h)
			other := newLogistic(3)
			copy(other.weights, l.weights)
			other.step(row, 1, make([]float64, 3))
			at := int(f.bucket)*3 + c
			if got := math.Sqrt(float64(other.squares[at])); math.Abs(got-math.Abs(want)) > 1e-3 {
				t.Errorf("bucket %d, class %d: gradient %v, expected %v", f.bucket, c, got, want)
			}
			if (other.weights[at] < was) != (want > 0) {
				t.Errorf("bucket %d, class %d: the step goes up", f.bucket, c)
			}
		}
	}
}
