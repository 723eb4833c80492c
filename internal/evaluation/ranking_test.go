package evaluation

import (
	"testing"

	"github.com/sftseq/sftseq/device"
	"github.com/sftseq/sftseq/internal/must"
	"github.com/sftseq/sftseq/sft"
)

// TestRankNonFinite checks that the error for a score that is not finite names the rows of both
// documents.
func TestRankNonFinite(t *testing.T) {
	m := must.Get(sft.Load("../../sft/testdata/golden/retrieval"))(t)
	dev := must.Get(device.Open(device.Options{Name: "cpu", Precision: device.FP32}))(t)
	defer dev.Close()
	scorer := must.Get(sft.NewScorer(m, dev))(t)
	d := NewDocuments(scorer, scorer.Embeddings)
	for i, size := range []float32{1, 1, 1e30, 1e30} {
		v := make([]float32, m.Config.HiddenSize)
		for c := range v {
			v[c] = size
		}
		d.all = append(d.all, document{fingerprint: fingerprint{byte(i)}, row: uint32(10 * i), vector: v})
	}
	d.all[2].related = []int{0}
	must.Fail(t, "documents of rows 20 and 30: logits [")(d.Rank(t.Context(), 10,
		func(int) func() { return func() {} }))
}
