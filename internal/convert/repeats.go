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

// add reports whether a text was there before.
func (r *repeats) add(hash uint64) bool {
	if r.slots == nil {
		r.slots = make([]uint64, repeatSlots)
	}
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
