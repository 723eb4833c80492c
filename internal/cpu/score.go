package cpu

import (
	"math"

	"sftseq/internal/tensor"
)

var (
	standardMean  = float32(1 / math.Sqrt(math.Pi))
	standardScale = float32(1 / math.Sqrt(1-1/math.Pi))
)

// scoreTile scores one key against rows of queries, which are a stride apart in
// q: s[r] = m(q_r, key).
func scoreTile(kind tensor.Score, s, q []float32, stride int, key []float32) {
	n := len(key)
	switch kind {
	case tensor.Maxout, tensor.MaxoutStandardized:
		r := 0
		for ; r+4 <= len(s); r += 4 {
			q0, q1 := q[r*stride:][:n], q[(r+1)*stride:][:n]
			q2, q3 := q[(r+2)*stride:][:n], q[(r+3)*stride:][:n]
			var a0, a1, a2, a3 float32
			for c, v := range key {
				a0 += max(q0[c], v)
				a1 += max(q1[c], v)
				a2 += max(q2[c], v)
				a3 += max(q3[c], v)
			}
			s[r], s[r+1], s[r+2], s[r+3] = a0, a1, a2, a3
		}
		for ; r < len(s); r++ {
			qr := q[r*stride:][:n]
			var a float32
			for c, v := range key {
				a += max(qr[c], v)
			}
			s[r] = a
		}
		if kind == tensor.MaxoutStandardized {
			for r, v := range s {
				s[r] = (v - float32(float32(n)*standardMean)) * standardScale
			}
		}
	case tensor.Lily:
		for r := range s {
			qr := q[r*stride:][:n]
			var a float32
			for c, v := range key {
				a += absolute(qr[c]+v) - absolute(qr[c]-v)
			}
			s[r] = a
		}
	case tensor.Dot:
		for r := range s {
			s[r] = dot(key, q[r*stride:][:n])
		}
	}
}

func absolute(x float32) float32 { return math.Float32frombits(math.Float32bits(x) &^ (1 << 31)) }

func sign(x float32) float32 {
	switch {
	case x > 0:
		return 1
	case x < 0:
		return -1
	}
	return 0
}

// scoreTileBackward adds the gradient g[r] of m(q_r, key) to dq_r (rows packed
// n apart) and to dkey.
func scoreTileBackward(kind tensor.Score, g, q []float32, stride int, key, dq, dkey []float32) {
	n := len(key)
	dkey = dkey[:n]
	for r, v := range g {
		if v == 0 {
			continue
		}
		qr, dqr := q[r*stride:][:n], dq[r*n:][:n]
		switch kind {
		case tensor.Maxout, tensor.MaxoutStandardized:
			if kind == tensor.MaxoutStandardized {
				v *= standardScale
			}
			bits := math.Float32bits(v)
			for c, kc := range key {
				// All ones where q < k: the key's gradient, without a branch that
				// would be mispredicted half the time.
				mask := below(qr[c], kc)
				dqr[c] += math.Float32frombits(bits &^ mask)
				dkey[c] += math.Float32frombits(bits & mask)
			}
		case tensor.Lily:
			for c, kc := range key {
				plus, minus := sign(qr[c]+kc), sign(qr[c]-kc)
				dqr[c] += v * (plus - minus)
				dkey[c] += v * (plus + minus)
			}
		case tensor.Dot:
			for c, kc := range key {
				dqr[c] += float32(v * kc)
				dkey[c] += float32(v * qr[c])
			}
		}
	}
}

// below is all ones if a < b, else zero.
func below(a, b float32) uint32 {
	var m uint32
	if a < b {
		m = 1
	}
	return -m
}
