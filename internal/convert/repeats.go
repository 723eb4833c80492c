package convert

import "slices"

// repeats finds repeated texts, or ids, by their hashes: among the first [maxTexts] distinct ones,
// in memory that does not grow with the rows.
type repeats struct {
	slots []uint64 // open addressing; 0 is free, the low [tagBits] are a tag
	used  int
}

// maxTexts is the maximum number of distinct texts in the table. It begins with a small part of
// the memory and doubles it whenever three quarters are used: unused memory is not mapped, and the
// used part fits into a CPU cache for longer.
const (
	firstSlots = 1 << 12
	maxSlots   = 1 << 21
	maxTexts   = maxSlots * 3 / 4
)

// tagBits is enough for each of [maxSplits], and a free slot.
const tagBits = 7

func newRepeats() repeats { return repeats{slots: make([]uint64, maxSlots)[:firstSlots]} }

// add reports whether a text was added before, and the tag with which it was added first.
func (r *repeats) add(hash uint64, tag int) (before bool, first int) {
	hash = hash>>tagBits<<tagBits | uint64(tag+1) // not free
	slot := r.find(hash)
	if *slot != 0 {
		return true, int(*slot&(1<<tagBits-1)) - 1
	}
	if r.used == maxTexts {
		return false, tag
	}
	*slot = hash
	if r.used++; r.used == len(r.slots)/4*3 && r.used < maxTexts {
		r.grow()
	}
	return false, tag
}

// find returns the slot of a hash with any tag, or the free slot for it.
func (r *repeats) find(hash uint64) *uint64 {
	last := uint64(len(r.slots) - 1)
	for at := hash >> tagBits; ; at++ {
		if slot := &r.slots[at&last]; *slot>>tagBits == hash>>tagBits || *slot == 0 {
			return slot
		}
	}
}

// grow writes to the new part before a hash is looked up there: memory that is first read and then
// written is mapped twice.
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
