package convert

import "slices"

// repeats finds texts, or ids, that were there before, by their hashes: all of the first
// [mostTexts] different ones, in memory that does not grow with the rows.
type repeats struct {
	slots []uint64 // open addressing; 0 is free
	used  int
}

// mostTexts is how many different texts are remembered. Of the memory for their hashes a
// small part is used first, and twice as much whenever three quarters of that are taken:
// what is not used yet is not mapped, and what is fits into a processor's cache for longer.
const (
	firstSlots = 1 << 12
	mostSlots  = 1 << 21
	mostTexts  = mostSlots * 3 / 4
)

func newRepeats() repeats { return repeats{slots: make([]uint64, mostSlots)[:firstSlots]} }

// add reports whether a text was there before.
func (r *repeats) add(hash uint64) bool {
	hash |= 1 // not free
	slot := r.find(hash)
	if *slot == hash || r.used == mostTexts {
		return *slot == hash
	}
	*slot = hash
	if r.used++; r.used == len(r.slots)/4*3 && r.used < mostTexts {
		r.grow()
	}
	return false
}

// find is where a hash is, or would be.
func (r *repeats) find(hash uint64) *uint64 {
	last := uint64(len(r.slots) - 1)
	for at := hash >> 1; ; at++ {
		if slot := &r.slots[at&last]; *slot == hash || *slot == 0 {
			return slot
		}
	}
}

// grow writes to the new part before a hash is looked for there: memory that is first
// read and then written is mapped twice.
func (r *repeats) grow() {
	hashes := slices.Clone(r.slots)
	r.slots = r.slots[:2*len(r.slots)]
	clear(r.slots)
	for _, hash := range hashes {
		if hash != 0 {
			*r.find(hash) = hash
		}
	}
}
