package convert

// repeats finds texts that were there before, by their hashes: all of the first
// [mostTexts] different ones, in memory that does not grow beyond that.
type repeats struct {
	slots []uint64 // open addressing, a power of two; 0 is free
	used  int
}

// mostTexts is how many different texts are remembered.
const (
	firstSlots = 1 << 12
	mostSlots  = 1 << 21
	mostTexts  = mostSlots * 3 / 4
)

// add reports whether a text was there before.
func (r *repeats) add(hash uint64) bool {
	hash |= 1 // not free
	if r.slots == nil {
		r.grow()
	}
	slot := r.slot(hash)
	if *slot == hash {
		return true
	}
	if r.used == mostTexts {
		return false
	}
	*slot = hash
	if r.used++; r.used >= len(r.slots)*3/4 && len(r.slots) < mostSlots {
		r.grow()
	}
	return false
}

// slot is where a hash is, or would be.
func (r *repeats) slot(hash uint64) *uint64 {
	mask := uint64(len(r.slots) - 1)
	for at := hash >> 1; ; at++ {
		if slot := &r.slots[at&mask]; *slot == hash || *slot == 0 {
			return slot
		}
	}
}

// grow doubles the slots: of a table that is large from the start, a few texts touch all
// the memory.
func (r *repeats) grow() {
	const page = 4096 / 8
	old := r.slots
	r.slots = make([]uint64, max(firstSlots, 2*len(old)))
	for i := 0; i < len(r.slots); i += page { // a page that is read first is mapped twice
		r.slots[i] = 0
	}
	for _, hash := range old {
		if hash != 0 {
			*r.slot(hash) = hash
		}
	}
}
