package ngram

import (
	"fmt"
	"math"
	"math/bits"
)

// Vocabulary numbers the slots that occur in a training split: features are numbers from 0, by
// ascending slot. It is safe for concurrent use.
type Vocabulary struct {
	Options Options
	Kept    Bitmap // cells of n-grams that are frequent enough; nil keeps all
	Used    Bitmap // slots that occur
	ranks   []uint32
	size    int
}

// NewVocabulary checks the sizes of the sets and numbers the slots. kept must be nil exactly if
// MinCount is 1.
func NewVocabulary(o Options, kept, used Bitmap) (*Vocabulary, error) {
	if err := o.Validate(); err != nil {
		return nil, err
	}
	if want := keptWords(&o); len(kept) != want {
		return nil, fmt.Errorf("kept: expected %d words for min_count %d, found %d", want, o.MinCount, len(kept))
	}
	if len(used) != o.Slots/32 {
		return nil, fmt.Errorf("used: expected %d words for %d slots, found %d", o.Slots/32, o.Slots, len(used))
	}
	v := &Vocabulary{Options: o, Kept: kept, Used: used, ranks: make([]uint32, len(used))}
	for i, w := range used {
		v.ranks[i] = uint32(v.size)
		v.size += bits.OnesCount32(uint32(w))
	}
	return v, nil
}

// keptWords returns the number of 32-bit words of the bitmap Kept.
func keptWords(o *Options) int {
	if o.MinCount == 1 {
		return 0
	}
	return Cells / 32
}

// Size returns the number of features.
func (v *Vocabulary) Size() int { return v.size }

// Features appends the distinct features of a row to out, in the order of their first n-grams.
func (v *Vocabulary) Features(x *Extractor, a, b []int32, out []uint32) []uint32 {
	hashes := x.Hashes(a, b)
	x.seen.clear(len(hashes))
	shift := v.Options.slotShift()
	for _, h := range hashes {
		if f, ok := v.feature(h, shift); ok && x.seen.add(f) {
			out = append(out, f)
		}
	}
	return out
}

// NoFeature marks a missing n-gram or an n-gram without a feature in the result of [Vocabulary.Ending].
const NoFeature = math.MaxUint32

// Ending appends one feature, or [NoFeature], to out for each hash of [Extractor.Ending], in the same
// order.
func (v *Vocabulary) Ending(x *Extractor, tokens []int32, out []uint32) []uint32 {
	shift := v.Options.slotShift()
	for _, h := range x.Ending(tokens) {
		f, ok := uint32(0), false
		if h != 0 {
			f, ok = v.feature(h, shift)
		}
		if !ok {
			f = NoFeature
		}
		out = append(out, f)
	}
	return out
}

// Feature returns the feature of an n-gram's hash; ok is false if the n-gram has no feature.
func (v *Vocabulary) Feature(h uint64) (feature uint32, ok bool) {
	return v.feature(h, v.Options.slotShift())
}

func (v *Vocabulary) feature(h uint64, shift int) (feature uint32, ok bool) {
	if v.Kept != nil && !v.Kept.Has(cell(h)) {
		return 0, false
	}
	slot := uint32(h >> shift)
	word, bit := uint32(v.Used[slot/32]), slot%32
	if word>>bit&1 == 0 {
		return 0, false
	}
	return v.ranks[slot/32] + uint32(bits.OnesCount32(word&(1<<bit-1))), true
}

// Use adds the slots of a row's n-grams to used. N-grams whose cells are not in kept are skipped; if kept is
// nil, none are.
func Use(x *Extractor, kept, used Bitmap, a, b []int32) {
	shift := x.options.slotShift()
	for _, h := range x.Hashes(a, b) {
		if kept == nil || kept.Has(cell(h)) {
			used.Set(uint32(h >> shift))
		}
	}
}
