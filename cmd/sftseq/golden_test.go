package main

import (
	"math"
	"path/filepath"
	"reflect"
	"strings"
	"testing"

	"github.com/sftseq/sftseq/internal/must"
	"github.com/sftseq/sftseq/internal/safetensors"
)

func TestPredictGolden(t *testing.T) {
	for _, name := range goldenFolders() {
		t.Run(name, func(t *testing.T) {
			inputs := goldenPath(name, "inputs.jsonl")
			out := succeed(t, "", "predict", "--model", goldenPath(name), inputs)
			got, want := replyLines(t, out), replyLines(t, readText(t, goldenPath(name, "expected.jsonl")))
			if len(got) != len(want) {
				t.Fatalf("%d replies, want %d", len(got), len(want))
			}
			for i, w := range want {
				equal(t, string(got[i].ID), string(w.ID), i, w.ID)
				if got[i].Length < 1 || (got[i].LengthA != nil) != (name == "retrieval") {
					t.Errorf("reply %d: got length %d, length_a present: %t; want length at least 1, length_a %t", i,
						got[i].Length, got[i].LengthA != nil, name == "retrieval")
				}
				if len(got[i].Logits) != len(w.Logits) {
					t.Fatalf("reply %d: %d logits, want %d", i, len(got[i].Logits), len(w.Logits))
				}
				sum := 0.0
				for c := range w.Logits {
					if d := math.Abs(float64(got[i].Logits[c] - w.Logits[c])); !(d <= 1e-4) {
						t.Errorf("reply %d: logit %d differs by %.1e from the expected logit", i, c, d)
					}
					sum += float64(got[i].Probabilities[c])
				}
				if math.Abs(sum-1) > 1e-6 {
					t.Errorf("reply %d: probabilities add up to %v, want 1", i, sum)
				}
			}
			checkAlone(t, name, readText(t, inputs), out)
		})
	}
}

// checkAlone checks that predictions are bitwise identical to the lines of want, for each input line alone
// on one thread, and for all lines in several orders on two threads.
func checkAlone(t *testing.T, name, inputs, want string) {
	t.Helper()
	lines, replies := strings.SplitAfter(strings.TrimSpace(inputs), "\n"), strings.SplitAfter(want, "\n")
	for i, line := range lines {
		equal(t, succeed(t, line, "predict", "--model", goldenPath(name), "--threads", "1"), replies[i], i+1)
	}
	var mixed, expected strings.Builder
	for round := range min(3, len(lines)) { // a single line has only one order
		for i := range lines {
			at := (len(lines) - 1 - i + round) % len(lines)
			mixed.WriteString(strings.TrimSpace(lines[at]) + "\n")
			expected.WriteString(replies[at])
		}
	}
	equal(t, succeed(t, mixed.String(), "predict", "--model", goldenPath(name), "--threads", "2"), expected.String())
}

func TestGradsGolden(t *testing.T) {
	for _, name := range goldenFolders() {
		t.Run(name, func(t *testing.T) {
			path := filepath.Join(t.TempDir(), "grads.safetensors")
			done(t, "", "grads", "--model", goldenPath(name), "--input",
				goldenPath(name, "inputs.jsonl"), "--output", path)
			got, _ := must.Get2(safetensors.Read(path))(t)
			want, _ := must.Get2(safetensors.Read(goldenPath(name, "grads.safetensors")))(t)
			equal(t, len(got), len(want))
			byName := map[string]safetensors.Tensor{}
			for _, g := range got {
				byName[g.Name] = g
			}
			for _, w := range want {
				compareTensor(t, byName[w.Name], w)
			}
		})
	}
}

// compareTensor checks that a gradient g is close to the expected gradient w:
// ‖g − w‖ ≤ 1e-3·‖w‖ + 1e-6.
func compareTensor(t *testing.T, g, w safetensors.Tensor) {
	t.Helper()
	if !reflect.DeepEqual(g.Shape, w.Shape) {
		t.Errorf("%s: shape %v, want %v", w.Name, g.Shape, w.Shape)
		return
	}
	diff, norm := 0.0, 0.0
	for i := range w.Data {
		d := float64(g.Data[i]) - float64(w.Data[i])
		diff += d * d
		norm += float64(w.Data[i]) * float64(w.Data[i])
	}
	if diff, norm = math.Sqrt(diff), math.Sqrt(norm); !(diff <= 1e-3*norm+1e-6) {
		t.Errorf("%s: the difference has the norm %.2e, the expected gradient %.2e", w.Name, diff, norm)
	}
}

func TestEmbedGolden(t *testing.T) {
	inputs := readText(t, goldenPath("retrieval", "inputs.jsonl"))
	pairs := replyLines(t, succeed(t, inputs, "embed", "--model", goldenPath("retrieval")))
	first := strings.NewReplacer(`"tokens_a"`, `"tokens"`, `"tokens_b"`, `"ignored"`).Replace(inputs)
	second := strings.NewReplacer(`"tokens_b"`, `"tokens"`, `"tokens_a"`, `"ignored"`).Replace(inputs)
	a := replyLines(t, succeed(t, first, "embed", "--model", goldenPath("retrieval")))
	b := replyLines(t, succeed(t, second, "embed", "--model", goldenPath("retrieval"), "--threads", "1"))
	if len(pairs) != 2 || len(a) != 2 || len(b) != 2 {
		t.Fatalf("got %d, %d and %d replies, want 2 each", len(pairs), len(a), len(b))
	}
	for i, p := range pairs {
		if len(p.EmbeddingA) != 32 || !reflect.DeepEqual(p.EmbeddingA, a[i].Embedding) ||
			!reflect.DeepEqual(p.EmbeddingB, b[i].Embedding) {
			t.Errorf("line %d: the embeddings of a pair differ from its sequences' embeddings", i+1)
		}
		if p.Length != a[i].Length+b[i].Length || *p.LengthB != b[i].Length {
			t.Errorf("line %d: got length %d and length_b %d, want the sum of %d and %d, and the latter", i+1,
				p.Length, *p.LengthB, a[i].Length, b[i].Length)
		}
	}
}
