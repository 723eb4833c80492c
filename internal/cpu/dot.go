package cpu

// dot is Σ a·b in four chains of additions.
func dot(a, b []float32) float32 {
	b = b[:len(a)]
	var s0, s1, s2, s3 float32
	i := 0
	for ; i+4 <= len(a); i += 4 {
		u, v := (*[4]float32)(a[i:]), (*[4]float32)(b[i:])
		s0 += float32(u[0] * v[0])
		s1 += float32(u[1] * v[1])
		s2 += float32(u[2] * v[2])
		s3 += float32(u[3] * v[3])
	}
	for ; i < len(a); i++ {
		s0 += float32(a[i] * b[i])
	}
	return (s0 + s1) + (s2 + s3)
}
