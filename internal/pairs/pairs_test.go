package pairs

import (
	"context"
	"fmt"
	"math"
	"math/rand/v2"
	"reflect"
	"strings"
	"testing"

	"github.com/sftseq/sftseq/internal/must"
	"github.com/sftseq/sftseq/internal/ngram"
	"github.com/sftseq/sftseq/seq"
)

// made is a Rows in memory.
type made []seq.Example

func (m made) Lengths() (out []int32) {
	for _, e := range m {
		out = append(out, int32(e.Length()))
	}
	return out
}

func (m made) Example(i int) (seq.Example, error) { return m[i], nil }

// ids returns the byte tokenizer's ids of a text.
func ids(text string) (out []int32) {
	for _, b := range []byte(text) {
		out = append(out, int32(b)+1)
	}
	return out
}

// prose returns n random words; words with low numbers are frequent.
func prose(r *rand.Rand, n int) []string {
	words := make([]string, n)
	for i := range words {
		words[i] = fmt.Sprintf("w%d", r.IntN(1+r.IntN(1+r.IntN(400))))
	}
	return words
}

// stories returns n pairs of texts of 30 words. A pair of class c shares c rare words, besides
// frequent words. One pair in 40 has no label.
func stories(seed uint64, n, classes int) (out made) {
	r := rand.New(rand.NewPCG(seed, 1))
	for i := range n {
		a, b, label := prose(r, 30), prose(r, 30), r.IntN(classes)
		for c := range label {
			name := fmt.Sprintf("Name%x", r.Uint32())
			a[2+3*c], b[5+4*c] = name, name
		}
		if i%40 == 9 {
			label = int(seq.NoLabel)
		}
		out = append(out, seq.Example{A: ids(strings.Join(a, " ")), B: ids(strings.Join(b, " ")), Label: int32(label)})
	}
	return out
}

func accuracy(m *Model, rows made) float64 {
	p, correct, n := m.NewPredictor(), 0, 0
	for _, e := range rows {
		if e.Label < 0 {
			continue
		}
		z, best := p.Logits(e.A, e.B), 0
		if len(z) == 1 {
			z = []float64{0, z[0]}
		}
		for c, v := range z {
			if v > z[best] {
				best = c
			}
		}
		n++
		if best == int(e.Label) {
			correct++
		}
	}
	return float64(correct) / float64(n)
}

func fitted(t testing.TB, units string, classes, threads int, train, val Rows) (*Model, *Report) {
	t.Helper()
	c := NewConfig(units)
	c.Slots = 1 << 16
	return must.Get2(Fit(context.Background(), *c, train, val,
		Options{Classes: classes, Seed: 3, Threads: threads}))(t)
}

// TestClasses checks the accuracy on pairs that differ in their number of shared rare words, for
// each kind of units and for two and three classes.
func TestClasses(t *testing.T) {
	for _, units := range []string{ngram.Words, ngram.Bytes, ngram.Tokens} {
		for _, classes := range []int{2, 3} {
			m, report := fitted(t, units, classes, 0, stories(1, 1000, classes), stories(2, 200, classes))
			minAccuracy := 0.97
			if classes == 3 {
				minAccuracy = 0.85
			}
			if got := accuracy(m, stories(3, 500, classes)); got < minAccuracy {
				t.Errorf("%s, %d classes: got accuracy %v, want at least %v", units, classes, got, minAccuracy)
			}
			if report.Rows != 975 || report.Kept < 0 || len(report.Losses) != maxEpochs {
				t.Errorf("%s, %d classes: got report %+v, want 975 rows, %d losses and a selected epoch", units,
					classes, report, maxEpochs)
			}
		}
	}
}

// TestThreads checks that the model and the report are identical for 1, 2, 5 and 11 threads.
func TestThreads(t *testing.T) {
	train, val := stories(1, 500, 3), stories(2, 100, 3)
	one, report := fitted(t, ngram.Words, 3, 1, train, val)
	for _, threads := range []int{2, 5, 11} {
		again, found := fitted(t, ngram.Words, 3, threads, train, val)
		if !reflect.DeepEqual(again, one) || !reflect.DeepEqual(found, report) {
			t.Errorf("%d threads: the model or the report differs from one thread: got report %+v, want %+v",
				threads, found, report)
		}
	}
}

// TestGradient compares the gradient of the mean loss with finite differences.
func TestGradient(t *testing.T) {
	for _, outputs := range []int{1, 3} {
		r := rand.New(rand.NewPCG(1, 9))
		h := newHead(5, 7, outputs)
		for i := range h.weights {
			h.weights[i] = r.NormFloat64()
		}
		s := &sample{inputs: 5}
		var rows []int
		for i := range 11 {
			for range 5 {
				s.features = append(s.features, float32(r.NormFloat64()))
			}
			s.labels, rows = append(s.labels, int32(r.IntN(max(2, outputs)))), append(rows, i)
		}
		gradient := newWorkspace(h).gradient(h, s, rows, 2)
		const step = 1e-6
		for i, w := range h.weights {
			h.weights[i] = w + step
			up := h.loss(s)
			h.weights[i] = w - step
			down := h.loss(s)
			h.weights[i] = w
			if want := (up - down) / (2 * step); math.Abs(gradient[i]-want) > 1e-6 {
				t.Errorf("%d outputs: got gradient %v of weight %d, want %v", outputs, gradient[i], i, want)
			}
		}
	}
}

// TestTensors checks that a model made from another model's tensors equals the other model, and that malformed
// tensors are errors.
func TestTensors(t *testing.T) {
	m, _ := fitted(t, ngram.Words, 3, 0, stories(1, 60, 3), nil)
	again := must.Get(NewModel(m.Config, 3, m.Tensors()))(t)
	if !reflect.DeepEqual(again, m) {
		t.Error("NewModel(m.Tensors()) differs from m")
	}
	bad := m.Tensors()
	bad[1].Ints[3] = int32(m.Texts) + 1
	must.Fail(t, `tensor "pair_texts": expected numbers from 1 to`, "at index 3")(NewModel(m.Config, 3, bad))
	bad = m.Tensors()
	bad[1].Ints = bad[1].Ints[1:]
	must.Fail(t, `tensor "pair_texts": expected a number for each of the`)(NewModel(m.Config, 3, bad))
	bad = m.Tensors()
	bad[4].Data[0] = float32(math.Inf(1))
	must.Fail(t, `tensor "pair_hidden_weight": expected finite numbers`)(NewModel(m.Config, 3, bad))
}

// TestConfig checks that an error for an invalid value names its key.
func TestConfig(t *testing.T) {
	good := *NewConfig(ngram.Words)
	must.Succeed(t, good.Validate())
	hostile := map[string]Config{}
	change := func(says string, change func(c *Config)) {
		c := good
		change(&c)
		hostile[says] = c
	}
	change(`units: expected words, bytes or tokens, found "x"`, func(c *Config) { c.Units = "x" })
	const slots = "slots: expected a power of two from 1024 to 4194304, found "
	change(slots+"1099511627776", func(c *Config) { c.Slots = 1 << 40 })
	change(slots+"1025", func(c *Config) { c.Slots = 1025 })
	change("texts: expected 1 to 2147483646, found 0", func(c *Config) { c.Texts = 0 })
	change("hidden_units: expected 1 to 1024, found 1099511627776", func(c *Config) { c.Hidden = 1 << 40 })
	change("weights[1]: expected 0 to 1e+06, found -1", func(c *Config) { c.Weights[1] = -1 })
	change("weights[0]: expected 0 to 1e+06, found NaN", func(c *Config) { c.Weights[0] = math.NaN() })
	for says, c := range hostile {
		must.Fail(t, says)(0, c.Validate())
	}
}

// TestStops checks that a cancelled context and an invalid configuration end training with an
// error.
func TestStops(t *testing.T) {
	ctx, stop := context.WithCancel(context.Background())
	stop()
	must.FailWith(t, context.Canceled)(Fit(ctx, *NewConfig(ngram.Words), stories(1, 50, 2), nil, Options{Classes: 2}))
	must.Fail(t, "texts: expected")(Fit(context.Background(), Config{Units: ngram.Words, Slots: 1024}, made{}, nil,
		Options{}))
}
