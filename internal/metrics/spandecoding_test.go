package metrics

import (
	"math"
	"math/rand/v2"
	"slices"
	"testing"
)

// TestViterbi compares the decoded tags with all tag sequences: none has a larger sum of logits
// minus penalties.
func TestViterbi(t *testing.T) {
	random := rand.New(rand.NewPCG(1, 2))
	for _, names := range [][]string{
		{"O", "B-X", "I-X", "B-Y", "I-Y"}, {"O", "B-X"}, {"I-X", "O"}, {"exon", "intron", "O"},
		{"noun", "verb", "B-X"}, {"O"},
	} {
		tags, n := NewTags(names, len(names)), len(names)
		for trial := range 200 {
			tokens, penalty := random.IntN(6), []float64{0, 0.5, 2, 8}[trial%4]
			logits := make([]float32, tokens*n)
			for i := range logits {
				logits[i] = float32(random.IntN(9)) / 2
			}
			value := func(y []int32) float64 {
				sum := -penalty * float64(len(tags.Spans(y)))
				for i, tag := range y {
					sum += float64(logits[i*n+int(tag)])
				}
				return sum
			}
			best, y := math.Inf(-1), make([]int32, tokens)
			for number := range int(math.Pow(float64(n), float64(tokens))) {
				for i := range y {
					y[i] = int32(number % n)
					number /= n
				}
				best = max(best, value(y))
			}
			if got := tags.Decode(SpanDecoding{SpanPenalty: penalty}, logits); value(got) != best ||
				len(got) != tokens {
				t.Fatalf("%q, penalty %g, logits %v: tags %v score %g, want the maximum %g", names, penalty,
					logits, got, value(got), best)
			}
		}
	}
}

// TestSmooth checks maximum gaps and minimum lengths against results computed by hand.
func TestSmooth(t *testing.T) {
	bio := []string{"O", "B-X", "I-X", "B-Y", "I-Y"}
	for _, c := range []struct {
		names       []string
		tags        []int32
		gap, length int
		want        []int32
	}{
		{bio, []int32{1, 2, 0, 1, 0, 0, 2}, 0, 0, []int32{1, 2, 0, 1, 0, 0, 2}},
		{bio, []int32{1, 2, 0, 1, 0, 0, 2}, 1, 0, []int32{1, 2, 2, 2, 0, 0, 2}},
		{bio, []int32{1, 2, 0, 1, 0, 0, 2}, 2, 0, []int32{1, 2, 2, 2, 2, 2, 2}},
		{bio, []int32{1, 2, 1, 2}, 1, 0, []int32{1, 2, 2, 2}},
		{bio, []int32{1, 2, 1, 2}, 0, 3, []int32{0, 0, 0, 0}},
		{bio, []int32{1, 0, 3, 0, 1}, 9, 0, []int32{1, 0, 3, 0, 1}}, // a span of a different type lies between
		{bio, []int32{1, 0, 1, 0, 0, 0, 3}, 1, 2, []int32{1, 2, 2, 0, 0, 0, 0}},
		{[]string{"B-X", "O"}, []int32{0, 1, 0}, 9, 0, []int32{0, 1, 0}},                 // no tag continues X
		{[]string{"a", "b"}, []int32{0, 1, 0}, 9, 9, []int32{0, 1, 0}},                   // no O
		{[]string{"a", "O"}, []int32{0, 1, 0, 1, 1, 0}, 1, 2, []int32{0, 0, 0, 1, 1, 1}}, // not BIO
	} {
		got := slices.Clone(c.tags)
		NewTags(c.names, len(c.names)).smooth(got, c.gap, c.length)
		if !slices.Equal(got, c.want) {
			t.Errorf("%v with gap %d and length %d: got %v, want %v", c.tags, c.gap, c.length, got, c.want)
		}
	}
}

// TestMatches checks the number of span pairs at IoU ≥ 0.5.
func TestMatches(t *testing.T) {
	for _, c := range []struct {
		labels, predictions []Span
		want                int
	}{
		{[]Span{{0, 4, "X"}}, []Span{{0, 2, "X"}}, 1},
		{[]Span{{0, 4, "X"}}, []Span{{0, 2, "X"}, {2, 4, "X"}}, 1}, // each span matches once
		{[]Span{{0, 2, "X"}, {2, 4, "X"}}, []Span{{0, 4, "X"}}, 1},
		{[]Span{{0, 4, "X"}}, []Span{{0, 4, "Y"}}, 0},
		{[]Span{{0, 5, "X"}}, []Span{{0, 2, "X"}}, 0},
		{[]Span{{0, 5, "X"}}, []Span{{0, 1, "X"}, {1, 5, "X"}}, 1},
		{[]Span{{4, 8, "X"}, {9, 12, "X"}}, []Span{{0, 3, "X"}, {5, 8, "X"}, {8, 12, "X"}}, 2},
	} {
		found := 0
		forEachMatch(c.labels, c.predictions, func(_, _ Span) { found++ })
		if found != c.want {
			t.Errorf("%v and %v: got %d pairs, want %d", c.labels, c.predictions, found, c.want)
		}
	}
}

// TestDecodingChoice checks that the zero decoding is selected if each label has the largest logit. With
// holes in the spans and noise between them, the selected decoding finds all spans exactly.
func TestDecodingChoice(t *testing.T) {
	names := []string{"O", "B-X", "I-X"}
	labels := make([]int32, 2000)
	for _, start := range []int{100, 700, 1300} {
		labels[start] = 1
		for i := range 400 {
			labels[start+1+i] = 2
		}
	}
	logits := make([]float32, 3*len(labels))
	for i, label := range labels {
		logits[3*i+int(label)] = 2
	}
	choice := NewDecodingChoice(names, 3)
	choice.Add(labels, logits)
	if d, score := choice.Best(); d != (SpanDecoding{}) || score.F1 != 1 {
		t.Errorf("good logits: got %+v with score %+v, want the zero decoding and F1 1", d, score)
	}
	for i := 17; i < len(labels); i += 53 { // wrong tokens
		logits[3*i], logits[3*i+2] = logits[3*i+2], logits[3*i]
	}
	alone := NewTagging(names, 3)
	alone.Add(labels, NewTags(names, 3).Decode(SpanDecoding{}, logits))
	choice = NewDecodingChoice(names, 3)
	choice.Add(labels, logits)
	d, score := choice.Best()
	tally := NewTagging(names, 3)
	tally.Add(labels, NewTags(names, 3).Decode(d, logits))
	if score.F1 != 1 || score.Overlap.F1 != 1 || tally.SpanF1() != 1 || alone.SpanF1() > 0.2 {
		t.Errorf("%+v: got F1 %g, tally %g, zero decoding %g, want 1, 1 and at most 0.2", d, score.F1,
			tally.SpanF1(), alone.SpanF1())
	}
	if len(NewDecodingChoice([]string{"a", "b"}, 2).decodings) != len(spanPenalties) {
		t.Error("got gaps or lengths in the grid of tags without O")
	}
}

// TestChoiceCounts checks that a decoding's counts equal those of [Tagging] for the decoded tags,
// with and without unlabelled tokens.
func TestChoiceCounts(t *testing.T) {
	random := rand.New(rand.NewPCG(5, 6))
	for _, names := range [][]string{{"O", "B-X", "I-X", "B-Y"}, {"a", "O", "b"}, {"a", "b"}} {
		for _, minLabel := range []int{0, -1} {
			n, tokens := len(names), 400
			labels, logits := make([]int32, tokens), make([]float32, tokens*n)
			for i := range labels {
				labels[i] = int32(minLabel + random.IntN(n-minLabel))
				if i%20 != 0 && labels[i] >= 0 && labels[i-1] >= 0 {
					labels[i] = labels[i-1]
				}
			}
			for i := range logits {
				logits[i] = float32(random.NormFloat64())
			}
			choice := NewDecodingChoice(names, n)
			choice.Add(labels, logits)
			for i, d := range choice.decodings {
				tally := NewTagging(names, n)
				tally.Add(labels, choice.tags.Decode(d, logits))
				got, want := choice.counts[i].score(""), tally.AllSpans()
				if want.Tokens = (F1Score{}); got != want {
					t.Fatalf("%q, %+v: got %+v, want %+v", names, d, got, want)
				}
			}
		}
	}
}

func BenchmarkDecodingChoice(b *testing.B) {
	names, random := []string{"O", "B-X", "I-X"}, rand.New(rand.NewPCG(5, 6))
	labels, logits := make([]int32, 4096), make([]float32, 3*4096)
	for i := range logits {
		logits[i] = float32(random.NormFloat64())
	}
	choice := NewDecodingChoice(names, 3)
	b.SetBytes(int64(len(labels)))
	for b.Loop() {
		choice.Add(labels, logits)
	}
}
