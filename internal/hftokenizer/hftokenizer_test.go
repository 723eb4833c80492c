package hftokenizer

import (
	"bufio"
	"bytes"
	"encoding/json"
	"fmt"
	"os"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/sftseq/sftseq/internal/must"
	"github.com/sftseq/sftseq/internal/testenv"
)

// fixtures are the names of the tokenizers that testdata/generate.js creates.
var fixtures = []string{"bert", "gpt2", "llama2", "llama3", "t5"}

func parsed(t testing.TB, name string) *Tokenizer {
	t.Helper()
	text := must.Get(os.ReadFile("testdata/" + name + ".json"))(t)
	tokenizer := must.Get(Parse(text))(t, name)
	return tokenizer
}

// sample is a text with the ids of Hugging Face's library, by the name of the tokenizer.
type sample struct {
	Text string
	IDs  map[string][]int32
}

func samples(t testing.TB) (all []sample) {
	t.Helper()
	text := must.Get(os.ReadFile("testdata/ids.jsonl"))(t)
	lines := bufio.NewScanner(bytes.NewReader(text))
	lines.Buffer(nil, 1<<20)
	for lines.Scan() {
		var s sample
		must.Succeed(t, json.Unmarshal(lines.Bytes(), &s))
		all = append(all, s)
	}
	if len(all) < 100 {
		t.Fatalf("got %d samples, want at least 100", len(all))
	}
	return all
}

// TestSameIDs checks that the ids equal those of Hugging Face's library, even if several goroutines
// encode concurrently.
func TestSameIDs(t *testing.T) {
	all := samples(t)
	for _, name := range fixtures {
		tokenizer := parsed(t, name)
		var group sync.WaitGroup
		for range 4 {
			group.Go(func() {
				for _, s := range all {
					ids, err := tokenizer.Encode(s.Text)
					if err != nil || !slices.Equal(ids, s.IDs[name]) {
						t.Errorf("%s: %.60q: got %v, error %v, want %v", name, s.Text, ids, err, s.IDs[name])
						return
					}
					for _, id := range ids {
						if int(id) >= tokenizer.VocabSize() {
							t.Errorf("%s: id %d is not below the vocabulary size %d", name, id, tokenizer.VocabSize())
						}
					}
				}
			})
		}
		group.Wait()
	}
}

// TestDecode checks the text that Decode returns for the ids of a text and for unknown ids.
func TestDecode(t *testing.T) {
	for name, want := range map[string]string{
		"gpt2": "Good films, naïve 日本語?", "llama3": "Good films, naïve 日本語?",
		"llama2": " Good films, naïve 日本語?", "t5": " Good films, naïve 日本語?", "bert": "good films , naive 日 本 語 ?",
	} {
		tokenizer := parsed(t, name)
		ids := must.Get(tokenizer.Encode("Good films, naïve 日本語?"))(t)
		if got := tokenizer.Decode(ids); got != want {
			t.Errorf("%s: got %q, want %q", name, got, want)
		}
	}
	if got := parsed(t, "bert").Decode([]int32{-1, 1 << 30, 3}); got != "<unknown> <unknown> [SEP]" {
		t.Errorf("two unknown ids and [SEP]: got %q, want \"<unknown> <unknown> [SEP]\"", got)
	}
}

// TestNotUTF8 checks that Encode returns an error for text that is not UTF-8.
func TestNotUTF8(t *testing.T) {
	must.Fail(t, "UTF-8")(parsed(t, "gpt2").Encode("a\xffb"))
}

// TestManyMarks checks that too many consecutive combining marks are an error, because package norm
// would split their sequence.
func TestManyMarks(t *testing.T) {
	tokenizer := parsed(t, "llama3")
	if _, err := tokenizer.Encode("e" + strings.Repeat("\u0301", maxMarks-1)); err != nil {
		t.Error(err)
	}
	must.Fail(t, "marks in a row")(tokenizer.Encode("e" + strings.Repeat("\u0301", 2*maxMarks)))
}

// TestAddedTokens checks added tokens that include white space, that match normalized text, and that
// match raw text.
func TestAddedTokens(t *testing.T) {
	text := `{"version":"1.0","normalizer":{"type":"Lowercase"},"pre_tokenizer":{"type":"WhitespaceSplit"},
		"model":{"type":"WordLevel","vocab":{"?":0,"a":1,"b":2},"unk_token":"?"},"added_tokens":[
		{"id":3,"content":"<m>","lstrip":true},{"id":4,"content":"<r>","rstrip":true},{"id":5,"content":"AB","normalized":true},{"id":6,"content":"<m>>"}]}`
	tokenizer := must.Get(Parse([]byte(text)))(t)
	// The expected ids come from tokenizers 0.23.2.
	for text, want := range map[string][]int32{"a  <m> b": {1, 3, 2}, "a<m>>b": {1, 6, 2}, "aB a b": {5, 1, 2},
		"<r>  a x": {4, 1, 0}, "<M>": {0}} {
		if ids, err := tokenizer.Encode(text); err != nil || !slices.Equal(ids, want) {
			t.Errorf("%q: got %v, error %v, want %v", text, ids, err, want)
		}
	}
}

// TestRefuses checks the errors for malformed and for unsupported files.
func TestRefuses(t *testing.T) {
	word := func(more string) string {
		return `{"version":"1.0",` + more + `"model":{"type":"WordLevel","vocab":{"a":0},"unk_token":"a"}}`
	}
	bpe := func(more string) string {
		return `{"version":"1.0","model":{"type":"BPE",` + more + `"vocab":{"a":0,"b":1,"ab":2},"merges":["a b"]}}`
	}
	for text, want := range map[string]string{
		"":                                   "EOF",
		"[]":                                 "array",
		"{}":                                 "version",
		word("") + "{}":                      "found more",
		word("") + "}":                       "found more",
		"\xff":                               "UTF-8",
		`{"version":"1.0"}`:                  "model: is missing",
		`{"version":"2.0"}`:                  `expected "1.0"`,
		`{"version":"1.0","what":1}`:         `unknown field "what"`,
		word(`"normalizer":{"type":"Nmt"},`): `normalizer: "Nmt": is not supported`,
		word(`"normalizer":{"type":"NFC","x":1},`):                                         "unknown field",
		word(`"normalizer":{"type":"Replace","pattern":{"Regex":"a+"},"content":""},`):     "pattern",
		word(`"normalizer":{"type":"Precompiled","precompiled_charsmap":"AAAA"},`):         "expected a table of at least 8 bytes",
		word(`"normalizer":{"type":"Precompiled","precompiled_charsmap":"/////wAAAAA="},`): "expected a table",
		word(`"normalizer":{"type":"Replace","pattern":{"String":"a"},"content":""},"pre_tokenizer":{"type":"Metaspace",` +
			`"replacement":"▁","prepend_scheme":"first","split":true},`): "a normalizer that removes characters",
		word(`"pre_tokenizer":{"type":"UnicodeScripts"},`):                                           `pre_tokenizer: "UnicodeScripts": is not supported`,
		word(`"pre_tokenizer":{"type":"Split","pattern":{"Regex":"(a+)+$"},"behavior":"Isolated"},`): `the expression "(a+)+$" is not supported`,
		word(`"pre_tokenizer":{"type":"Split","pattern":{"String":"a"},"behavior":"isolated"},`):     "behavior",
		word(`"pre_tokenizer":` + strings.Repeat(`{"type":"Sequence","pretokenizers":[`,
			99) + strings.Repeat("]}", 99) + ","): "deep",
		word(`"added_tokens":[{"id":7,"content":"x"}],`):                    "expected the id 1",
		word(`"added_tokens":[{"id":1,"content":"x","single_word":true}],`): "single_word",
		word(`"added_tokens":[{"id":1,"content":""}],`):                     "expected 1 to 1024 bytes",
		bpe(`"dropout":0.1,`):               "dropout",
		bpe(`"end_of_word_suffix":"</w>",`): "end_of_word_suffix",
		bpe(`"unk_token":"?",`):             "unk_token",
		`{"version":"1.0","model":{"type":"BPE","vocab":{"a":0},"merges":["a b"]}}`:     "merges[0]",
		`{"version":"1.0","model":{"type":"BPE","vocab":{"a":0},"merges":["a"]}}`:       "merges[0]: expected two",
		`{"version":"1.0","model":{"type":"BPE","vocab":{"a":-1},"merges":[]}}`:         "expected an id",
		`{"version":"1.0","model":{"type":"BPE","vocab":{"a":2000000000},"merges":[]}}`: "expected an id",
		`{"version":"1.0","model":{"type":"BPE","vocab":{},"merges":[]}}`:               "found none",
		`{"version":"1.0","model":{"type":"WordPiece","vocab":{"a":0}}}`:                "[UNK]",
		`{"version":"1.0","model":{"type":"Unigram","unk_id":3,"vocab":[["a",-1]]}}`:    "unk_id",
		`{"version":"1.0","model":{"type":"Unigram","unk_id":0,"vocab":[["a"]]}}`:       "vocab[0]",
		`{"version":"1.0","model":{"type":"Unigram","unk_id":0,"vocab":[["a","1"]]}}`:   "vocab[0]",
		`{"version":"1.0","model":{"type":"Other"}}`:                                    `"Other" is not supported`,
	} {
		if _, err := Parse([]byte(text)); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%.80s: got error %v, want %q", text, err, want)
		}
	}
	must.Fail(t, "64 MiB")(Parse(make([]byte, MaxFile+1)))
}

// TestGrowth checks that Encode fails if the normalizer would make a text too large.
func TestGrowth(t *testing.T) {
	doubled := strings.Repeat(`{"type":"Replace","pattern":{"String":"a"},"content":"aa"},`, 60)
	text := `{"version":"1.0","normalizer":{"type":"Sequence","normalizers":[` + strings.TrimSuffix(doubled,
		",") + `]},"model":{"type":"WordLevel","vocab":{"a":0},"unk_token":"a"}}`
	tokenizer := must.Get(Parse([]byte(text)))(t)
	must.Fail(t, "too much")(tokenizer.Encode("a"))
}

// TestScore checks that scores are rounded as in Hugging Face's library, whose scores are not always the
// nearest float64, and that values other than numbers and too large numbers are errors.
func TestScore(t *testing.T) {
	for text, want := range map[string]string{
		"0": "0", "-10": "-10", "-3.302214636311078": "-3.302214636311078", "1e2": "100", "-0.25": "-0.25",
		"1e-320": "1e-320", "-12345678901234567890123": "-1.2345678901234568e+22",
		"-7.3840985458186745": "-7.384098545818675", // float64 cannot represent 73840985458186745
	} {
		var s score
		if err := json.Unmarshal([]byte(text), &s); err != nil || fmt.Sprint(float64(s)) != want {
			t.Errorf("%s: got %v, error %v, want %s", text, float64(s), err, want)
		}
	}
	for _, text := range []string{`"1"`, "null", "1e309", "1e99999"} {
		var s score
		must.Fail(t, "", text)(s.UnmarshalJSON([]byte(text)))
	}
}

// FuzzParse checks that no file and no text makes Parse, Encode or Decode panic or hang, and that ids are
// below the vocabulary size.
func FuzzParse(f *testing.F) {
	for _, name := range fixtures {
		text := must.Get(os.ReadFile("testdata/" + name + ".json"))(f)
		f.Add(text, "The film isn't \u00e9 good <0x41> [SEP]\n")
	}
	f.Fuzz(func(t *testing.T, file []byte, text string) {
		defer testenv.FuzzLimits(t, 16<<20+1000*(len(file)+len(text)))()
		tokenizer, err := Parse(file)
		if err != nil {
			return
		}
		ids, err := tokenizer.Encode(text)
		if err != nil {
			return
		}
		for _, id := range ids {
			if id < 0 || int(id) >= tokenizer.VocabSize() {
				t.Errorf("id %d is not below the vocabulary size %d", id, tokenizer.VocabSize())
			}
		}
		tokenizer.Decode(ids)
	})
}

// TestLongS checks that a long s (ſ) matches s in case-insensitive expressions, as in Hugging
// Face's library.
func TestLongS(t *testing.T) {
	words, err := parsed(t, "llama3").split.split([]string{"x'\u017fo"}, true)
	if want := []string{"x", "'\u00c5\u00bf", "o"}; err != nil || !slices.Equal(words, want) {
		t.Errorf("got %q, error %v, want %q", words, err, want)
	}
}
