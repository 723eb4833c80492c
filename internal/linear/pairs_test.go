package linear

import (
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"testing"

	"github.com/sftseq/sftseq/internal/must"
	"github.com/sftseq/sftseq/internal/testenv"
	"github.com/sftseq/sftseq/seq"
)

// shared returns pairs of texts. In class 1, both texts have the same rare word. In class 0, each text
// has its own rare word.
func shared(seed uint64, n int) (out made) {
	r := rand.New(rand.NewPCG(seed, 5))
	for range n {
		sides, label := [2][]string{prose(r, 20), prose(r, 20)}, r.IntN(2)
		for s := range sides {
			name := fmt.Sprintf("x%x", r.Uint32())
			if s == 1 && label == 1 {
				name = sides[0][3]
			}
			sides[s][3+s] = name
		}
		out = append(out, seq.Example{A: ids(strings.Join(sides[0], " ")), B: ids(strings.Join(sides[1], " ")),
			Label: int32(label)})
	}
	return out
}

func pairsSpec() *seq.Spec {
	s := classSpec(2)
	s.Task = seq.Retrieval
	return s
}

// TestComparison checks that the model finds shared words with and without validation. With 300
// validation rows, it must drop the n-grams of single sides, which carry no information here, and must not
// depend on the number of threads.
func TestComparison(t *testing.T) {
	train, test := shared(1, 1500), shared(3, 500)
	for _, val := range []made{shared(2, 300), shared(2, 50), nil} {
		rows := Rows(val)
		if val == nil {
			rows = nil
		}
		m, report := fitted(t, pairsSpec(), wordOptions, train, rows, Options{Threads: 1})
		if got := accuracy(m, test); got < 0.97 {
			t.Errorf("%d validation rows: accuracy %v, want at least 0.97", len(val), got)
		}
		w := m.Config.Pairs.Weights
		switch {
		case len(val) == 300 && (w[0] != 0 || m.Features() != 0 || report.Pairs.Sum > 0.1 || report.Measured != 300 ||
			report.Pairs.NGrams < 0.5 || report.Pairs.Comparison > 0.1 || report.Accuracy < 0.97):
			t.Errorf("weights %v, %d features, report %+v, accuracy %v on %d rows; want no n-grams, losses of "+
				"at most 0.1 with the comparison and at least 0.5 without it, and an accuracy of at least 0.97 on 300 "+
				"rows", w, m.Features(), *report.Pairs, report.Accuracy, report.Measured)
		case val == nil && (w != pairsPrior || report.Pairs != nil):
			t.Errorf("weights %v, expected the prior; report %+v", w, report.Pairs)
		}
		if len(val) == 300 {
			again, found := fitted(t, pairsSpec(), wordOptions, train, rows, Options{Threads: 3})
			if !reflect.DeepEqual(again, m) || !reflect.DeepEqual(found, report) {
				t.Error("the model differs with 3 threads")
			}
		}
	}
}

// TestSidesAndComparison checks that both parts have positive weights. In every second pair, a word of
// one side determines the class. In the other pairs, a shared word determines it.
func TestSidesAndComparison(t *testing.T) {
	rows := func(seed uint64, n int) made {
		out, r := shared(seed, n), rand.New(rand.NewPCG(seed, 6))
		for i := range out {
			last := " open"
			if i%2 == 0 {
				for out[i].Label == 1 { // draws a pair of class 0, whose rare words differ
					out[i] = shared(r.Uint64(), 1)[0]
				}
				out[i].Label = int32(r.IntN(2))
				last = []string{" nope", " sure"}[out[i].Label]
			}
			out[i].B = append(out[i].B, ids(last)...)
		}
		return out
	}
	m, report := fitted(t, pairsSpec(), wordOptions, rows(1, 3000), rows(2, 400), Options{})
	if got := accuracy(m, rows(3, 500)); got < 0.93 {
		t.Errorf("accuracy %v, want at least 0.93", got)
	}
	if w := m.Config.Pairs.Weights; w[0] <= 0 || w[1] <= 0 || m.Features() == 0 ||
		report.Pairs.Sum > 0.8*min(report.Pairs.NGrams, report.Pairs.Comparison) {
		t.Errorf("weights %v, %d features, report %+v; want positive weights, features, and a loss of the sum "+
			"of at most 0.8 times the lower loss of the parts", w, m.Features(), *report.Pairs)
	}
}

// TestPairsFile checks that a saved model of pairs is loaded unchanged, that WriteWeights includes the
// weights of the parts, and that the error for a wrong value in config.json names the key or the tensor.
func TestPairsFile(t *testing.T) {
	c := must.Get(NewConfig(pairsSpec(), tiny))(t)
	c.Pairs.Slots = 1024
	m, _ := must.Get2(Fit(t.Context(), c, shared(1, 50), nil, Options{}))(t)
	dir := t.TempDir()
	must.Succeed(t, m.Save(dir))
	loaded := must.Get(Load(dir))(t)
	loaded.Config.Tokenizer = m.Config.Tokenizer // Save indents the JSON text of the tokenizer
	if !reflect.DeepEqual(loaded, m) {
		t.Error("the loaded model differs")
	}
	var weights, others strings.Builder
	must.Succeed(t, m.WriteWeights(&weights))
	m.Config.Pairs.Weights[0]++
	must.Succeed(t, m.WriteWeights(&others))
	if weights.String() == others.String() {
		t.Error("WriteWeights does not write the weights of the parts")
	}
	path := filepath.Join(dir, configFile)
	text := string(must.Get(os.ReadFile(path))(t))
	defer testenv.FuzzLimits(t, 32<<20)()
	for _, c := range []struct{ from, to, says string }{
		{`"hidden_units": 32`, `"hidden_units": 1099511627776`, "pairs: hidden_units: expected 1 to 1024"},
		{`"hidden_units": 32`, `"hidden_units": 31`, `tensor "pair_hidden_weight": expected the shape [31 59]`},
		{`"slots": 1024,
    "texts"`, `"slots": 1099511627776,
    "texts"`, "pairs: slots: expected a power of two from 1024 to 4194304"},
		{`"slots": 1024,
    "texts"`, `"slots": 2048,
    "texts"`, `tensor "pair_used_slots": expected the shape [5 64]`},
		{`"texts": 100`, `"texts": 3`, `tensor "pair_texts": expected numbers from 1 to 3`},
		{`"task": "retrieval"`, `"task": "classification"`, "pairs: expected none for task classification"},
		{`"pairs": {`, `"pears": {`, `unknown field "pears"`},
	} {
		if !strings.Contains(text, c.from) {
			t.Fatalf("config.json has no %s: %s", c.from, text)
		}
		must.Succeed(t, os.WriteFile(path, []byte(strings.Replace(text, c.from, c.to, 1)), 0o666))
		_, err := Load(dir)
		if err == nil || !strings.Contains(err.Error(), c.says) || !strings.HasPrefix(err.Error(), dir) {
			t.Errorf("%s: error %v, expected %q", c.to, err, c.says)
		}
	}
}
