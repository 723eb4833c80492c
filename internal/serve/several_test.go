package serve

import (
	"math"
	"path/filepath"
	"strings"
	"testing"

	"github.com/sftseq/sftseq/internal/cpu"
	"github.com/sftseq/sftseq/internal/must"
	"github.com/sftseq/sftseq/internal/task"
	"github.com/sftseq/sftseq/sft"
)

// TestEnsemble checks that a server of an ensemble predicts probabilities, that model/info has the
// number of models, and that embeddings and explanations are refused. The hash depends on the models and
// their order, and the server can reopen its device.
func TestEnsemble(t *testing.T) {
	o := testOptions(t, "pre")
	o.Load = func() (*Model, error) {
		a, err := sft.Load(filepath.Join(goldenDir, "pre"))
		if err != nil {
			return nil, err
		}
		b, err := sft.Load(filepath.Join(goldenDir, "pre"))
		if err != nil {
			return nil, err
		}
		for i := range b.Weights {
			b.Weights[i] *= 1.1
		}
		if Hash(a) == Hash(a, b) || Hash(a, b) == Hash(b, a) {
			t.Error("the hash does not depend on the models and their order")
		}
		d := cpu.New(2)
		s, err := sft.NewEnsemble([]*sft.Model{a, b}, d)
		return &Model{Scorer: s, Task: task.Of(s.Config()), Name: "several", Device: d.Name(), Hash: Hash(a, b),
			Release: func() { d.Close() }}, err
	}
	s := startServer(t, o)
	c := dial(t, s).initialize(nil)
	c.expectError(1, "sequence/embed", map[string]any{"text": "1"}, -32601, noEmbeddings)
	c.expectError(2, "sequence/classify", map[string]any{"text": "1", "explain": true}, -32602, noExplanations)
	var info struct{ Models int }
	if c.call(3, "model/info", map[string]any{}, &info); info.Models != 2 {
		t.Errorf("got %d models, want 2", info.Models)
	}
	var reply struct{ Probabilities []float64 }
	c.call(4, "sequence/classify", map[string]any{"text": "[MAX 1 2 ]"}, &reply)
	sum := 0.0
	for _, p := range reply.Probabilities {
		sum += p
	}
	if len(reply.Probabilities) != 10 || math.Abs(sum-1) > 1e-5 {
		t.Errorf("got probabilities %v, want 10 with sum 1", reply.Probabilities)
	}
	must.Check(t, s.reopen())
	w := startHTTP(t, o, HTTPOptions{})
	if r, got := w.send("POST", "/v1/embeddings", `{"model":"several","input":"1"}`); r.StatusCode/100 != 4 ||
		!strings.Contains(got, noEmbeddings) {
		t.Errorf("got status %d, %s, want 4xx and %q", r.StatusCode, got, noEmbeddings)
	}
}
