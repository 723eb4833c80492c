package cpu

// dot is one chain of additions in ascending order.
func dot(a, b []float32) float32 {
	b = b[:len(a)]
	var s float32
	for i, u := range a {
		s += float32(u * b[i])
	}
	return s
}
