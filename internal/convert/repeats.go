package convert

// repeats finds texts that were there before, by their hashes: all of the first
// [mostTexts] different ones, in memory that does not grow with the rows.
type repeats struct {
	slots []uint64 // open addressing; 0 is free
	used  int
}

// mostTexts is how many different texts are remembered.
const (
	repeatSlots = 1 << 21
	mostTexts   = repeatSlots * 3 / 4
)

// newRepeats writes to every page of its memory, one after the other: one that is first
// read, wherever a hash falls, and then written is mapped twice, which stops all
// processors, and together that took a tenth of a conversion.
func newRepeats() repeats {
	const page = 4096 / 8
	slots := make([]uint64, repeatSlots)
	for i := 0; i < len(slots); i += page {
		slots[i] = 0
	}
	return repeats{slots: slots}
}

// add reports whether a text was there before.
func (r *repeats) add(hash uint64) bool {
	hash |= 1 // not free
	for at := hash >> 1; ; at++ {
		slot := &r.slots[at%repeatSlots]
		switch {
		case *slot == hash:
			return true
		case *slot == 0:
			if r.used < mostTexts {
				*slot = hash
				r.used++
			}
			return false
		}
	}
}
