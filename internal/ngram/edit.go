package ngram

// Margins returns how many tokens of an unchanged beginning and of an unchanged end of a sequence an
// edit between them has to include. The n-grams of an edited sequence are those before the edit,
// without those of the old part and with those of the new part, if each part includes the margins.
func (o *Options) Margins(beginning, end []int32) (before, after int) {
	last := func(i int) int32 { return beginning[len(beginning)-1-i] }
	next := func(i int) int32 { return end[i] }
	return o.margin(len(beginning), last), o.margin(len(end), next)
}

// margin returns the number of tokens that an n-gram with a changed token can contain, of n
// unchanged tokens with increasing distance to the edit. A word at the edit may change as a whole. A
// margin of words ends at white space, which is never a part of a unit.
func (o *Options) margin(n int, token func(i int) int32) int {
	words := o.MaxWords
	if o.Units == Words {
		words = o.MaxN
	}
	margin := min(n, o.MaxN)
	if words == 0 {
		return margin
	}
	passed, inside := 0, false // runs of characters between white space
	for i := range n {
		white := isWhite(token(i))
		if white && passed > words && i >= margin {
			return i
		}
		if !white && !inside {
			passed++
		}
		inside = !white
	}
	return n
}

// isWhite reports whether a token is an ASCII byte of white space.
func isWhite(token int32) bool {
	return token >= 1 && int(token) <= len(ascii) && ascii[token-1] == space
}
