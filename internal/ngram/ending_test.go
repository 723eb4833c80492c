package ngram

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/sftseq/sftseq/internal/must"
	"github.com/sftseq/sftseq/tokenizers"
)

// TestEnding compares Ending with hashes of single n-grams, one for each order and token.
func TestEnding(t *testing.T) {
	r := rand.New(rand.NewPCG(8, 9))
	for _, o := range []Options{{Units: Bytes, MinN: 3, MaxN: 6}, {Units: Tokens, MinN: 1, MaxN: 2},
		{Units: Tokens, MinN: 2, MaxN: 2}} {
		x, y := NewExtractor(o), NewExtractor(o)
		for range 50 {
			tokens := make([]int32, r.IntN(20))
			for i := range tokens {
				tokens[i] = int32(r.IntN(256))
			}
			hashes := x.Ending(tokens)
			for i := range tokens {
				var want []uint64 // shortest n-gram first
				for n := o.MinN; n <= o.MaxN; n++ {
					h := uint64(0)
					if i+1 >= n {
						single := Options{Units: o.Units, MinN: n, MaxN: n}
						*y = *NewExtractor(single)
						h = y.Hashes(tokens[i+1-n:i+1], nil)[0]
					}
					want = append(want, h)
				}
				if got := hashes[i*o.Orders() : (i+1)*o.Orders()]; !slices.Equal(got, want) {
					t.Fatalf("%v: tokens %v, position %d: got hashes %x, want %x", o, tokens, i, got, want)
				}
			}
		}
	}
}

// TestEndingWords checks that a word n-gram ends at the last byte of its last word, and that the text
// before the n-gram does not change its hash. Word and byte n-grams have different hashes. The
// n-grams of a row are the n-grams that end at its tokens.
func TestEndingWords(t *testing.T) {
	o := Options{Units: Bytes, MinN: 3, MaxN: 3, MaxWords: 2, Slots: MinSlots, MinCount: 1}
	must.Succeed(t, o.Validate())
	text := "Été, the END\xff x"
	x := NewExtractor(o)
	hashes := slices.Clone(x.Ending(ids(text)))
	var words []string
	tokenizers.EachWord(text, func(w string) { words = append(words, w) })
	ended := 0 // number of words that ended
	for i := range len(text) {
		unigram, bigram := hashes[i*3+1], hashes[i*3+2]
		ends := slices.Contains([]string{"Été", "Été,", "Été, the", "Été, the END", "Été, the END\xff", text},
			text[:i+1])
		if ends != (unigram != 0) || (bigram != 0) != (ends && ended > 0) {
			t.Errorf("byte %d: got word unigram %x and bigram %x, want 0 except at the end of a word (bigram: of a "+
				"word after the first)", i, unigram, bigram)
		}
		if ends {
			ended++
		}
	}
	if ended != len(words) {
		t.Errorf("got %d ends of words, want %d", ended, len(words))
	}
	row := slices.Clone(x.Hashes(ids(text), nil))
	ending := slices.DeleteFunc(slices.Clone(hashes), func(h uint64) bool { return h == 0 })
	slices.Sort(row)
	slices.Sort(ending)
	if !slices.Equal(row, ending) {
		t.Errorf("the row has %d n-grams, but %d end at its tokens", len(row), len(ending))
	}
	a := slices.Clone(x.Ending(ids("bad dog")))
	b := slices.Clone(x.Ending(ids("a BAD dog")))
	if a[2*3] != b[4*3] {
		t.Errorf("the bytes of bad and BAD have different hashes: %x and %x", a[2*3], b[4*3])
	}
	last := func(h []uint64) []uint64 { return h[len(h)-2:] }
	if !slices.Equal(last(a), last(b)) || a[2*3+1] == a[2*3] {
		t.Errorf("the last words have the hashes %x and %x, want equal hashes that differ from byte n-grams",
			last(a), last(b))
	}
}

// TestEndingFeatures compares Vocabulary.Ending with Feature, and the vocabulary of Collect with
// Sketch.Kept and Use. It checks that Collect returns the errors of eachRow and of the context.
func TestEndingFeatures(t *testing.T) {
	o := Options{Units: Tokens, MinN: 1, MaxN: 2, Slots: MinSlots, MinCount: 2}
	r := rand.New(rand.NewPCG(10, 11))
	rows := make([][]int32, 60)
	for i := range rows {
		for range 1 + r.IntN(30) {
			rows[i] = append(rows[i], int32(r.IntN(40)*r.IntN(2)))
		}
	}
	each := func(block int, with func(a, b []int32)) error {
		for _, row := range rows[block*6 : block*6+6] {
			with(row, nil)
		}
		return nil
	}
	v := must.Get(Collect(context.Background(), o, 10, 1, each))(t)
	x := NewExtractor(o)
	sketch, used := NewSketch(), NewBitmap(o.Slots)
	for _, row := range rows {
		sketch.Add(x, row, nil)
	}
	kept := sketch.Kept(2)
	for _, row := range rows {
		Use(x, kept, used, row, nil)
	}
	if !slices.Equal(v.Kept, kept) || !slices.Equal(v.Used, used) {
		t.Error("Collect returns a vocabulary that differs from Sketch.Kept and Use")
	}
	if other := must.Get(Collect(context.Background(), o, 10, 3, each))(t); !slices.Equal(other.Kept, v.Kept) ||
		!slices.Equal(other.Used, v.Used) {
		t.Error("three threads collect a different vocabulary")
	}
	found, none := 0, 0
	for _, row := range rows {
		features := v.Ending(x, row, []uint32{7})[1:]
		for i, h := range x.Ending(row) {
			f, ok := v.Feature(h)
			if ok = ok && h != 0; ok && features[i] == f {
				found++
			} else if !ok && features[i] == NoFeature {
				none++
			} else {
				t.Fatalf("hash %x: got feature %d, want %d (%v)", h, features[i], f, ok)
			}
		}
	}
	if found < 100 || none < 60 {
		t.Errorf("%d n-grams have a feature, %d have none: the test needs at least 100 and 60", found, none)
	}
	failed := errors.New("no such block")
	_, err := Collect(context.Background(), o, 10, 2, func(int, func(a, b []int32)) error { return failed })
	if !errors.Is(err, failed) {
		t.Errorf("error %v, want the error of eachRow", err)
	}
	stopped, cancel := context.WithCancel(context.Background())
	cancel()
	if _, err := Collect(stopped, o, 10, 2, each); !errors.Is(err, context.Canceled) {
		t.Errorf("error %v, want context.Canceled", err)
	}
}

// TestMaxWords checks that Validate limits MaxWords and accepts it only for byte n-grams.
func TestMaxWords(t *testing.T) {
	good := Options{Bytes, 3, 6, 1 << 18, 2, 2}
	must.Succeed(t, good.Validate())
	if good.Orders() != 6 {
		t.Errorf("Orders() = %d, want 6: 4 lengths of byte n-grams and 2 of word n-grams", good.Orders())
	}
	words := good
	words.Units = Words
	must.Fail(t, "max_words: expected 0 for the units words, found 2")(words.Validate())
	for _, n := range []int{-1, 9} {
		bad := good
		bad.MaxWords = n
		must.Fail(t, fmt.Sprintf("max_words: expected 0 to 8, found %d", n))(bad.Validate())
	}
}
