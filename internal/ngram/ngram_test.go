package ngram

import (
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"os"
	"reflect"
	"slices"
	"strings"
	"testing"
	"unicode"
	"unicode/utf8"

	"github.com/zeebo/xxh3"

	"github.com/sftseq/sftseq/internal/must"
	"github.com/sftseq/sftseq/tokenizers"
)

// ids returns the byte tokenizer's ids of a text.
func ids(text string) (out []int32) {
	for _, b := range []byte(text) {
		out = append(out, int32(b)+1)
	}
	return out
}

// TestHashes compares hashes with the test vectors and with the definition, and XXH3-64 with known
// values.
func TestHashes(t *testing.T) {
	for text, want := range map[string]uint64{"": 0x2D06800538D394C2, "a": 0xE6C632B61E964E1F,
		"abc": 0x78AF5F94892F3950} {
		if got := xxh3.HashString(text); got != want {
			t.Errorf("XXH3-64 of %q: %#x, expected %#x", text, got, want)
		}
	}
	var vectors []struct {
		Units      string   `json:"units"`
		Text       string   `json:"text"`
		Tokens     []int32  `json:"tokens"`
		Side       int      `json:"side"`
		MaxN       int      `json:"max_n"`
		UnitHashes []string `json:"unit_hashes"`
		Hashes     []string `json:"hashes"`
	}
	must.Succeed(t, json.Unmarshal(must.Get(os.ReadFile("testdata/hashes.json"))(t), &vectors))
	if len(vectors) < 4 {
		t.Fatalf("%d test vectors, want at least 4", len(vectors))
	}
	for _, v := range vectors {
		tokens := v.Tokens
		if v.Units != Tokens {
			tokens = ids(v.Text)
		}
		x := NewExtractor(Options{Units: v.Units, MinN: 1, MaxN: v.MaxN, Slots: MinSlots, MinCount: 1})
		sides := [2][]int32{}
		sides[v.Side] = tokens
		var got []string
		for _, h := range x.Hashes(sides[0], sides[1]) {
			got = append(got, fmt.Sprintf("%016x", h))
		}
		if !slices.Equal(got, v.Hashes) {
			t.Errorf("%s %q %v: %q, expected %q", v.Units, v.Text, v.Tokens, got, v.Hashes)
		}
		var want []string
		for i := range v.UnitHashes {
			for n := 1; n <= v.MaxN && i+n <= len(v.UnitHashes); n++ {
				h := uint64(2*n + v.Side)
				for _, u := range v.UnitHashes[i : i+n] {
					var unit uint64
					must.Get(fmt.Sscanf(u, "%x", &unit))(t)
					h = h*0x9E3779B97F4A7C15 + unit
				}
				want = append(want, fmt.Sprintf("%016x", mix(h)))
			}
		}
		if !slices.Equal(want, v.Hashes) {
			t.Errorf("%s %q: by the definition, the hashes are %q", v.Units, v.Text, want)
		}
	}
	if got := mix(0x0123456789abcdef); got != 0x87cbfbfe89022cea {
		t.Errorf("MurmurHash3's finaliser of 0123456789abcdef is %#x, want 0x87cbfbfe89022cea", got)
	}
}

// TestWords compares the units of texts in several scripts with the words of tokenizers.EachWord.
func TestWords(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 2))
	chars := []rune("abcXYZ 019.,'-<\t\n éÉßİǅΣς́　。好日本٣२€😀  ")
	x := NewExtractor(Options{Units: Words, MinN: 1, MaxN: 1, Slots: MinSlots, MinCount: 1})
	for range 2000 {
		var text strings.Builder
		for range r.IntN(30) {
			text.WriteRune(chars[r.IntN(len(chars))])
		}
		x.Hashes(ids(text.String()), nil)
		var want []uint64
		tokenizers.EachWord(text.String(), func(word string) { want = append(want, xxh3.HashString(word)) })
		if !slices.Equal(x.units, want) {
			t.Fatalf("%q: %x, expected %x", text.String(), x.units, want)
		}
	}
	x.Hashes(ids("a\xff\xc3b"), nil)
	want := []uint64{xxh3.HashString("a"), xxh3.HashString("\xff"), xxh3.HashString("\xc3"), xxh3.HashString("b")}
	if !slices.Equal(x.units, want) {
		t.Errorf("bytes that are not UTF-8: %x, expected %x", x.units, want)
	}
}

// TestNoByte checks that the hash of the id 0, which represents no byte, differs from the hash of each
// byte.
func TestNoByte(t *testing.T) {
	for _, units := range []string{Bytes, Words} {
		x := NewExtractor(Options{Units: units, MinN: 1, MaxN: 1, Slots: MinSlots, MinCount: 1})
		none := slices.Clone(x.Hashes([]int32{0}, nil))
		for id := int32(1); id <= 256; id++ {
			if slices.Equal(x.Hashes([]int32{id}, nil), none) {
				t.Errorf("%s: the id %d has the hash of the id 0", units, id)
			}
		}
	}
}

// TestLocated checks the token ranges of units and n-grams. The text or token in a unit's range must have
// the unit's hash; words are hashed in lower case. The n-grams must equal the n-grams of Hashes.
func TestLocated(t *testing.T) {
	r := rand.New(rand.NewPCG(3, 2))
	chars := []rune("abXY 01.,'-<\t\n éÉßİΣ́　。好日€😀")
	for _, units := range []string{Words, Bytes, Tokens} {
		x := NewExtractor(Options{Units: units, MinN: 2, MaxN: 3, Slots: MinSlots, MinCount: 1})
		both := NewExtractor(Options{Units: Bytes, MinN: 2, MaxN: 3, Slots: MinSlots, MinCount: 1, MaxWords: 2})
		for range 300 {
			var text strings.Builder
			for range r.IntN(30) {
				text.WriteRune(chars[r.IntN(len(chars))])
			}
			tokens := ids(text.String() + "\xff")
			found := x.Units(tokens, nil)
			for i, u := range found {
				part := text.String() + "\xff"
				part = part[u.From:u.To]
				want := xxh3.HashString(strings.Map(unicode.ToLower, part))
				if !utf8.ValidString(part) || units == Bytes {
					want = xxh3.HashString(part)
				}
				if units == Tokens {
					id := tokens[u.From]
					want = xxh3.Hash([]byte{byte(id), byte(id >> 8), byte(id >> 16), byte(id >> 24)})
				}
				if u.Hash != want || i > 0 && u.From < found[i-1].To {
					t.Fatalf("%s of %q: unit %d at %d to %d has a wrong hash or range", units,
						text.String(), i, u.From, u.To)
				}
			}
			for side := range 2 {
				var got []uint64
				x.Located(tokens, side, func(h uint64, from, to int) {
					got = append(got, h)
					first := slices.IndexFunc(found, func(u Unit) bool { return u.From == from })
					last := slices.IndexFunc(found, func(u Unit) bool { return u.To == to })
					if first < 0 || last < first || HashOf(found[first:last+1], side) != h {
						t.Fatalf("%s of %q: the n-gram at %d to %d has a wrong hash", units, text.String(), from, to)
					}
				})
				sides := [2][]int32{}
				sides[side] = tokens
				next, want := 0, both.Hashes(sides[0], sides[1])
				both = NewExtractor(both.options)
				both.Located(tokens, side, func(h uint64, from, to int) {
					if h != want[next] || from >= to || to > len(tokens) {
						t.Fatalf("%q: n-gram %d of bytes and words has a wrong hash or range", text.String(), next)
					}
					next++
				})
				if want := x.Hashes(sides[0], sides[1]); !slices.Equal(got, want) {
					t.Fatalf("%s of %q: %x, expected %x", units, text.String(), got, want)
				}
			}
		}
	}
}

// TestSides checks that the sides of a pair have different n-grams, and that no n-gram spans both
// sides.
func TestSides(t *testing.T) {
	x := NewExtractor(Options{Units: Tokens, MinN: 2, MaxN: 3, Slots: MinSlots, MinCount: 1})
	a := slices.Clone(x.Hashes([]int32{1, 2, 3}, nil))
	both := slices.Clone(x.Hashes([]int32{1, 2, 3}, []int32{1, 2, 3}))
	if len(a) != 3 || len(both) != 6 || !slices.Equal(both[:3], a) {
		t.Fatalf("side a alone has the hashes %x, the pair has %x, want 3 and 6 with the same first 3", a, both)
	}
	for _, h := range both[3:] {
		if slices.Contains(a, h) {
			t.Errorf("both sides have the hash %x", h)
		}
	}
}

// TestDistinct compares the set type distinct with a map, also when the set grows and when the generations wrap
// around.
func TestDistinct(t *testing.T) {
	var d distinct
	r := rand.New(rand.NewPCG(3, 4))
	for round := range 300 {
		if round == 100 {
			d.generation = ^uint32(0) - 50
		}
		n := 1 + r.IntN(200)
		d.clear(n)
		seen := map[uint32]bool{}
		for range n {
			v := uint32(r.IntN(n)) << r.IntN(20)
			if got := d.add(v); got == seen[v] {
				t.Fatalf("round %d: add(%d) = %v, want %v", round, v, got, !seen[v])
			}
			seen[v] = true
		}
	}
}

// TestSketch checks that a row counts once per cell, that counts saturate at 255, and that merged
// sketches equal the sketch of all rows.
func TestSketch(t *testing.T) {
	o := Options{Units: Tokens, MinN: 1, MaxN: 1, Slots: MinSlots, MinCount: 2}
	x := NewExtractor(o)
	whole, parts := NewSketch(), []*Sketch{NewSketch(), NewSketch()}
	for i := range 600 {
		row := []int32{1, 1, 1, int32(2 + i%300)}
		whole.Add(x, row, nil)
		parts[i%2].Add(x, row, nil)
	}
	cellOf := func(token int32) uint32 { return cell(x.Hashes([]int32{token}, nil)[0]) }
	if n, m := whole.rows[cellOf(1)], whole.rows[cellOf(2)]; n != 255 || m != 2 {
		t.Errorf("the cells of tokens 1 and 2 count %d and %d rows, want 255 and 2", n, m)
	}
	for _, order := range [][]int{{0, 1}, {1, 0}} {
		sum := NewSketch()
		for _, i := range order {
			sum.Merge(parts[i])
		}
		if !reflect.DeepEqual(sum, whole) {
			t.Error("merged sketches differ from the sketch of all rows")
		}
	}
	if kept := whole.Kept(3); !kept.Has(cellOf(1)) || kept.Has(cellOf(2)) {
		t.Error("Kept(3): want the cell of token 1 and not the cell of token 2")
	}
}

// TestVocabulary checks that features are the ranks of the used slots.
func TestVocabulary(t *testing.T) {
	o := Options{Units: Tokens, MinN: 1, MaxN: 2, Slots: MinSlots, MinCount: 2}
	x, r := NewExtractor(o), rand.New(rand.NewPCG(5, 6))
	sketch, used := NewSketch(), NewBitmap(o.Slots)
	var rows [][]int32
	for range 200 {
		row := make([]int32, 1+r.IntN(20))
		for i := range row {
			row[i] = int32(r.IntN(60) * r.IntN(2))
		}
		rows = append(rows, row)
		sketch.Add(x, row, nil)
	}
	kept := sketch.Kept(o.MinCount)
	for _, row := range rows {
		Use(x, kept, used, row, nil)
	}
	v := must.Get(NewVocabulary(o, kept, used))(t)
	rank := map[uint32]uint32{}
	for slot := range uint32(o.Slots) {
		if used.Has(slot) {
			rank[slot] = uint32(len(rank))
		}
	}
	if v.Size() != len(rank) || v.Size() < 50 {
		t.Fatalf("%d features, expected %d, and at least 50", v.Size(), len(rank))
	}
	dropped := 0
	for _, row := range append(rows, []int32{1000, 1001, 0}) {
		var want []uint32
		for _, h := range x.Hashes(row, nil) {
			f, ok := rank[uint32(h>>54)]
			ok = ok && kept.Has(cell(h))
			if got, found := v.Feature(h); found != ok || ok && got != f {
				t.Fatalf("%x: %d, %v, expected %d, %v", h, got, found, f, ok)
			}
			if !ok {
				dropped++
			} else if !slices.Contains(want, f) {
				want = append(want, f)
			}
		}
		if got := v.Features(x, row, nil, nil); !slices.Equal(got, want) {
			t.Fatalf("%v: %v, expected %v", row, got, want)
		}
	}
	if dropped < 20 {
		t.Errorf("%d n-grams are dropped, the test needs at least 20", dropped)
	}
	must.Fail(t, "kept: expected 524288 words")(NewVocabulary(o, nil, used))
	must.Fail(t, "used: expected 32 words")(NewVocabulary(o, kept, used[:31]))
}

func TestOptions(t *testing.T) {
	good := Options{Words, 1, 3, 1 << 22, 2, 0}
	must.Succeed(t, good.Validate())
	for want, change := range map[string]func(*Options){
		`units: expected words, bytes or tokens, found "signs"`:                            func(o *Options) { o.Units = "signs" },
		"min_n: expected 1 to 8, found 0":                                                  func(o *Options) { o.MinN = 0 },
		"max_n: expected 1 (min_n) to 8, found 9":                                          func(o *Options) { o.MaxN = 9 },
		"max_n: expected 5 (min_n) to 8, found 3":                                          func(o *Options) { o.MinN = 5 },
		"slots: expected a power of two from 1024 to 16777216, found 1099511627776":        func(o *Options) { o.Slots = 1 << 40 },
		"slots: expected a power of two from 1024 to 16777216, found 3000":                 func(o *Options) { o.Slots = 3000 },
		"slots: expected a power of two from 1024 to 16777216, found -9223372036854775808": func(o *Options) { o.Slots = -1 << 63 },
		"min_count: expected 1 to 255, found 256":                                          func(o *Options) { o.MinCount = 256 },
	} {
		o := good
		change(&o)
		must.Fail(t, want)(o.Validate())
	}
}

// BenchmarkFeatures measures Features for n-grams of 1 to 3 words in a text of 1,300 bytes.
func BenchmarkFeatures(b *testing.B) {
	o := Options{Words, 1, 3, 1 << 22, 1, 0}
	x, used := NewExtractor(o), NewBitmap(1<<22)
	r := rand.New(rand.NewPCG(7, 8))
	var text strings.Builder
	for text.Len() < 1300 {
		fmt.Fprintf(&text, "%c%x ", 'a'+r.IntN(26), r.IntN(5000))
	}
	row := ids(text.String())
	Use(x, nil, used, row, nil)
	v := must.Get(NewVocabulary(o, nil, used))(b)
	var out []uint32
	for b.Loop() {
		out = v.Features(x, row, nil, out[:0])
	}
}
