package report

import (
	"cmp"
	"fmt"
	"html/template"
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/sftseq/sftseq/sft"
	"github.com/sftseq/sftseq/tokenizers"
)

// piece is a part of a text: a token, the tokens that form a character, or consecutive tokens of a
// [segment]. A piece for omitted tokens has no text.
type piece struct {
	Text    string
	Style   template.CSS
	Title   string
	Space   bool // preceded by a space
	LeftOut int  // number of omitted tokens
}

const (
	maxPieces     = 1200 // maximum length in tokens of a sequence whose text is shown in full
	contextTokens = 40   // tokens shown on each side of a large weight or of a span boundary, in longer sequences
	maxHeaviest   = 10   // maximum number of excerpts around large weights
)

// pieces returns a sequence as text, shaded by the pooling weights and underlined where sampled. A
// long sequence is shown near its largest weights only; part is true then.
func pieces(t tokenizers.Tokenizer, tokens []int32, e *sft.Explanation, s scale) (out []piece, part bool) {
	sampled := sampledMasses(e, len(tokens))
	return textOf(t, tokens, shownTokens(e.Pooling), func(from, to int, p *piece) {
		p.Style, p.Title = styleOf(from, to, e, s, sampled)
	})
}

// textOf returns the shown tokens of a sequence as pieces, and whether tokens are omitted. It calls style
// to set the style and the title of the piece with the tokens [from, to).
func textOf(t tokenizers.Tokenizer, tokens []int32, shown []bool, style func(from, to int, p *piece)) (out []piece,
	part bool) {
	separate := len(tokens) > 1 && t.Decode(tokens[:2]) != t.Decode(tokens[:1])+t.Decode(tokens[1:2])
	for i := 0; i < len(tokens); {
		if !shown[i] {
			end := i
			for end < len(tokens) && !shown[end] {
				end++
			}
			out, part = append(out, piece{LeftOut: end - i}), true
			i = end
			continue
		}
		end := i + 1
		for !separate && end < len(tokens) && end < i+utf8.UTFMax && !utf8.FullRuneInString(t.Decode(tokens[i:end])) {
			end++
		}
		p := piece{Text: replaceControls(t.Decode(tokens[i:end])), Space: separate && i > 0}
		style(i, end, &p)
		out = append(out, p)
		i = end
	}
	return out, part
}

func styleOf(from, to int, e *sft.Explanation, s scale, sampled map[int][]mass) (css template.CSS, title string) {
	weight := slices.Max(e.Pooling[from:to])
	title = fmt.Sprintf("position %d, pooling %.3g", from, weight)
	opacity := 0.0
	for at := from; at < to; at++ {
		for _, m := range sampled[at] {
			title += fmt.Sprintf("; layer %d sampled it, mass %.3g", m.layer+1, m.mass)
			opacity = max(opacity, 0.3+0.7*m.share)
		}
	}
	style := fmt.Sprintf("background:%s", cssColor("pooling", 0.75*s.fraction(weight)))
	if opacity > 0 {
		style += fmt.Sprintf(";border-bottom-color:%s", cssColor("sampled", opacity))
	}
	return template.CSS(style), title
}

// mass is a sampled token's part of the attention of a layer. The field share is relative to the largest
// mass in the layer.
type mass struct {
	layer       int
	mass, share float64
}

func sampledMasses(e *sft.Explanation, n int) map[int][]mass {
	out := make(map[int][]mass)
	for layer := range e.Layers {
		l := &e.Layers[layer]
		for i, at := range l.Positions {
			out[int(at)] = append(out[int(at)], mass{layer, float64(l.Mass[i]), relativeMass(l, i)})
		}
	}
	return out
}

// shownTokens marks the tokens to show: all, or in a long sequence the tokens near the largest
// weights.
func shownTokens(weights []float32) []bool {
	shown := make([]bool, len(weights))
	if len(weights) <= maxPieces {
		for i := range shown {
			shown[i] = true
		}
		return shown
	}
	order := make([]int, len(weights))
	for i := range order {
		order[i] = i
	}
	slices.SortStableFunc(order, func(a, b int) int { return cmp.Compare(weights[b], weights[a]) })
	for n, found := 0, 0; n < len(order) && found < maxHeaviest; n++ {
		if shown[order[n]] { // near a larger weight
			continue
		}
		found++
		for i := max(0, order[n]-contextTokens); i < min(len(shown), order[n]+contextTokens); i++ {
			shown[i] = true
		}
	}
	return shown
}

// replaceControls replaces control characters below U+0020 with their Unicode pictures, and invalid bytes
// and other unprintable characters with their hexadecimal values. A line break remains, after the
// character ↵.
func replaceControls(text string) string {
	var out strings.Builder
	for i, r := range text {
		switch {
		case r == '\n':
			out.WriteString("↵\n")
		case r < 0x20:
			out.WriteRune(0x2400 + r)
		case r == utf8.RuneError && !strings.HasPrefix(text[i:], "\uFFFD"):
			fmt.Fprintf(&out, "‹%02x›", text[i])
		case !unicode.IsPrint(r) && r != ' ':
			fmt.Fprintf(&out, "‹%x›", r)
		default:
			out.WriteRune(r)
		}
	}
	return out.String()
}

// cssColor returns a colour of the style sheet with an opacity.
func cssColor(name string, opacity float64) string {
	return fmt.Sprintf("rgb(var(--%s) / %.2f)", name, opacity)
}
