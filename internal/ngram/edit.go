package ngram

// Margins returns the numbers of unchanged tokens before and after an edit that may share n-grams
// with the edited tokens. beginning and end are the unchanged tokens before and after the edit. To update
// the n-grams of a sequence, remove the n-grams of the old tokens with both margins, and add the
// n-grams of the new tokens with both margins.
func (o *Options) Margins(beginning, end []int32) (before, after int) {
	last := func(i int) int32 { return beginning[len(beginning)-1-i] }
	next := func(i int) int32 { return end[i] }
	return o.margin(len(beginning), last), o.margin(len(end), next)
}

// margin returns an upper bound of the number of unchanged tokens on one side of an edit that share an
// n-gram with a changed token. There are n unchanged tokens, and token(i) is the one at distance i from
// the edit, with i from 0 to n − 1. A word at the edit may change as a whole. The margin for n-grams of
// words ends at white space, which is not part of a unit.
func (o *Options) margin(n int, token func(i int) int32) int {
	words := o.MaxWords
	if o.Units == Words {
		words = o.MaxN
	}
	margin := min(n, o.MaxN)
	if words == 0 {
		return margin
	}
	passed, inside := 0, false // number of runs without white space, and whether the last run continues
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

// isWhite reports whether a token of a byte is ASCII white space.
func isWhite(token int32) bool {
	return token >= 1 && int(token) <= len(ascii) && ascii[token-1] == space
}
