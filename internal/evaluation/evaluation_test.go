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
	"github.com/sftseq/sftseq/seq"
	"github.com/sftseq/sftseq/sft"
)

// goldenScorer scores with a golden model, through a window.
func goldenScorer(t *testing.T, name string, window *sft.InputWindow) *sft.Scorer {
	t.Helper()
	m, err := sft.Load(filepath.Join("..", "..", "sft", "testdata", "golden", name))
	if err != nil {
		t.Fatal(err)
	}
	m.Config.InputWindow = window
	d := cpu.New(1)
	t.Cleanup(func() { d.Close() })
	scorer, err := sft.NewScorer(m, d)
	if err != nil {
		t.Fatal(err)
	}
	return scorer
}

// TestRefused: rows that the model cannot read, or for which it has no finite answer, are
// refused in their places, with the lengths that they have; without Refused the first is an
// error.
func TestRefused(t *testing.T) {
	scorer := goldenScorer(t, "pre", &sft.InputWindow{Length: 5, Policy: "error"})
	var data bytes.Buffer
	w, err := seq.NewWriter(&data, seq.Spec{Task: seq.Classification, VocabSize: 17}, seq.FileFormat)
	if err != nil {
		t.Fatal(err)
	}
	for i, length := range []int{3, 3, 9, 4, 5} {
		x := seq.Example{A: slices.Repeat([]int32{1}, length), Label: 2}
		if i == 3 {
			x.Label = seq.NoLabel
		}
		if err := w.Write(x); err != nil {
			t.Fatal(err)
		}
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
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
		r, err := seq.NewReader(bytes.NewReader(data.Bytes()), "x")
		if err != nil {
			t.Fatal(err)
		}
		return e.Run(t.Context(), r, func(int64) {})
	}
	if err := run(); err == nil || !strings.Contains(err.Error(), "x: row 2: the sequence has 9 tokens") {
		t.Errorf("%v", err)
	}
	got = nil
	e.Refused = func(x *seq.Example, length int, err error) {
		got = append(got, fmt.Sprint(x.Index, " of ", length, " ", err))
	}
	if err := run(); err != nil {
		t.Error(err)
	}
	want := []string{"0 of 3", "1 of 3 metrics: logits [", "2 of 9 the sequence has 9 tokens", "3 of 4 column label: expected a label", "4 of 5"}
	if !slices.EqualFunc(got, want, strings.HasPrefix) {
		t.Errorf("%q, want %q", got, want)
	}
}
