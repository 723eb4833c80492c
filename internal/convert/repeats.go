package convert

import "slices"

// repeats is a hash table that finds repeated texts, labels, tokens or ids by their hashes. It stores the first
// [maxTexts] distinct hashes, so that its memory is bounded.
type repeats struct {
	slots []uint64 // open addressing; 0 is a free slot, the low [tagBits] bits are the tag plus 1
	used  int
}

// maxTexts is the maximum number of distinct hashes in the table. The table first uses firstSlots of its
// allocated maxSlots and doubles them whenever three quarters are used. The system maps no memory for the
// unused part, and a small table fits into a CPU cache.
const (
	firstSlots = 1 << 12
	maxSlots   = 1 << 21
	maxTexts   = maxSlots * 3 / 4
)

// tagBits is enough for maxSplits tags and the value 0 of a free slot.
const tagBits = 7

func newRepeats() repeats { return repeats{slots: make([]uint64, maxSlots)[:firstSlots]} }

// add adds a hash with a tag. It reports whether the hash was added before, and the tag of its
// first addition.
func (r *repeats) add(hash uint64, tag int) (before bool, first int) {
	hash = hash>>tagBits<<tagBits | uint64(tag+1) // tag+1, because 0 means a free slot
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

// find returns the slot that holds a hash, with any tag, or the free slot for it.
func (r *repeats) find(hash uint64) *uint64 {
	last := uint64(len(r.slots) - 1)
	for at := hash >> tagBits; ; at++ {
		if slot := &r.slots[at&last]; *slot>>tagBits == hash>>tagBits || *slot == 0 {
			return slot
		}
	}
}

// grow doubles the used part of the table. It clears the whole part before it reads from it, because
// the system maps a page twice if it is first read and then written.
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
