package tokenizers

import (
	"context"
	"encoding/json"
	"fmt"
	"math"
	"runtime"
	"slices"
	"strings"
	"testing"

	"github.com/sftseq/sftseq/internal/must"
)

// learnTokenizer returns the tokenizer that the learner for spec learns from texts.
func learnTokenizer(t *testing.T, spec string, texts ...string) Tokenizer {
	t.Helper()
	l, err := NewLearner(json.RawMessage(spec))
	if err != nil || l == nil {
		t.Fatalf("NewLearner(%s) = %v, error %v; want a learner, error <nil>", spec, l, err)
	}
	for _, text := range texts {
		l.Add(text)
	}
	text := must.Get(l.Learn(t.Context(), func(int, int) {}))(t)
	tok := must.Get(New(text))(t)
	if again, err := NewLearner(text); again != nil || err != nil {
		t.Errorf("NewLearner for a learned tokenizer returned %v, error %v; want nil", again, err)
	}
	return tok
}

// TestWords checks the ids and the vocabulary of a learned word tokenizer, and the errors for
// invalid JSON.
func TestWords(t *testing.T) {
	tok := learnTokenizer(t, `{"type":"words","vocab":5}`, "The cat, the DOG; the été.",
		"the cat\nsat on the mat, été", strings.Repeat("x", 65))
	// The vocabulary with frequencies: "the" 5, "," 2, "cat" 2, "été" 2, and ".", the first in byte
	// order of the words that occur once.
	want := []int32{2, 4, 3, 1, 5}
	got, err := tok.Encode("THE cat , bird ÉTÉ")
	if err != nil || !slices.Equal(got, want) || tok.VocabSize() != 7 || *tok.PadID() != 0 {
		t.Errorf("Encode = %v, error %v; want %v; vocabulary %d, want 7: %s", got, err, want, tok.VocabSize(),
			tok.Decode([]int32{0, 1, 2, 3, 4, 5, 6, 7}))
	}
	if back := tok.Decode(got); back != "the cat , <unknown> été" {
		t.Errorf("Decode = %q, want %q", back, "the cat , <unknown> été")
	}
	if got, _ := tok.Encode(" \n"); len(got) != 0 {
		t.Errorf("ids of white space %v, want none", got)
	}
	for spec, want := range map[string]string{
		`{"type":"words"}`:                         "expected a vocabulary of 1 to 50000 words, found 0 (data convert learns it",
		`{"type":"words","words":[]}`:              "found 0",
		`{"type":"words","words":["a","a"]}`:       `"a" occurs twice`,
		`{"type":"words","words":"a"}`:             "expected an object",
		`{"type":"words","words":["a"],"vocab":5}`: "unknown field",
	} {
		must.Fail(t, want, spec)(New(json.RawMessage(spec)))
	}
	for _, spec := range []string{`{"type":"words","vocab":0}`, `{"type":"words","vocab":100000}`,
		`{"type":"words","size":5}`, `{"type":`} {
		must.Fail(t, "", spec, "is accepted")(NewLearner(json.RawMessage(spec)))
	}
}

// tone returns a WAV file with one second of a sine.
func tone(rate int, hertz float64) string {
	samples := make([]any, rate)
	for i := range samples {
		samples[i] = int16(10000 * math.Sin(2*math.Pi*hertz*float64(i)/float64(rate)))
	}
	text := []byte(wav(1, 1, 16, samples...))
	at := strings.Index(string(text), "fmt ") + 12
	text[at], text[at+1] = byte(rate), byte(rate>>8)
	return string(text)
}

// TestAudioVQ encodes sounds whose halves are different tones. It checks that the tokens within the
// first half are equal, that a token of the second half differs from them, and that at most two sounds
// have the same pair of tokens. It also checks that Learn is deterministic and can be cancelled, and
// the errors for invalid JSON.
func TestAudioVQ(t *testing.T) {
	const rate = 8000
	half := func(a, b string) string { // returns the first half of a and the second half of b
		head := strings.Index(a, "data") + 8
		return a[:head+rate] + b[head+rate:]
	}
	var sounds []string
	for _, hertz := range []float64{200, 500, 1200, 3000} {
		for _, other := range []float64{300, 800, 2000} {
			sounds = append(sounds, half(tone(rate, hertz), tone(rate, other)))
		}
	}
	tok := learnTokenizer(t, `{"type":"audio-vq","vocab":16}`, sounds...)
	if tok.VocabSize() != 16 || tok.PadID() != nil {
		t.Errorf("vocabulary %d, want 16 without a pad id", tok.VocabSize())
	}
	seen := map[string]bool{}
	for i, s := range sounds {
		got, err := tok.Encode(s)
		if err != nil || len(got) != 98 { // 1 + (8000 − 200)/80
			t.Fatalf("%d tokens, want 98; error %v", len(got), err)
		}
		if first, second := got[10], got[80]; first == second || slices.Max(got[5:45]) != slices.Min(got[5:45]) {
			t.Errorf("sound %d: tokens %v, want tokens 5 to 44 equal and token 80 different from token 10", i, got)
		}
		seen[fmt.Sprint(got[10], got[80])] = true
	}
	if len(seen) < len(sounds)-1 {
		t.Errorf("only %d of %d sounds have distinct tokens", len(seen), len(sounds))
	}
	must.Fail(t, "expected a sampling rate of 8000 Hz, found 16000 Hz")(tok.Encode(tone(16000, 100)))
	if got, err := tok.Encode(wav(1, 1, 16, int16(1))); err != nil || len(got) != 1 {
		t.Errorf("one sample: ids %v, want one; error %v", got, err)
	}
	if got, err := tok.Encode(wav(1, 1, 16)); err != nil || len(got) != 0 {
		t.Errorf("no sample: ids %v, want none; error %v", got, err)
	}
	a, b := learnTokenizer(t, `{"type":"audio-vq","vocab":16}`, sounds...), tok
	l := must.Get(NewLearner(json.RawMessage(`{"type":"audio-vq","vocab":16}`)))(t)
	for _, s := range sounds {
		l.Add(s)
	}
	var rounds []int
	ctx, cancel := context.WithCancel(t.Context())
	if _, err := l.Learn(ctx, func(done, all int) {
		if rounds = append(rounds, done); done == 2 {
			cancel()
		}
		if all != 20 {
			t.Errorf("round %d of %d, want 20 rounds", done, all)
		}
	}); err != context.Canceled || !slices.Equal(rounds, []int{0, 1, 2}) {
		t.Errorf("error %v after the rounds %v, want Canceled in the third round", err, rounds)
	}
	if x, y := a.(*AudioVQ).Codebook(), b.(*AudioVQ).Codebook(); !slices.Equal(x, y) {
		t.Error("the same sounds result in different codebooks")
	}
	for spec, want := range map[string]string{
		`{"type":"audio-vq"}`: "rate: expected 1000 to 1048576 Hz, found 0",
		`{"type":"audio-vq","rate":8000,"bands":1,"codebook":"x"}`:        "expected base64",
		`{"type":"audio-vq","rate":8000,"bands":1,"codebook":""}`:         "4 MiB) (data convert learns",
		`{"type":"audio-vq","rate":8000,"bands":2,"codebook":"AAAAAA=="}`: "expected spectra of 2 bands, found 4 bytes",
		`{"type":"audio-vq","rate":8000,"bands":1,"codebook":"AADAfw=="}`: "number 0 is NaN",
		`{"type":"audio-vq","rate":8000,"bands":0,"codebook":"AAAAAA=="}`: "1 to 256 bands",
	} {
		must.Fail(t, want, spec)(New(json.RawMessage(spec)))
	}
	l = must.Get(NewLearner(json.RawMessage(`{"type":"audio-vq"}`)))(t)
	l.Add("no sound")
	if _, err := l.Learn(t.Context(), func(int, int) {}); err != errNothingLearned {
		t.Errorf("error %v, want errNothingLearned", err)
	}
}

// TestAudioVQRates checks that the codebook is learned from the most frequent sampling rate, as if
// there were no sounds of other rates, and that many rare rates do not displace this rate.
func TestAudioVQRates(t *testing.T) {
	const spec = `{"type":"audio-vq","vocab":4}`
	common := []string{tone(8000, 200), tone(8000, 900), tone(8000, 2000)}
	want := learnTokenizer(t, spec, common...).(*AudioVQ)
	var rare []string
	for i := range 2 * maxLearnedRates {
		rare = append(rare, tone(9000+i, 300))
	}
	for name, sounds := range map[string][]string{
		"first":  append([]string{tone(44100, 440)}, common...),
		"equal":  append(slices.Clone(common), tone(16000, 200), tone(16000, 300), tone(16000, 400)),
		"many":   slices.Concat(common[:2], rare, common[2:]),
		"silent": append([]string{"RIFF", wav(1, 1, 16)}, common...),
	} {
		got := learnTokenizer(t, spec, sounds...).(*AudioVQ)
		if got.rate != 8000 || !slices.Equal(got.Codebook(), want.Codebook()) {
			t.Errorf("%s: rate %d, equal codebook %t; want 8000 and the codebook of the frequent rate", name, got.rate,
				slices.Equal(got.Codebook(), want.Codebook()))
		}
	}
	l := must.Get(NewLearner(json.RawMessage(spec)))(t)
	for _, sound := range rare {
		must.Succeed(t, l.Add(sound))
	}
	if n := len(l.(*audioLearner).rates); n != maxLearnedRates {
		t.Errorf("the learner holds samples of %d rates, want %d", n, maxLearnedRates)
	}
	l = must.Get(NewLearner(json.RawMessage(spec)))(t)
	l.Add(tone(20, 1)) // windows of this rate have no samples
	must.Fail(t, "expected a sampling rate of at least 1000 Hz, found 20 Hz")(l.Learn(t.Context(), func(int, int) {}))
}

// TestWordsLearnerMemory checks that a learner keeps only the words in memory, not the texts that
// contain them.
func TestWordsLearnerMemory(t *testing.T) {
	learner := must.Get(NewLearner(json.RawMessage(`{"type": "words", "vocab": 1000}`)))(t)
	const texts, size = 50, 1 << 20
	for range 2 {
		for i := range texts {
			whole := strings.Repeat(" ", size) + fmt.Sprint("word", i)
			learner.Add(whole[size-1:])
		}
	}
	runtime.GC()
	var stats runtime.MemStats
	runtime.ReadMemStats(&stats)
	if stats.HeapAlloc > texts*size/2 {
		t.Errorf("the heap has %d bytes after Add, want at most %d, half of the texts", stats.HeapAlloc, texts*size/2)
	}
	if spec, err := learner.Learn(t.Context(), func(int, int) {}); err != nil ||
		!strings.Contains(string(spec), `"word49"`) {
		t.Errorf("learned %s without \"word49\"; error %v", spec, err)
	}
}

// TestTextNotUTF8 checks that the words and hf tokenizers and the words learner refuse text that is
// not UTF-8, and that the error names the first invalid byte.
func TestTextNotUTF8(t *testing.T) {
	const want = "not UTF-8: found byte 0xe9 at byte 5: convert the text to UTF-8"
	words := must.Get(New(json.RawMessage(`{"type":"words","words":["pas"]}`)))(t)
	for _, tok := range []Tokenizer{words, &HF{}} {
		must.Fail(t, want, tok.Type())(tok.Encode("a caf\xe9 pas"))
	}
	l := must.Get(NewLearner(json.RawMessage(`{"type":"words","vocab":5}`)))(t)
	must.Fail(t, want)(nil, l.Add("café\xe9"))
}
