package tensor

import (
	"fmt"
	"strings"
	"testing"
)

// panics returns the message that f panics with, or "" if f does not panic.
func panics(f func()) (message string) {
	defer func() {
		if v := recover(); v != nil {
			message = fmt.Sprint(v)
		}
	}()
	f()
	return ""
}

// TestLaunchPanics checks that an invalid launch, or the lookup of an unknown segment, panics with a
// message that names the reason.
func TestLaunchPanics(t *testing.T) {
	for _, c := range []struct {
		name, message string
		launch        func(p *Program)
	}{
		{"outside a segment", "outside a segment", func(p *Program) {
			q := NewProgram()
			q.Launch(Zero{Y: q.Temp("y", Fixed, 1)})
		}},
		{"after Finish", "outside a segment", func(p *Program) {
			y := p.Temp("y", Fixed, 1)
			p.Finish().Launch(Zero{Y: y})
		}},
		{"reads unwritten memory", "nothing has written", func(p *Program) {
			p.Launch(GELU{Y: p.Temp("y", Tokens, 4, 2), X: p.Temp("x", Tokens, 4, 2)})
		}},
		{"adds to unwritten memory", "nothing has written", func(p *Program) {
			scale, dy := p.Input("scale", Fixed, 1), p.Input("dy", Tokens, 4, 2)
			p.Launch(ResidualScaleBackward{DB: p.Temp("db", Tokens, 4, 2), DScale: p.Temp("d", Fixed, 1), DY: dy, B: dy,
				Scale: scale, Accumulate: true})
		}},
		{"shapes", "gelu: x[4 2]: 2 where n is expected, with map[R:4 n:3]", func(p *Program) {
			p.Launch(GELU{Y: p.Temp("y", Tokens, 4, 3), X: p.Input("x", Tokens, 4, 2)})
		}},
		{"rows of another kind", "x[4 2]: rows of another kind where R is expected", func(p *Program) {
			p.Launch(GELU{Y: p.Temp("y", Sampled, 4, 2), X: p.Input("x", Tokens, 4, 2)})
		}},
		{"width", "w[5 3]: 3 where in is expected", func(p *Program) {
			p.Launch(Linear{Y: p.Temp("y", Tokens, 4, 5), X: p.Input("x", Tokens, 4, 2),
				Weight: p.Input("w", Fixed, 5, 3), Bias: p.Input("b", Fixed, 5)})
		}},
		{"rows of another kind of a linear layer",
			"x[4 3]: rows of another kind where R is expected", func(p *Program) {
				p.Launch(Linear{Y: p.Temp("y", Sampled, 4, 5), X: p.Input("x", Tokens, 4, 3),
					Weight: p.Input("w", Fixed, 5, 3), Bias: p.Input("b", Fixed, 5)})
			}},
		{"fewer rows of a linear layer", "x[4 3]: 4 where R is expected", func(p *Program) {
			p.Launch(Linear{Y: p.Temp("y", Tokens, 3, 5), X: p.Input("x", Tokens, 4, 3),
				Weight: p.Input("w", Fixed, 5, 3), Bias: p.Input("b", Fixed, 5)})
		}},
		{"rows of another kind of a linear layer's backward", "dy[4 5]: rows of another kind",
			func(p *Program) { p.Launch(linearBackwardOf(p, Sampled, 4)) }},
		{"fewer rows of a linear layer's backward", "3 where R is expected, with map[R:4",
			func(p *Program) { p.Launch(linearBackwardOf(p, Tokens, 3)) }},
		{"rows of another kind of a row score's backward", "dy[4 1]: rows of another kind",
			func(p *Program) { p.Launch(rowDotBackwardOf(p, Sampled, 4, 1)) }},
		{"fewer rows of a row score's backward", "3 where R is expected, with map[R:4",
			func(p *Program) { p.Launch(rowDotBackwardOf(p, Tokens, 3, 1)) }},
		{"bias of a row score's backward", "db[2]: 2 where 1 is expected",
			func(p *Program) { p.Launch(rowDotBackwardOf(p, Tokens, 4, 2)) }},
		{"losses of other rows", "dlogits[4 3]: rows of another kind where E is expected",
			func(p *Program) { p.Launch(crossEntropyOf(p, Sequences, Examples, 1, 1)) }},
		{"labels of other rows", "label[4 1]: rows of another kind where E is expected",
			func(p *Program) { p.Launch(crossEntropyOf(p, Examples, Sequences, 1, 1)) }},
		{"several losses", "dlogits[4 3]: 4 where E is expected, with map[E:8]",
			func(p *Program) { p.Launch(crossEntropyOf(p, Examples, Examples, 2, 1)) }},
		{"several labels", "label[4 2]: 8 where E is expected",
			func(p *Program) { p.Launch(crossEntropyOf(p, Examples, Examples, 1, 2)) }},
		{"bias", "b[4]: 4 where out is expected", func(p *Program) {
			p.Launch(Linear{Y: p.Temp("y", Tokens, 4, 5), X: p.Input("x", Tokens, 4, 3),
				Weight: p.Input("w", Fixed, 5, 3), Bias: p.Input("b", Fixed, 4)})
		}},
		{"heads", "3 channels in 2 heads", func(p *Program) { p.Launch(attentionOf(p, 3, ReLU, false)) }},
		{"leak without leaky_relu", "the leak belongs", func(p *Program) { p.Launch(attentionOf(p, 4, ReLU, true)) }},
		{"leaky_relu without leak", "the leak belongs",
			func(p *Program) { p.Launch(attentionOf(p, 4, LeakyReLU, false)) }},
		{"no such segment", "no segment", func(p *Program) { p.SegmentIndex("other") }},
	} {
		p := NewProgram()
		p.Segment("only")
		if got := panics(func() { c.launch(p) }); !strings.Contains(got, c.message) {
			t.Errorf("%s: got panic %q, want a message with %q", c.name, got, c.message)
		}
	}
}

// linearBackwardOf returns a launch for 4 tokens. Its DY has n rows on the given axis.
func linearBackwardOf(p *Program, axis Axis, n int) LinearBackward {
	return LinearBackward{DX: p.Temp("dx", Tokens, 4, 3), DWeight: p.Temp("dw", Fixed, 5, 3),
		DBias: p.Temp("db", Fixed, 5),
		DY:    p.Input("dy", axis, n, 5), X: p.Input("x", Tokens, 4, 3), Weight: p.Input("w", Fixed, 5, 3)}
}

// rowDotBackwardOf returns a launch for 4 tokens. Its DY has n rows on the given axis, and its bias
// has the given number of words.
func rowDotBackwardOf(p *Program, axis Axis, n, bias int) RowDotBackward {
	return RowDotBackward{DX: p.Input("dx", Tokens, 4, 3), DWeight: p.Temp("dw", Fixed, 3),
		DBias: p.Temp("db", Fixed, bias),
		DY:    p.Input("dy", axis, n, 1), X: p.Input("x", Tokens, 4, 3), Weight: p.Input("w", Fixed, 3)}
}

// crossEntropyOf returns a launch for 4 examples whose losses and labels have the given axes and
// widths.
func crossEntropyOf(p *Program, loss, label Axis, losses, labels int) CrossEntropy {
	return CrossEntropy{Loss: p.Temp("loss", loss, 4, losses), DLogits: p.Temp("dlogits", Examples, 4, 3),
		Logits: p.Input("logits", Examples, 4, 3), Label: p.Input("label", label, 4, labels),
		Scale: p.Input("scale", Fixed, 3)}
}

// attentionOf returns a launch of attention with d channels in two heads, for 4 tokens and 4 keys.
func attentionOf(p *Program, d int, probability Probability, leak bool) Attention {
	k := Attention{O: p.Temp("o", Tokens, 4, d), Norm: p.Temp("norm", Tokens, 4, 2), Q: p.Input("q", Tokens, 4, d),
		K: p.Input("k", Sampled, 4, d), V: p.Input("v", Sampled, 4, d), Count: p.Input("count", Sequences, 1),
		Batch: NewBatch(p, 4, 1), Heads: 2, Probability: probability}
	if leak {
		k.Leak = p.Input("leak", Sequences, 1, 2)
	}
	return k
}

// TestSegments checks the launches of each segment, and the lookup of a segment by name.
func TestSegments(t *testing.T) {
	p := NewProgram()
	y := p.Temp("y", Fixed, 1)
	p.Segment("a")
	p.Launch(Zero{Y: y})
	p.Launch(Zero{Y: y})
	p.Segment("empty")
	p.Segment("b")
	p.Launch(Zero{Y: y})
	p.Finish()
	want := []Segment{{"a", 0, 2}, {"empty", 2, 2}, {"b", 2, 3}}
	if fmt.Sprint(p.Segments) != fmt.Sprint(want) {
		t.Errorf("got segments %v, want %v", p.Segments, want)
	}
	if got := p.SegmentIndex("b"); got != 2 {
		t.Errorf("segment b has index %d, want 2", got)
	}
}

// TestCountsFollowTheAxes checks that Counts.Words stores four of its numbers of rows at the indices of
// their axes, and the length of the longest sequence at CountLongest.
func TestCountsFollowTheAxes(t *testing.T) {
	w := Counts{Tokens: 5, Sequences: 4, Sampled: 3, Examples: 2, Longest: 1}.Words()
	if len(w) != CountWords {
		t.Fatalf("got %d words, want %d", len(w), CountWords)
	}
	for axis, want := range map[int]int32{int(Tokens): 5, int(Sequences): 4, int(Sampled): 3,
		int(Examples): 2, CountLongest: 1} {
		if w[axis] != want {
			t.Errorf("word %d is %d, want %d", axis, w[axis], want)
		}
	}
}
