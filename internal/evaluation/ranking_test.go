package evaluation

import (
	"strings"
	"testing"

	"github.com/sftseq/sftseq/device"
	"github.com/sftseq/sftseq/sft"
)

// TestRankNonFinite: the rows of two documents are named whose score is no number,
// though no row has both.
func TestRankNonFinite(t *testing.T) {
	m, err := sft.Load("../../sft/testdata/golden/retrieval")
	if err != nil {
		t.Fatal(err)
	}
	dev, err := device.Open(device.Options{Name: "cpu", Precision: device.FP32})
	if err != nil {
		t.Fatal(err)
	}
	defer dev.Close()
	scorer, err := sft.NewScorer(m, dev)
	if err != nil {
		t.Fatal(err)
	}
	d := NewDocuments(scorer, scorer.Embeddings)
	for i, size := range []float32{1, 1, 1e30, 1e30} {
		v := make([]float32, m.Config.HiddenSize)
		for c := range v {
			v[c] = size
		}
		d.all = append(d.all, document{fingerprint: fingerprint{byte(i)}, row: uint32(10 * i), vector: v})
	}
	d.all[2].related = []int{0}
	if _, err := d.Rank(t.Context(), 10, func(int) func() { return func() {} }); err == nil || !strings.Contains(err.Error(), "a document of row 20 with one of row 30: logits [") {
		t.Errorf("%v", err)
	}
}
