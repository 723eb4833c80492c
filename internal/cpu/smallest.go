package cpu

// markSmallest replaces the n smallest keys by 1 and all other keys by 0, in linear time. Equal keys
// are ordered by tie key, then by position. The function tie replaces indices of keys by their tie
// keys; it is only called if the order of equal keys matters, and may be nil. ties is scratch
// memory with the length of key, or nil if speed does not matter.
func markSmallest(key []uint32, n int, ties []uint32, tie func(indices []uint32)) {
	if n >= len(key) {
		for i := range key {
			key[i] = 1
		}
		return
	}
	limit, equal, chosen := selectThreshold(key, n, ties)
	ties = ties[:0]
	if tie != nil && chosen < equal {
		for i, k := range key {
			if k == limit {
				ties = append(ties, uint32(i))
			}
		}
		tie(ties)
		markSmallest(ties, chosen, nil, nil)
	}
	for i, k := range key {
		var mark uint32
		switch {
		case k < limit:
			mark = 1
		case k > limit:
		case len(ties) > 0:
			mark, ties = ties[0], ties[1:]
		case chosen > 0:
			mark, chosen = 1, chosen-1
		}
		key[i] = mark
	}
}

// selectThreshold returns the n-th smallest key, the number of keys equal to it, and the number of these
// equal keys among the n smallest. It is a radix select from the highest digit: each pass counts the next
// digits of the keys that agree with all digits known so far. If memory has at least the length of key,
// each pass but the last copies to memory the keys that still agree, and the next pass reads only these.
func selectThreshold(key []uint32, n int, memory []uint32) (limit uint32, equal, chosen int) {
	const bits = 8
	var mask uint32
	chosen = n
	for shift := 32 - bits; ; shift -= bits {
		var count [1 << bits]int32
		for _, k := range key {
			if k&mask == limit {
				count[uint8(k>>shift)]++
			}
		}
		digit := 0
		for chosen > int(count[digit]) {
			chosen -= int(count[digit])
			digit++
		}
		limit |= uint32(digit) << shift
		mask |= (1<<bits - 1) << shift
		equal = int(count[digit])
		if shift == 0 {
			return limit, equal, chosen
		}
		if len(memory) >= len(key) {
			m := 0
			for _, k := range key {
				memory[m] = k
				if k&mask == limit {
					m++
				}
			}
			key = memory[:m]
		}
	}
}
