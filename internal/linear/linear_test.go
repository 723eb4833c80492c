package linear

import (
	"context"
	"errors"
	"fmt"
	"math"
	"math/rand/v2"
	"reflect"
	"slices"
	"strings"
	"testing"

	"github.com/sftseq/sftseq/internal/must"
	"github.com/sftseq/sftseq/seq"
)

// TestClasses checks the accuracy with two classes, which differ only in the order of two words, and with
// five classes.
func TestClasses(t *testing.T) {
	for _, classes := range []int{2, 5} {
		m, report := fitted(t, classSpec(classes), wordOptions, moods(1, 3000, classes),
			moods(2, 500, classes), Options{})
		if got := accuracy(m, moods(3, 1000, classes)); got < 0.92 { // a twentieth of the rows has a random label
			t.Errorf("%d classes: accuracy %v, want at least 0.92", classes, got)
		}
		if report.Rows != 2940 || len(report.Losses) != 5 || report.Losses[report.Kept] != slices.Min(report.Losses) ||
			report.Losses[report.Kept] > 0.4*math.Log(float64(classes)) {
			t.Errorf("%d classes: report %+v, want 2940 rows and 5 losses, the lowest of at most 0.4 ln %[1]d kept",
				classes, report)
		}
		if got := len(m.NewPredictor().Logits(&seq.Example{A: ids("of no word that is known")})); got != classes {
			t.Errorf("%d classes: got %d logits, want %[1]d", classes, got)
		}
	}
}

// TestMultiLabel checks the predictions of three independent labels.
func TestMultiLabel(t *testing.T) {
	s := classSpec(3)
	s.Task = seq.MultiLabel
	rows := func(seed uint64, n int) (out made) {
		r := rand.New(rand.NewPCG(seed, 2))
		for range n {
			e := seq.Example{Label: seq.NoLabel, Labels: []int32{}}
			words := prose(r, 12)
			for c := range int32(3) {
				if r.IntN(3) == 0 {
					e.Labels = append(e.Labels, c)
					words[c] = fmt.Sprint("has", c)
				}
			}
			r.Shuffle(len(words), func(i, j int) { words[i], words[j] = words[j], words[i] })
			e.A = ids(strings.Join(words, " "))
			out = append(out, e)
		}
		return out
	}
	m, _ := fitted(t, s, wordOptions, rows(1, 2000), rows(2, 200), Options{})
	p, wrong, test := m.NewPredictor(), 0, rows(3, 500)
	for i := range test {
		for c, z := range p.Logits(&test[i]) {
			if z > 0 != slices.Contains(test[i].Labels, int32(c)) {
				wrong++
			}
		}
	}
	if wrong > 15 {
		t.Errorf("%d of 1500 labels are wrong, want at most 15", wrong)
	}
}

// TestPairs checks that the model distinguishes the sides of a pair: the class is the side with a
// certain word.
func TestPairs(t *testing.T) {
	s := classSpec(2)
	s.Task = seq.Retrieval
	rows := func(seed uint64, n int) (out made) {
		r := rand.New(rand.NewPCG(seed, 3))
		for range n {
			sides := [2][]string{prose(r, 10), prose(r, 10)}
			label := r.IntN(2)
			sides[label][r.IntN(10)] = "here"
			out = append(out, seq.Example{A: ids(strings.Join(sides[0], " ")),
				B: ids(strings.Join(sides[1], " ")), Label: int32(label)})
		}
		return out
	}
	m, _ := fitted(t, s, wordOptions, rows(1, 1000), nil, Options{})
	if got := accuracy(m, rows(2, 500)); got < 0.98 {
		t.Errorf("accuracy %v, want at least 0.98", got)
	}
}

// TestNumbers checks the predictions of a number that depends on words, and of a constant.
func TestNumbers(t *testing.T) {
	s := &seq.Spec{Task: seq.Regression, Tokenizer: []byte(`{"type":"byte"}`), VocabSize: 257,
		NumberNames: []string{"price", "three"}}
	rows := func(seed uint64, n int) (out made) {
		r := rand.New(rand.NewPCG(seed, 4))
		for range n {
			words, level := prose(r, 12), r.IntN(5)
			words[0] = fmt.Sprint("level", level)
			out = append(out, seq.Example{A: ids(strings.Join(words, " ")), Label: seq.NoLabel,
				Numbers: []float32{float32(1000 + 10*level), 3}})
		}
		return out
	}
	for _, val := range []Rows{rows(2, 300), nil} {
		m, report := fitted(t, s, wordOptions, rows(1, 2000), val, Options{})
		test := rows(3, 500)
		p, sum := m.NewPredictor(), 0.0
		for i := range test {
			y := slices.Clone(p.Logits(&test[i]))
			for c, n := range m.Config.Numbers {
				y[c] = n.Mean + n.Deviation*y[c]
			}
			sum += math.Pow(y[0]-float64(test[i].Numbers[0]), 2)
			if math.Abs(y[1]-3) > 1e-6 {
				t.Fatalf("the constant 3 is predicted as %v", y[1])
			}
		}
		if r2 := 1 - sum/500/200; r2 < 0.95 { // the variance of the numbers is 200
			t.Errorf("R² %v, want at least 0.95; report %+v", r2, report)
		}
		if val == nil && (report.Penalty != defaultPenalty || report.Kept != -1) ||
			val != nil && len(report.Losses) < 2 {
			t.Errorf("report %+v, want at least 2 losses with validation, otherwise the default penalty and Kept -1",
				report)
		}
	}
}

// TestConjugateGradients checks that the gradient of the ridge regression is 0 at the solution.
func TestConjugateGradients(t *testing.T) {
	r := rand.New(rand.NewPCG(6, 6))
	var rows made
	for range 40 {
		rows = append(rows, seq.Example{A: ids(strings.Join(prose(r, 6), " ")),
			Numbers: []float32{r.Float32(), 5 * r.Float32()}})
	}
	s := &seq.Spec{Task: seq.Regression, VocabSize: 257, NumberNames: []string{"a", "b"}}
	o := Options{}
	c := must.Get(NewConfig(s, wordOptions))(t)
	f := &fitting{config: c, train: newData(rows, c, &o)}
	ctx := context.Background()
	must.Succeed(t, f.train.index(ctx))
	must.Succeed(t, f.standardise(ctx))
	solver := must.Get(f.newSolver(ctx))(t)
	const penalty = 0.3
	must.Succeed(t, solver.solve(ctx, penalty))
	centre, predicted := solver.centre(solver.weights), make([]float64, 2)
	gradient := make([]float64, len(solver.weights))
	for i, w := range solver.weights {
		gradient[i] = penalty * w
	}
	must.Succeed(t, f.train.inOrder(ctx, func(all []row) error {
		for i := range all {
			solver.project(&all[i], solver.weights, centre, predicted)
			for j := range f.train.vocabulary.Size() {
				x := -solver.mean[j]
				if slices.Contains(all[i].features, uint32(j)) {
					x += solver.scale(&all[i]) * float64(solver.ratios[j])
				}
				for c, y := range all[i].numbers {
					gradient[2*j+c] += x * (predicted[c] - float64(y))
				}
			}
		}
		return nil
	}))
	for i, g := range gradient {
		if math.Abs(g) > 0.01 {
			t.Errorf("gradient %v at %d, want 0", g, i)
		}
	}
}

// TestThreads checks that the number of threads and the size of the cache do not change the model or
// the report. The seed changes a logistic regression, but not a ridge regression.
func TestThreads(t *testing.T) {
	train, val := moods(1, 1200, 3), moods(2, 300, 3)
	small := bounds{tokens: 5000, rows: 100, group: 40000, cached: 1 << 27}
	for _, s := range []*seq.Spec{classSpec(3),
		{Task: seq.Regression, VocabSize: 257, NumberNames: []string{"label"}}} {
		if s.Task == seq.Regression {
			for _, rows := range []made{train, val} {
				for i := range rows {
					rows[i].Numbers = []float32{float32(rows[i].Label)}
				}
			}
		}
		first, report := fitted(t, s, wordOptions, train, val, Options{Seed: 3, Threads: 1, bounds: &small})
		if n := newData(train, &first.Config,
			&Options{bounds: &small}); len(n.groups(slices.Collect(func(yield func(int) bool) {
			for b := range n.blocks {
				yield(b)
			}
		}))) < 3 {
			t.Error("the rows form fewer than 3 groups")
		}
		for _, threads := range []int{2, 7} {
			for _, cached := range []int64{small.cached, 20000, 0} {
				b := small
				b.cached, b.shared = cached, threads // one thread computes all columns of the first model
				again, found := fitted(t, s, wordOptions, train, val, Options{Seed: 3, Threads: threads, bounds: &b})
				if !reflect.DeepEqual(again, first) || !reflect.DeepEqual(found, report) {
					t.Errorf("task %s, %d threads, %d cached features: the model differs; report %+v, expected %+v",
						s.Task,
						threads, cached, found, report)
				}
			}
		}
		other, _ := fitted(t, s, wordOptions, train, val, Options{Seed: 4, Threads: 1, bounds: &small})
		if reflect.DeepEqual(other, first) != (s.Task == seq.Regression) {
			t.Errorf("task %s: the seed must change a logistic regression, but not a ridge regression", s.Task)
		}
	}
}

// TestUpdates checks that an epoch with limited updates reads only some of the rows, and that the
// ratios are computed from all rows.
func TestUpdates(t *testing.T) {
	var seen []int
	train := moods(1, 1200, 2)
	o := Options{Progress: func(rows int) { seen = append(seen, rows) }}
	whole, report := fitted(t, classSpec(2), wordOptions, train, nil, o)
	if !slices.Equal(seen, []int{1200, 1200, 1024, 152, 1024, 152, 1024, 152, 1024, 152, 1024, 152}) ||
		report.Rows != 1176 {
		t.Fatalf("%d rows, progress %v, want 1176 rows, 2 passes of 1200 rows and 5 epochs of 1176", report.Rows, seen)
	}
	seen, o.Updates = nil, 20000
	part, report := fitted(t, classSpec(2), wordOptions, train, nil, o)
	if n := seen[2]; len(seen) != 7 || n < 300 || n > 900 || seen[6] != n || report.Rows != 1176 {
		t.Errorf("%d rows, progress %v, want 1176 rows, 2 passes and 5 epochs of 300 to 900 rows each",
			report.Rows, seen)
	}
	for i, c := range part.cells {
		if c.ratio != whole.cells[i].ratio {
			t.Fatalf("ratio %d of %d is %d, expected %d", i, len(part.cells), c.ratio, whole.cells[i].ratio)
		}
	}
	if got := accuracy(part, moods(3, 1000, 2)); got < 0.9 {
		t.Errorf("accuracy %v, want at least 0.9", got)
	}
}

// TestDocument checks that the logits of an edited document are bitwise identical to the logits of its text.
func TestDocument(t *testing.T) {
	for _, classes := range []int{2, 4} {
		m, _ := fitted(t, classSpec(classes), wordOptions, moods(1, 600, classes), nil, Options{})
		r := rand.New(rand.NewPCG(9, 9))
		p, whole, d := m.NewPredictor(), m.NewPredictor(), m.NewDocument()
		text := ""
		var got []float64
		edit := func(start, end int, inserted string) {
			next := text[:start] + inserted + text[end:]
			got = p.Edit(d, ids(text), ids(next), start, len(text)-end)
			text = next
		}
		for range 300 {
			start := r.IntN(len(text) + 1)
			edit(start, min(len(text), start+r.IntN(20)), strings.Join(append(prose(r, r.IntN(4)),
				fmt.Sprint("is", r.IntN(classes)))[r.IntN(2):], " "))
			if want := whole.Logits(&seq.Example{A: ids(text)}); !slices.EqualFunc(got, want, sameBits) {
				t.Fatalf("%q: logits %v, expected %v", text, got, want)
			}
		}
		edit(0, len(text), "")
		if slices.ContainsFunc(d.counts, func(n uint32) bool { return n > 0 }) ||
			slices.ContainsFunc(d.sums, func(s sum) bool { return s != sum{} }) {
			t.Errorf("the empty document has the counts %v and the sums %v", d.counts, d.sums)
		}
	}
}

func sameBits(a, b float64) bool { return math.Float64bits(a) == math.Float64bits(b) }

// TestSuited checks the errors for unsupported data, and that many columns reduce the slots.
func TestSuited(t *testing.T) {
	for says, s := range map[string]*seq.Spec{
		"expected tokens, found features": {Task: seq.Classification, FeatureNames: []string{"x"},
			LabelNames: []string{"a", "b"}},
		"expects the task classification, retrieval, multi-label or regression, found tagging": {Task: seq.Tagging,
			LabelNames: []string{"a", "b"}},
		"expects 2 to 256 labels, found 1": {Task: seq.Classification, LabelNames: []string{"a"}},
		"at most 256 numbers, found 300": {Task: seq.Regression,
			NumberNames: make([]string, 300)},
	} {
		must.Fail(t, says)(NewConfig(s, wordOptions))
	}
	o := wordOptions
	o.Slots = 1 << 22
	if c := must.Get(NewConfig(classSpec(256), o))(t); c.NGrams.Slots != 1<<18 {
		t.Errorf("%d slots for 256 classes, want 2¹⁸", c.NGrams.Slots)
	}
	if c := must.Get(NewConfig(classSpec(2), o))(t); c.NGrams.Slots != 1<<22 {
		t.Errorf("%d slots for 2 classes, want 2²²", c.NGrams.Slots)
	}
}

// TestNothingToLearn checks the errors for rows without labels and for a cancelled context, and the
// model of a single row.
func TestNothingToLearn(t *testing.T) {
	c := must.Get(NewConfig(classSpec(2), wordOptions))(t)
	must.FailWith(t, ErrNothingToLearn)(Fit(context.Background(), c,
		made{{A: ids("a"), Label: seq.NoLabel}}, nil, Options{}))
	must.FailWith(t, ErrNothingToLearn)(Fit(context.Background(), c, made{}, nil, Options{}))
	numbers := must.Get(NewConfig(&seq.Spec{Task: seq.Regression, VocabSize: 257, NumberNames: []string{"y"}},
		wordOptions))(t)
	must.FailWith(t, ErrNothingToLearn)(Fit(context.Background(), numbers,
		made{{A: ids("a"), Label: seq.NoLabel}}, nil, Options{}))
	ctx, stop := context.WithCancelCause(context.Background())
	stop(errors.New("ended"))
	must.FailWith(t, context.Canceled)(Fit(ctx, c, moods(1, 100, 2), nil, Options{}))
	// All n-grams of a single row are rare. The model has no features and predicts the row's class.
	m, _ := fitted(t, classSpec(2), wordOptions, made{{A: ids("one two"), Label: 1}}, nil, Options{})
	if z := m.NewPredictor().Logits(&seq.Example{A: ids("one two")}); m.Features() != 0 || z[0] != 0 || z[1] <= 0 {
		t.Errorf("%d features, logits %v; want no features and the class 1", m.Features(), z)
	}
}

// BenchmarkClasses measures training of 20 classes on one thread and on two.
func BenchmarkClasses(b *testing.B) {
	short := moods(1, 600, 20)
	train := slices.Clone(short)
	for i := range train {
		train[i].A = slices.Clone(train[i].A)
		for k := range 20 {
			train[i].A = append(train[i].A, short[(i*7+k)%len(short)].A...)
		}
	}
	o := wordOptions
	o.MinCount = 1
	for _, threads := range []int{1, 2} {
		b.Run(fmt.Sprint(threads), func(b *testing.B) {
			for b.Loop() {
				fitted(b, classSpec(20), o, train, nil, Options{Threads: threads})
			}
		})
	}
}
