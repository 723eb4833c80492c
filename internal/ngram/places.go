package ngram

// Unit is a unit of a sequence: its hash H(u), and the range of its tokens, [From, To).
type Unit struct {
	Hash     uint64
	From, To int
}

// Units appends the units of a sequence to out.
func (x *Extractor) Units(tokens []int32, out []Unit) []Unit {
	x.split(tokens)
	for i, h := range x.units {
		out = append(out, Unit{h, x.start(i), x.end(i)})
	}
	return out
}

// start returns the index of the first token of unit i, after a call of [Extractor.split].
func (x *Extractor) start(i int) int {
	if x.options.Units == Words {
		return int(x.starts[i])
	}
	return i
}

// end returns the index after the last token of unit i, after a call of [Extractor.split].
func (x *Extractor) end(i int) int {
	if x.options.Units == Words {
		return int(x.ends[i])
	}
	return i + 1
}

// HashOf returns the hash of the n-gram that consists of the given units, at most 8, on side 0 or 1.
func HashOf(units []Unit, side int) uint64 {
	h := uint64(0)
	for _, u := range units {
		h = h*Multiplier + u.Hash
	}
	return mix(h + begins[side][len(units)])
}

// begins holds begin(n, 0, side) for each side and n.
var begins = func() (out [2][MaxN + 1]uint64) {
	for side := range out {
		for n := range out[side] {
			out[side][n] = begin(n, 0, side)
		}
	}
	return out
}()

// Located calls visit for each n-gram of a side, in the order of [Extractor.Hashes], with its hash
// and the range of its tokens.
func (x *Extractor) Located(tokens []int32, side int, visit func(hash uint64, from, to int)) {
	x.hashes = x.hashes[:0]
	x.side(tokens, side)
	next := 0
	each := func(minN, maxN int, start, end func(i int) int) {
		for i := range x.units {
			for n := minN; n <= min(maxN, len(x.units)-i); n++ {
				visit(x.hashes[next], start(i), end(i+n-1))
				next++
			}
		}
	}
	o := &x.options
	if o.MaxWords > 0 {
		x.split(tokens)
	}
	each(o.MinN, o.MaxN, x.start, x.end)
	if o.MaxWords > 0 {
		x.splitWords(tokens)
		each(1, o.MaxWords, func(i int) int { return int(x.starts[i]) }, func(i int) int { return int(x.ends[i]) })
	}
}
