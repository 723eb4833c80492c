package hftokenizer

import (
	"cmp"
	"slices"
	"sort"
)

// prefixes finds all words of a list that are prefixes of a text.
type prefixes struct {
	words []string // sorted
	ids   []int32
	first [257]int32 // the words that begin with byte b have the indices first[b] … first[b+1]−1
}

// newPrefixes returns prefixes for nonempty words. Among equal words the last one counts.
func newPrefixes(words []string, ids []int32) prefixes {
	order := make([]int, len(words))
	for i := range order {
		order[i] = i
	}
	slices.SortFunc(order, func(a, b int) int { return cmp.Or(cmp.Compare(words[a], words[b]), cmp.Compare(b, a)) })
	p := prefixes{words: make([]string, 0, len(words)), ids: make([]int32, 0, len(words))}
	for _, i := range order {
		if n := len(p.words); n > 0 && p.words[n-1] == words[i] {
			continue
		}
		p.words, p.ids = append(p.words, words[i]), append(p.ids, ids[i])
	}
	for b := range 257 {
		p.first[b] = int32(sort.Search(len(p.words), func(i int) bool { return int(p.words[i][0]) >= b }))
	}
	return p
}

// each calls visit for every word that is a prefix of text, shortest first.
func (p *prefixes) each(text string, visit func(length int, id int32)) {
	if text == "" {
		return
	}
	lo, hi := int(p.first[text[0]]), int(p.first[int(text[0])+1])
	for n := 1; lo < hi; n++ {
		if len(p.words[lo]) == n {
			visit(n, p.ids[lo])
			lo++
		}
		if n == len(text) {
			return
		}
		// Words lo … hi−1 begin with the first n bytes of the text and are longer.
		c, words := text[n], p.words[lo:hi]
		from := sort.Search(len(words), func(i int) bool { return words[i][n] >= c })
		hi = lo + from + sort.Search(len(words)-from, func(i int) bool { return words[from+i][n] > c })
		lo += from
	}
}
