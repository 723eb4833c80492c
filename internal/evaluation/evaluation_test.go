package evaluation

import (
	"bytes"
	"context"
	"fmt"
	"math"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/sftseq/sftseq/internal/cpu"
	"github.com/sftseq/sftseq/internal/metrics"
	"github.com/sftseq/sftseq/internal/must"
	"github.com/sftseq/sftseq/seq"
	"github.com/sftseq/sftseq/sft"
	"github.com/sftseq/sftseq/sft/config"
)

// goldenScorer returns a scorer of a golden model with a window.
func goldenScorer(t *testing.T, name string, window *config.InputWindow) *sft.Scorer {
	t.Helper()
	m := must.Get(sft.Load(filepath.Join("..", "..", "sft", "testdata", "golden", name)))(t)
	m.Config.InputWindow = window
	d := cpu.New(1)
	t.Cleanup(func() { d.Close() })
	return must.Get(sft.NewScorer(m, d))(t)
}

// TestRefused checks that rows that are too long, have no label or have an infinite output are
// refused in order, with their lengths. Without Refused, a row that is too long is an error.
func TestRefused(t *testing.T) {
	scorer := goldenScorer(t, "pre", &config.InputWindow{Length: 5, Policy: "error"})
	var data bytes.Buffer
	w := must.Get(seq.NewWriter(&data, seq.Spec{Task: seq.Classification, VocabSize: 17}, seq.FileFormat))(t)
	for i, length := range []int{3, 3, 9, 4, 5} {
		x := seq.Example{A: slices.Repeat([]int32{1}, length), Label: 2}
		if i == 3 {
			x.Label = seq.NoLabel
		}
		must.Succeed(t, w.Write(x))
	}
	must.Succeed(t, w.Close())
	var got []string
	e := &Evaluation{Name: "x", Scorer: scorer, Measure: Classes{metrics.NewTally(10)},
		Score: func(ctx context.Context, examples []seq.Example) ([]sft.Output, error) {
			outputs, err := scorer.Examples(ctx, examples)
			for i, x := range examples {
				if x.Index == 1 {
					outputs[i].Logits[3] = float32(math.Inf(1))
				}
			}
			return outputs, err
		},
		Seen: func(x *seq.Example, length int, _ []float32) {
			got = append(got, fmt.Sprint(x.Index, " of ", length))
		},
	}
	run := func() error {
		r := must.Get(seq.NewReader(bytes.NewReader(data.Bytes()), "x"))(t)
		return e.Run(t.Context(), r, func(int64) {})
	}
	must.Fail(t, "x: row 2: the sequence has 9 tokens")(run())
	got = nil
	e.Refused = func(x *seq.Example, length int, err error) {
		got = append(got, fmt.Sprint(x.Index, " of ", length, " ", err))
	}
	must.Check(t, run())
	want := []string{"0 of 3", "1 of 3 metrics: expected finite logits, found [", "2 of 9 the sequence has 9 tokens",
		"3 of 4 column label: expected a label", "4 of 5"}
	if !slices.EqualFunc(got, want, strings.HasPrefix) {
		t.Errorf("got measured and refused rows %q, want %q", got, want)
	}
}
