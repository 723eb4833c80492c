package tokenizers

import (
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/sftseq/sftseq/internal/hftokenizer"
	"github.com/sftseq/sftseq/internal/must"
	"github.com/sftseq/sftseq/internal/testenv"
)

// wordTexts returns texts with many kinds of characters: letters with several cases, characters
// that are single tokens, and spaces.
func wordTexts() (texts []string) {
	texts = []string{"The film wasn't bad, at all!", "[UNK] [PAD] <unknown>", "ΟΔΟΣ ΣΑΣ Σ σς",
		"İstanbul IĞDIR ıi", "Straße ẞ ǅ",
		"Ⓐ ⓐ Ⓑⓑ Ⅷ ⅷ Ⅸx", "\U0010FFFD\U0010FFFC \U0010FFFB", "नमस्ते दुनिया", "ไทย ๑๒", "שָׁלוֹם",
		"a\u0301e\u0308 \u0301", "x²y½ ①",
		"tab\tline\nfeed\u00a0nbsp\u2028\u3000wide\u200bzero", "中文，漢字。", "👩‍👩‍👧 🏴", "a_b-c.d@e#f", "", "   ", "٣٤ ۵"}
	r := rand.New(rand.NewPCG(1, 2))
	alphabet := []rune("aAbBzZéÉßẞİıΣσςΩⒶⓐⅧⅷǅДжאबा์漢カ가0٣²½①_-.,'\"#@[]<> \t\n" +
		"\u00a0\u2028\u3000\u200b\u200d\u0301\u0345😀\ufeff\U0010FFFD\u0085")
	for range 500 {
		var text strings.Builder
		for range r.IntN(40) {
			text.WriteRune(alphabet[r.IntN(len(alphabet))])
		}
		texts = append(texts, text.String())
	}
	return texts
}

// wordsOf returns a tokenizer with the vocabulary of half of the texts.
func wordsOf(t *testing.T, texts []string) *Words {
	t.Helper()
	l := must.Get(NewLearner(json.RawMessage(`{"type":"words","vocab":400}`)))(t)
	for i, text := range texts {
		if i%2 == 0 {
			must.Succeed(t, l.Add(text))
		}
	}
	spec := must.Get(l.Learn(t.Context(), func(int, int) {}))(t)
	return must.Get(New(spec))(t).(*Words)
}

// withWords returns a tokenizer with the given vocabulary.
func withWords(t *testing.T, words ...string) *Words {
	t.Helper()
	spec := must.Get(json.Marshal(map[string]any{"type": "words", "words": words}))(t)
	return must.Get(New(spec))(t).(*Words)
}

// TestTokenizerJSON checks that Hugging Face's Rust and JavaScript libraries and hftokenizer return
// the ids of Encode for the tokenizer.json of a word tokenizer. The vocabularies differ in the symbols
// with a lower case that they contain.
func TestTokenizerJSON(t *testing.T) {
	texts := wordTexts()
	for name, words := range map[string]*Words{
		"learned": wordsOf(t, texts),
		"one":     withWords(t, "a", "ⓐ", "Ⅷ", "ⅷ", "\U0010FFFD", "σας", "i"),
		"none":    withWords(t, "the"),
	} {
		file := must.Get(words.TokenizerJSON())(t)
		var want [][]int32
		for _, text := range texts {
			want = append(want, must.Get(words.Encode(text))(t))
		}
		check := func(t *testing.T, by string, got [][]int32) {
			t.Helper()
			if len(got) != len(texts) {
				t.Fatalf("%s: %s: ids of %d texts, want %d", name, by, len(got), len(texts))
			}
			for i := range texts {
				if !slices.Equal(got[i], want[i]) {
					t.Errorf("%s: %s: ids of %q are %d, want %d", name, by, texts[i], got[i], want[i])
				}
			}
		}
		read := must.Get(hftokenizer.Parse(file))(t)
		var got [][]int32
		for _, text := range texts {
			got = append(got, must.Get(read.Encode(text))(t))
		}
		check(t, "own reader", got)
		if size := read.VocabSize(); size != words.VocabSize() {
			t.Errorf("vocabulary of %d tokens, want %d", size, words.VocabSize())
		}
		t.Run(name, func(t *testing.T) {
			testenv.NeedPrograms(t, "node")
			const npm = "../cmd/sftseq/testdata/npm"
			testenv.NeedFile(t, "npm's tokenizers", filepath.Join(npm, "node_modules/tokenizers"))
			path := filepath.Join(t.TempDir(), "tokenizer.json")
			must.Succeed(t, os.WriteFile(path, file, 0o666))
			for _, library := range []string{"rust", "javascript"} {
				c := exec.CommandContext(t.Context(), "node", filepath.Join(npm, "tokenize.mjs"), library, path)
				c.Stdin = strings.NewReader(string(must.Get(json.Marshal(texts))(t)))
				out, err := c.Output()
				if exit, ok := err.(*exec.ExitError); ok {
					t.Fatalf("%s: %v\n%s", library, err, exit.Stderr)
				}
				must.Succeed(t, err)
				var got [][]int32
				must.Succeed(t, json.Unmarshal(out, &got))
				check(t, fmt.Sprintf("Hugging Face's library in %s", library), got)
			}
		})
	}
}
