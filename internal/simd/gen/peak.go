package main

import . "github.com/mmcloughlin/avo/build"

// chains is the number of independent operations in flight. It exceeds the product of execution
// units (2) and latency in cycles (at most 5) of common CPUs.
const chains = 12

// peak emits loops that measure peak rates.
func peak(v isa) {
	v.text("fma", "func(n int)", "fma runs n iterations of 12 independent multiply-adds.")
	n := Load(Param("n"), GP64())
	sum, a := v.zeros(chains), v.zero()
	rows("turn", n, func() {
		for _, s := range sum {
			VFMADD231PS(a, a, s)
		}
	})
	end()

	// On some CPUs maxima use the adders. A multiply-add with 1 then uses the other execution
	// units.
	v.text("maxAdd", "func(n int)", "maxAdd runs n iterations of 12 independent maxima, each added to a sum.")
	n = Load(Param("n"), GP64())
	sum, q, k, one := v.zeros(chains), v.zero(), v.zero(), v.splat(1)
	rows("turn", n, func() {
		for _, s := range sum {
			t := v.vec()
			VMAXPS(k, q, t)
			VFMADD231PS(t, one, s)
		}
	})
	end()

	v.text("read", "func(x []float32) float32", "read returns the sum of x.")
	x := slice("x")
	const wide = 8
	sum = v.zeros(wide)
	v.sweep("sweep", length("x"), wide, func(s span) {
		for j, u := range s.operands(x) {
			VADDPS(u, sum[j], sum[j])
		}
	})
	total := v.sum(sum)
	VMOVSS(total.AsX(), result())
	end()
}
