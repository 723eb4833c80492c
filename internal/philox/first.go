package philox

// First fills dst with the first words of a stream's draws: dst[i] is
// Words(seed, counter)[0] with counter[0] replaced by e[i], as long as dst. What all
// draws have in common is computed once.
func First(dst []uint32, seed uint64, counter [4]uint32, e []int32) {
	k0, k1 := uint32(seed), uint32(seed>>32)
	b := multiplier1 * uint64(counter[2])
	d0, d1, d3 := uint32(b>>32)^counter[1]^k0, uint32(b), counter[3]^k1
	e = e[:len(dst)]
	for i := range dst {
		a := multiplier0 * uint64(uint32(e[i]))
		c0, c1, c2, c3 := d0, d1, uint32(a>>32)^d3, uint32(a)
		c0, c1, c2, c3 = round(c0, c1, c2, c3, k0+(weyl0&low), k1+(weyl1&low))
		c0, c1, c2, c3 = round(c0, c1, c2, c3, k0+(2*weyl0&low), k1+(2*weyl1&low))
		c0, c1, c2, c3 = round(c0, c1, c2, c3, k0+(3*weyl0&low), k1+(3*weyl1&low))
		c0, c1, c2, c3 = round(c0, c1, c2, c3, k0+(4*weyl0&low), k1+(4*weyl1&low))
		c0, c1, c2, c3 = round(c0, c1, c2, c3, k0+(5*weyl0&low), k1+(5*weyl1&low))
		c0, c1, c2, c3 = round(c0, c1, c2, c3, k0+(6*weyl0&low), k1+(6*weyl1&low))
		c0, c1, c2, c3 = round(c0, c1, c2, c3, k0+(7*weyl0&low), k1+(7*weyl1&low))
		c0, c1, c2, c3 = round(c0, c1, c2, c3, k0+(8*weyl0&low), k1+(8*weyl1&low))
		c0, _, _, _ = round(c0, c1, c2, c3, k0+(9*weyl0&low), k1+(9*weyl1&low))
		dst[i] = c0
	}
}
