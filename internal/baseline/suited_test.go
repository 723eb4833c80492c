package baseline

import (
	"context"
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"reflect"
	"strings"
	"testing"

	"github.com/sftseq/sftseq/internal/must"
	"github.com/sftseq/sftseq/internal/ngram"
	"github.com/sftseq/sftseq/internal/testenv"
	"github.com/sftseq/sftseq/lra"
	"github.com/sftseq/sftseq/seq"
	"github.com/sftseq/sftseq/tokenizers"
)

// specOf returns the spec of a data set with the given tokenizer and classes.
func specOf(task, tokenizer string, vocab int, labels ...string) seq.Spec {
	return seq.Spec{Task: task, Tokenizer: json.RawMessage(tokenizer), VocabSize: vocab, LabelNames: labels}
}

func bytesOf(text string) []int32 {
	tokens, _ := tokenizers.Byte{}.Encode(text)
	return tokens
}

// prose returns n random words.
func prose(r *rand.Rand, n int) []string {
	words := make([]string, n)
	for i := range words {
		words[i] = fmt.Sprintf("w%02d", r.IntN(40))
	}
	return words
}

var few = map[string]int{"train": 400, "test": 200}

func test(t *testing.T, set *seq.Dataset) Result {
	t.Helper()
	out := must.Get(Measure(context.Background(), set, nil, "test"))(t)
	return out[0]
}

// TestWordsOfBytes checks that bytes are split into lower-case words. The words of the two classes have
// the same bytes and the same bigrams of bytes, so these do not separate the classes. Without spaces,
// n-grams of bytes are counted.
func TestWordsOfBytes(t *testing.T) {
	bytes := specOf(seq.Classification, `{"type":"byte"}`, 257, "a", "b")
	set := dataset(t, bytes, sizes, func(r *rand.Rand) seq.Example {
		words, label := prose(r, 20), r.IntN(2)
		word := []string{"aabab", "abaab"}[label]
		if r.IntN(2) == 0 {
			word = strings.ToUpper(word)
		}
		words[r.IntN(len(words))] = word
		return seq.Example{A: bytesOf(strings.Join(words, " ")), Label: int32(label)}
	})
	if m := onlyModel(t, test(t, set), WordNGrams); m.Accuracy < 0.97 || m.Rows != 500 || m.Trained != 2000 {
		t.Errorf("got %+v, want accuracy ≥ 0.97", m)
	}
	set = dataset(t, bytes, sizes, func(r *rand.Rand) seq.Example {
		label := r.IntN(2)
		text := strings.Repeat("acgt", 5+r.IntN(5))
		at := r.IntN(len(text))
		return seq.Example{A: bytesOf(text[:at] + "nm"[label:label+1] + text[at:]), Label: int32(label)}
	})
	if m := onlyModel(t, test(t, set), TokenNGrams); m.Accuracy < 0.97 {
		t.Errorf("without spaces: got %+v, want accuracy ≥ 0.97", m)
	}
}

// TestWordsOfPairs checks that a rare word common to both texts relates a pair, and that words in
// every text have no weight, however frequent.
func TestWordsOfPairs(t *testing.T) {
	set := dataset(t, specOf(seq.Retrieval, `{"type":"byte"}`, 257, "apart", "together"), few,
		func(r *rand.Rand) seq.Example {
			label, name := r.IntN(2), r.IntN(100)
			text := func(name int) []int32 {
				words := []string{fmt.Sprintf("name%d", name)}
				for i := range 40 {
					for range 1 + 20*r.IntN(2) {
						words = append(words, fmt.Sprintf("w%02d", i))
					}
				}
				r.Shuffle(len(words), func(i, j int) { words[i], words[j] = words[j], words[i] })
				return bytesOf(strings.Join(words, " "))
			}
			return seq.Example{A: text(name), B: text(name + 1 - label), Label: int32(label)}
		})
	if m := onlyModel(t, test(t, set), WordsCosine); m.Accuracy < 0.99 {
		t.Errorf("got %+v, want accuracy ≥ 0.99", m)
	}
}

// TestNearestMean checks that the nearest class mean is measured only for rows of equal length whose
// tokens may be levels.
func TestNearestMean(t *testing.T) {
	levels := func(r *rand.Rand, length int) seq.Example {
		e := seq.Example{A: make([]int32, length), Label: int32(r.IntN(2))}
		for i := range e.A { // one class is brighter on the left, the other on the right
			step := 15 * (1 - 2*int(e.Label)) * (1 - 2*(2*i/length))
			e.A[i] = int32(100 + step + r.IntN(101) - 50)
		}
		return e
	}
	names := func(tokenizer string, length func(r *rand.Rand) int) (names []string, last Model) {
		set := dataset(t, specOf(seq.Classification, tokenizer, 256, "left", "right"), few,
			func(r *rand.Rand) seq.Example { return levels(r, length(r)) })
		for _, last = range test(t, set).Models {
			names = append(names, last.Name)
		}
		return names, last
	}
	same := func(*rand.Rand) int { return 32 }
	for _, tokenizer := range []string{`{"type":"pixel"}`, `{"type":"mulaw"}`, `{"type":"ids","vocab":256}`} {
		got, m := names(tokenizer, same)
		if !reflect.DeepEqual(got, []string{TokenNGrams, NearestMean}) {
			t.Fatalf("%s: got baselines %q, want %q and %q", tokenizer, got, TokenNGrams, NearestMean)
		}
		// The means are 15·2·√32 apart, and the levels have a standard deviation of √((101²−1)/12),
		// so the expected accuracy is 99.8%.
		if m.Accuracy < 0.97 || m.Rows != 200 || m.Trained != 400 {
			t.Errorf("%s: got %+v, want accuracy ≥ 0.97", tokenizer, m)
		}
	}
	if got, _ := names(`{"type":"pixel"}`, func(r *rand.Rand) int { return 31 + r.IntN(2) }); !reflect.DeepEqual(got,
		[]string{TokenNGrams}) {
		t.Errorf("rows of several lengths: got baselines %q, want only %q", got, TokenNGrams)
	}
	if got, _ := names(`{"type":"dna"}`, same); !reflect.DeepEqual(got, []string{TokenNGrams}) {
		t.Errorf("tokens that are not levels: got baselines %q, want only %q", got, TokenNGrams)
	}
}

// TestNGrams checks the units and lengths of n-grams: words for text, bytes for single words, and ids
// for id data. With few rows, n-grams that occur in a single row count as well.
func TestNGrams(t *testing.T) {
	bytes := specOf(seq.Classification, `{"type":"byte"}`, 257, "a", "b")
	text := func(words int) func(r *rand.Rand) seq.Example {
		return func(r *rand.Rand) seq.Example {
			return seq.Example{A: bytesOf(strings.Join(prose(r, words), " ")), Label: int32(r.IntN(2))}
		}
	}
	ids := func(r *rand.Rand) seq.Example { return seq.Example{A: noise(r, 5), Label: int32(r.IntN(2))} }
	for _, c := range []struct {
		spec seq.Spec
		rows int
		draw func(r *rand.Rand) seq.Example
		want ngram.Options
		rate float64
	}{
		{bytes, 1000, text(9), ngram.Options{Units: ngram.Words, MinN: 1, MaxN: 3, Slots: 1 << 22, MinCount: 2}, 0},
		{bytes, 999, text(9), ngram.Options{Units: ngram.Words, MinN: 1, MaxN: 2, Slots: 1 << 22, MinCount: 1}, 0},
		{bytes, 1000, text(1), ngram.Options{Units: ngram.Bytes, MinN: 1, MaxN: 6, Slots: 1 << 22, MinCount: 2}, 0},
		{specOf(seq.Classification, `{"type":"ids","vocab":50}`, 50, "a", "b"), 1000, ids,
			ngram.Options{Units: ngram.Tokens, MinN: 1, MaxN: 6, Slots: 1 << 22, MinCount: 2}, 0},
		{specOf(seq.Classification, `{"type":"ids","vocab":600}`, 600, "a", "b"), 1000, ids,
			ngram.Options{Units: ngram.Tokens, MinN: 1, MaxN: 3, Slots: 1 << 22, MinCount: 2}, 0},
		{specOf(seq.Classification, `{"type":"words","words":["a"]}`, 50, "a", "b"), 1000, ids,
			ngram.Options{Units: ngram.Tokens, MinN: 1, MaxN: 3, Slots: 1 << 22, MinCount: 2}, 0.5},
	} {
		o, rate, err := NGrams(context.Background(), dataset(t, c.spec, map[string]int{"train": c.rows}, c.draw))
		if err != nil || o != c.want || rate != c.rate {
			t.Errorf("%s: got %+v, rate %v, %v; want %+v, rate %v", c.spec.Tokenizer, o, rate, err, c.want, c.rate)
		}
	}
}

// TestNearest checks that nearest uses the Euclidean distance, not the direction, and ignores
// classes without rows.
func TestNearest(t *testing.T) {
	means := [][]float64{nil, {10, 10}, {1, 2}, {100, 0}}
	for _, c := range []struct {
		row  []int32
		want int
	}{{[]int32{2, 2}, 2}, {[]int32{0, 0}, 2}, {[]int32{9, 5}, 1}, {[]int32{60, 0}, 3}, {[]int32{54, 10}, 1}} {
		if got := nearest(means, c.row); got != c.want {
			t.Errorf("%v: got class %d, want %d", c.row, got, c.want)
		}
	}
}

// TestRoot checks that only the first token is read, and that the most frequent value is predicted
// for tokens absent from training.
func TestRoot(t *testing.T) {
	const lowest, highest, median = tokenizers.ListOpsMin, tokenizers.ListOpsMax, tokenizers.ListOpsMed
	rows := func(first int32, labels ...int32) (out []seq.Example) {
		for _, label := range labels {
			out = append(out, seq.Example{A: []int32{first, tokenizers.ListOpsDigit + label, tokenizers.ListOpsClose},
				Label: label})
		}
		return out
	}
	train := append(rows(lowest, 0, 0, 1), rows(highest, 9, 9, 9, 8)...)
	all := append(append(train, rows(lowest, 0, 1, 1)...), append(rows(highest, 9), rows(median, 9, 5)...)...)
	set := dataset(t, specOf(seq.Classification, `{"type":"listops"}`, 17, strings.Split("0123456789", "")...),
		map[string]int{"train": len(train), "test": len(all) - len(train)}, func(*rand.Rand) seq.Example {
			e := all[0]
			all = all[1:]
			return e
		})
	if m := onlyModel(t, test(t, set), Root); m.Accuracy != 3./6 || m.Trained != 7 || m.Rows != 6 {
		t.Errorf("got %+v, want 3 of 6 correct: a minimum of 0, a maximum of 9, and 9 for the unknown operator", m)
	}
}

// TestRootOfListOps checks the accuracy on ListOps of the Long Range Arena: 36.7% of its
// expressions have the most frequent value of their root operator.
func TestRootOfListOps(t *testing.T) {
	set, err := lra.ListOps.Generate(context.Background(), t.TempDir(),
		lra.GenerateOptions{Train: 2000, Test: 2000, Seed: 1})
	must.Succeed(t, err)
	// The tolerance is four standard errors.
	if m := onlyModel(t, test(t, set), Root); m.Accuracy < 0.367-0.043 || m.Accuracy > 0.367+0.043 {
		t.Errorf("got %+v, want about 36.7%%", m)
	}
}

// TestNearestMeanOfImages checks the accuracy of the nearest class mean on gray CIFAR-10 images.
func TestNearestMeanOfImages(t *testing.T) {
	testenv.Long(t, "converts a whole data set")
	set, err := lra.Image.Convert(context.Background(), testenv.NeedData(t, "cifar10"),
		t.TempDir(), lra.ConvertOptions{})
	must.Succeed(t, err)
	out := []Result{{Split: "test"}}
	work := &work{ctx: context.Background(), set: set}
	must.Succeed(t, work.measure(nearestMean(1024, 10, usual.times(cheap)), out))
	if want := (Model{NearestMean, 0.2422, 10000, 45000}); out[0].Models[0] != want {
		t.Errorf("got %+v, want %+v", out[0].Models[0], want)
	}
}
