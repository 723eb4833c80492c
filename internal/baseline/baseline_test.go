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

// onlyModel returns the only model of r. It ends the test unless r has exactly one model, with the given
// name.
func onlyModel(t *testing.T, r Result, name string) Model {
	t.Helper()
	if len(r.Models) != 1 || r.Models[0].Name != name {
		t.Fatalf("%s: got models %+v, want only %s", r.Split, r.Models, name)
	}
	return r.Models[0]
}

var sizes = map[string]int{"train": 2000, "val": 300, "test": 500}

// TestTokens checks that n-grams separate three classes of different sizes by a token that occurs
// in one class only.
func TestTokens(t *testing.T) {
	set := dataset(t, spec("a", "b", "c"), sizes, func(r *rand.Rand) seq.Example {
		label := int32(min(2, r.IntN(4))) // half of the rows are of class c
		tokens := noise(r, 20)
		tokens[r.IntN(len(tokens))] = 40 + label
		return seq.Example{A: tokens, Label: label}
	})
	out := must.Get(Measure(context.Background(), set, nil, "val", "test"))(t)
	for _, r := range out {
		info := set.Manifest.Splits[r.Split]
		if want := float64(info.Labels["c"]) / float64(info.Rows); r.Class != "c" || r.Majority != want {
			t.Errorf("%s: got largest class %s with fraction %v, want c with %v", r.Split, r.Class, r.Majority, want)
		}
		if m := onlyModel(t, r, TokenNGrams); m.Accuracy < 0.97 || m.Rows != int(info.Rows) || m.Trained != 2000 {
			t.Errorf("%s: got %+v, want accuracy ≥ 0.97, %d rows and 2000 training rows", r.Split, m, info.Rows)
		}
	}
}

// TestBigrams checks that bigrams distinguish rows that have the same tokens in a different order.
func TestBigrams(t *testing.T) {
	set := dataset(t, spec("ab", "ba"), sizes, func(r *rand.Rand) seq.Example {
		tokens, at, label := noise(r, 20), r.IntN(19), r.IntN(2)
		tokens[at+label], tokens[at+1-label] = 41, 42
		return seq.Example{A: tokens, Label: int32(label)}
	})
	out, err := Measure(context.Background(), set, nil, "test")
	if err != nil || onlyModel(t, out[0], TokenNGrams).Accuracy < 0.97 {
		t.Fatalf("got %v, %v, want accuracy ≥ 0.97", out, err)
	}
}

// TestChance checks that labels independent of the tokens are predicted at chance accuracy.
func TestChance(t *testing.T) {
	set := dataset(t, spec("a", "b"), sizes, func(r *rand.Rand) seq.Example {
		return seq.Example{A: noise(r, 20), Label: int32(r.IntN(2))}
	})
	out, err := Measure(context.Background(), set, nil, "test")
	if err != nil || math.Abs(onlyModel(t, out[0], TokenNGrams).Accuracy-0.5) > 0.09 { // four standard errors
		t.Fatalf("got %v, %v, want accuracy near 0.5", out, err)
	}
}

// TestPairs checks that the cosine separates pairs that share tokens from unrelated pairs.
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
	if err != nil || onlyModel(t, out[0], Cosine).Accuracy < 0.95 {
		t.Fatalf("got %v, %v, want accuracy ≥ 0.95", out, err)
	}
}

// TestBestThreshold checks that no other threshold classifies more pairs correctly than the result of
// bestThreshold.
func TestBestThreshold(t *testing.T) {
	r := rand.New(rand.NewPCG(3, 3))
	for range 200 {
		s := make([]similarity, 1+r.IntN(12))
		for i := range s {
			s[i] = similarity{float64(r.IntN(5)) / 4, r.IntN(2) == 0}
		}
		correct := func(at float64) (n int) {
			for _, v := range s {
				if (v.cosine >= at) == v.related {
					n++
				}
			}
			return n
		}
		best := 0
		for i := range 6 {
			best = max(best, correct(float64(i)/4))
		}
		if at := bestThreshold(slices.Clone(s)); correct(at) != best {
			t.Fatalf("%v: threshold %v classifies %d pairs correctly, want %d", s, at, correct(at), best)
		}
	}
}

// TestSample checks that large splits are sampled reproducibly, and that the limit of n-gram updates
// shortens the epochs. The training rows are sorted by class.
func TestSample(t *testing.T) {
	n := int32(0)
	set := dataset(t, spec("a", "b"), sizes, func(r *rand.Rand) seq.Example {
		label := n % 2 // n counts the rows of all splits
		if n < 2000 {
			label = n / 1000
		}
		n++
		tokens := noise(r, 20)
		tokens[3] = 41 + label
		return seq.Example{A: tokens, Label: label}
	})
	few := limits{train: 200 * 20, test: 100 * 20, nGrams: 1 << 30}
	var done int64
	first, err := measure(context.Background(), set, []string{"test"}, few, func(rows int64) { done += rows })
	if want := int64(7*200 + 100); done != want {
		t.Errorf("progress of %d rows, want %d: 200 training rows in two passes and 5 epochs, 100 test rows",
			done, want)
	}
	must.Succeed(t, err)
	if m := onlyModel(t, first[0], TokenNGrams); m.Trained != 200 || m.Rows != 100 || m.Accuracy < 0.7 ||
		first[0].Majority != 0.5 {
		t.Errorf("got majority %v, %+v, want 0.5, 200 training rows, 100 test rows and accuracy ≥ 0.7",
			first[0].Majority, m)
	}
	again, err := measure(context.Background(), set, []string{"test"}, few, nil)
	if err != nil || !reflect.DeepEqual(first, again) {
		t.Errorf("second call: got %+v, error %v, want %+v as from the first", again, err, first)
	}
	few.nGrams, done = 1000, 0 // enough for about 20 rows
	short, err := measure(context.Background(), set, []string{"test"}, few, func(rows int64) { done += rows })
	if err != nil || onlyModel(t, short[0], TokenNGrams).Trained != 200 || done < 500+5*10 || done > 500+5*50 {
		t.Errorf("got %+v, progress of %d rows, error %v, want 200 training rows and progress of 550 to 750 rows",
			short, done, err)
	}
}

// TestNothingToMeasure checks that unlabelled data, missing splits and a cancelled context are errors,
// and that a single class yields no model.
func TestNothingToMeasure(t *testing.T) {
	draw := func(label int32) func(*rand.Rand) seq.Example {
		return func(r *rand.Rand) seq.Example { return seq.Example{A: noise(r, 3), Label: label} }
	}
	plain := seq.Spec{Task: seq.Classification, VocabSize: 50}
	if _, err := Measure(context.Background(), dataset(t, plain, map[string]int{"train": 3, "test": 3},
		draw(seq.NoLabel)), nil, "test"); err == nil {
		t.Error("Measure of unlabelled data returned no error")
	}
	one := dataset(t, spec("a"), map[string]int{"train": 3, "test": 3}, draw(0))
	if out, err := Measure(context.Background(), one, nil, "test"); err != nil ||
		out[0].Models != nil || out[0].Majority != 1 {
		t.Errorf("one class: got %+v, %v, want no models and a majority of 1", out, err)
	}
	must.Fail(t, "", "no such split")(Measure(context.Background(), one, nil, "val"))
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	two := dataset(t, spec("a", "b"), map[string]int{"train": 3, "test": 3}, draw(0))
	if _, err := Measure(ctx, two, nil, "test"); err != context.Canceled {
		t.Errorf("got error %v, want context.Canceled", err)
	}
}

// TestStep checks that a step descends the gradient of −ln p(label | row). AdaGrad's first step is
// −rate·sign(gradient), and the sums of squares hold the squared gradient.
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
				t.Errorf("bucket %d, class %d: got gradient %v, want %v", f.bucket, c, got, want)
			}
			if (other.weights[at] < was) != (want > 0) {
				t.Errorf("bucket %d, class %d: the step changes weight %v to %v, want a change against the gradient %v",
					f.bucket, c, was, other.weights[at], want)
			}
		}
	}
}
