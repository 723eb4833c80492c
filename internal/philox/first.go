package philox

// FirstWords sets dst[i] to Words(seed, counter)[0] with counter[0] replaced by e[i]. e must be at
// least as long as dst. FirstWords computes the common part of all draws only once.
func FirstWords(dst []uint32, seed uint64, counter [4]uint32, e []int32) {
	k0, k1 := uint32(seed), uint32(seed>>32)
	b := multiplier1 * uint64(counter[2])
	d0, d1, d3 := uint32(b>>32)^counter[1]^k0, uint32(b), counter[3]^k1
	e = e[:len(dst)]
	for i := range dst {
		a := multiplier0 * uint64(uint32(e[i]))
		dst[i], _, _, _ = lastRounds(d0, d1, uint32(a>>32)^d3, uint32(a), k0, k1)
	}
}
