package tokenizers

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
)

// sentences returns random texts in which words recur as in prose.
func sentences(r *rand.Rand, words string, rows int) (out []string) {
	list := strings.Fields(words)
	for range rows {
		var text strings.Builder
		for i := range 20 + r.IntN(40) {
			if i > 0 {
				text.WriteByte(' ')
			}
			text.WriteString(list[int(float64(len(list))*r.Float64()*r.Float64())]) // the last words are rare
			if r.IntN(9) == 0 {
				text.WriteString([]string{".", ",", "!", "'s", "…"}[r.IntN(5)])
			}
		}
		out = append(out, text.String())
	}
	return out
}

// randomText returns n random characters of the alphabet.
func randomText(r *rand.Rand, alphabet string, n int) string {
	runes, out := []rune(alphabet), make([]rune, n)
	for i := range out {
		out[i] = runes[r.IntN(len(runes))]
	}
	return string(out)
}

const (
	english = "the a film was and it of this that not good bad but actor scene never story plot ending music director wonderful boring I you watch again why time people really quite dialogue camera remember nothing everything"
	french  = "le la film était et ce que pas très bon acteur scène jamais histoire musique réalisateur ennuyeux être à où déjà peut-être quelque chose après élève l'été"
	russian = "фильм был и это не очень хороший плохой актёр сцена никогда история музыка режиссёр скучный почему время люди"
)

// TestChoose checks the chosen tokenizer for many kinds of texts.
func TestChoose(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 2))
	many := func(text func(i int) string) (out []string) {
		for i := range 400 {
			out = append(out, text(i))
		}
		return out
	}
	cases := []struct {
		name, want string
		texts      []string
	}{
		{"English", "words:20000", sentences(r, english, 300)},
		{"French", "words:20000", sentences(r, french, 300)},
		{"Russian", "words:20000", sentences(r, russian, 300)},
		{"a few reviews", "byte", sentences(r, english, 10)},
		{"nothing", "byte", nil},
		{"ListOps", "byte", many(func(int) string {
			return strings.Repeat(fmt.Sprintf("[MAX %d %d [MIN %d %d ] ] ", r.IntN(10), r.IntN(10),
				r.IntN(10), r.IntN(10)), 5)
		})},
		{"log lines", "byte", many(func(i int) string {
			return fmt.Sprintf("2026-11-22T10:%02d:%02d.%03dZ INFO http: 10.0.%d.%d GET /items/%08x 200 %dms", i/60%60,
				i%60, r.IntN(1000), r.IntN(256), r.IntN(256), r.Uint32(), r.IntN(900))
		})},
		{"program", "byte", many(func(i int) string {
			return fmt.Sprintf("for (int i%d = 0; i%d < %d; i%d++) { a[i%d] += b[%d] * (c - %d); }", i, i, r.IntN(99),
				i, i, r.IntN(99), r.IntN(99))
		})},
		{"a language without spaces", "byte", many(func(int) string {
			return randomText(r, "我们的电影很好看故事音乐演员导演时间人", 60)
		})},
		{"proteins", "byte", many(func(int) string { return randomText(r, "ACDEFGHIKLMNPQRSTVWY", 80) })},
		{"DNA", "dna", many(func(int) string { return randomText(r, "ACGT", 60) })},
		{"lower-case DNA with ambiguous bases and gaps", "dna",
			many(func(int) string { return randomText(r, "acgtacgtacgtacgtn-", 60) })},
		{"RNA with a bad row", "dna",
			append(many(func(int) string { return randomText(r, "ACGU", 60) }), "not a sequence")},
		{"DNA where many rows are bad", "byte", append(many(func(int) string { return randomText(r, "ACGT", 60) }),
			sentences(r, english, 30)...)},
		{"words of bases", "byte", many(func(int) string { return "tag" })},
		{"WAV files", "audio-vq", many(func(int) string { return "RIFF\x24\x00\x00\x00WAVEfmt " })},
		{"WAV files and an equal number of other texts", "byte",
			slices.Concat(many(func(int) string { return "RIFF\x24\x00\x00\x00WAVEfmt " }),
				many(func(int) string { return "x" }))},
		{"RIFF files of images", "byte", many(func(int) string { return "RIFF\x24\x00\x00\x00WEBPVP8 " })},
	}
	for _, c := range cases {
		choice := Choose(c.texts)
		if choice.Name != c.want {
			t.Errorf("%s: chose %s (%s), want %s", c.name, choice.Name, choice.Reason, c.want)
		}
		learner, err := NewLearner(choice.Spec)
		if err == nil && learner == nil {
			_, err = New(choice.Spec)
		}
		if err != nil || choice.Reason == "" {
			t.Errorf("%s: reason %q, error %v; want a reason and no error", c.name, choice.Reason, err)
		}
	}
}

// TestChooseReason checks the reasons for choosing byte. The reason for too few texts must not
// claim that they are not prose.
func TestChooseReason(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 2))
	var rare []string // words that seldom recur, as in a few dozen texts
	for range 50 {
		var words []string
		for range 50 {
			words = append(words, randomText(r, "abcdefghijklmnopqrstuvwxyz", 3+r.IntN(6)))
		}
		rare = append(rare, strings.Join(words, " "))
	}
	var proteins []string
	for range 2500 {
		proteins = append(proteins, randomText(r, "ACDEFGHIKLMNPQRSTVWY", 80))
	}
	for _, c := range []struct {
		name, want string
		texts      []string
	}{
		{"words that seldom recur", "the texts repeat too few words to learn a vocabulary from: only ", rare},
		{"a few texts", "the texts have too few words to learn a vocabulary from", sentences(r, english, 10)},
		{"proteins", "the texts are not prose", proteins},
		{"short DNA", "the texts may be DNA, but more than 1% of them have fewer than 12 bases",
			slices.Repeat([]string{"ACGTACGTAC", "ACGTACGTACGTAA"}, 500)},
		{"WAV files and an equal number of other texts",
			"audio-vq requires WAV files, but only 1 of the first 2 rows are WAV files",
			[]string{"RIFF\x24\x00\x00\x00WAVEfmt ", "x"}},
		{"DNA and other texts", "dna requires DNA, but only 9 of the first 10 texts are DNA",
			append(slices.Repeat([]string{"ACGTACGTACGTAA"}, 9), "not it")},
		{"series and other texts", "--series requires lists of numbers, but only 9 of the first 10 texts",
			append(slices.Repeat([]string{"0.5 1.5"}, 9), "not it")},
	} {
		if choice := Choose(c.texts); choice.Name != "byte" || !strings.HasPrefix(choice.Reason, c.want) {
			t.Errorf("%s: chose %s, reason %q; want byte, reason %q", c.name, choice.Name, choice.Reason, c.want)
		}
	}
}

// TestChooseSeries checks that the reason mentions --series for lists of numbers with decimal
// points, but not for ids or other texts.
func TestChooseSeries(t *testing.T) {
	for text, series := range map[string]bool{"[0.1, 0.2]": true, "1 2.5\t-3e2\n": true, "0,5;1.5": true, "0.5;1": true,
		"[1, 2, 3]": false, "0.5": false, "a 0.5": false, "": false, "[]": false} {
		if got := strings.Contains(Choose([]string{text, text}).Reason, "use --series instead"); got != series {
			t.Errorf("%q: the reason mentions --series: %v, want %v", text, got, series)
		}
	}
}
