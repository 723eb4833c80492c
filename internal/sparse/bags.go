package sparse

import (
	"math"
	"slices"
)

// None is the row number that marks a token and group without a table row.
const None = math.MaxUint32

// Bags holds the table rows that the tokens of a batch read, in the layout of tensor.EmbedBag and
// its backward pass.
type Bags struct {
	Rows          []uint32  // rows that the batch uses, ascending
	Row           []int32   // index in Rows for each token and group, or −1
	Scale         []float32 // 1/√(1 + n) for each token, where n is the number of its rows
	Offset, Token []int32   // row i of Rows is read by the tokens Token[Offset[i]] … Token[Offset[i+1]−1]

	keys, sorted []uint64 // table row in the high bits, index in Row in the low bits
	counts       [1 << digitBits]int32
}

// Row numbers are sorted by two digits, so they must be below maxRow.
const (
	digitBits = 12
	maxRow    = 1 << (2 * digitBits)
)

// Pack sets the bags from the rows of the tokens. rows holds, for each token, one entry per group: a
// row number below 2²⁴, or [None].
func (b *Bags) Pack(rows []uint32, groups int) {
	tokens := len(rows) / groups
	b.Rows, b.Offset, b.Token, b.keys = b.Rows[:0], b.Offset[:0], b.Token[:0], b.keys[:0]
	b.Row, b.Scale = slices.Grow(b.Row[:0], len(rows))[:len(rows)], slices.Grow(b.Scale[:0], tokens)[:tokens]
	for t := range tokens {
		n := 1
		for g, r := range rows[t*groups : (t+1)*groups] {
			index := t*groups + g
			if r == None {
				b.Row[index] = -1
				continue
			}
			b.keys = append(b.keys, uint64(r)<<32|uint64(index))
			n++
		}
		b.Scale[t] = float32(1 / math.Sqrt(float64(n)))
	}
	b.sort()
	for i, key := range b.keys {
		if r := uint32(key >> 32); i == 0 || r != b.Rows[len(b.Rows)-1] {
			b.Rows, b.Offset = append(b.Rows, r), append(b.Offset, int32(i))
		}
		index := int(uint32(key))
		b.Row[index] = int32(len(b.Rows) - 1)
		b.Token = append(b.Token, int32(index/groups))
	}
	b.Offset = append(b.Offset, int32(len(b.Token)))
}

// sort sorts the keys by table row. It is stable.
func (b *Bags) sort() {
	b.sorted = slices.Grow(b.sorted[:0], len(b.keys))[:len(b.keys)]
	for _, shift := range []int{32, 32 + digitBits} {
		clear(b.counts[:])
		for _, key := range b.keys {
			b.counts[key>>shift&(1<<digitBits-1)]++
		}
		start := int32(0)
		for i, n := range b.counts {
			b.counts[i] = start
			start += n
		}
		for _, key := range b.keys {
			n := &b.counts[key>>shift&(1<<digitBits-1)]
			b.sorted[*n] = key
			*n++
		}
		b.keys, b.sorted = b.sorted, b.keys
	}
}
