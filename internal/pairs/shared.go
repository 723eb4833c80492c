package pairs

import (
	"cmp"
	"slices"
)

// Shared is an n-gram of the first view, such as a word, that both texts have.
type Shared struct {
	Places       [2][][2]int // first occurrences in each text, as ranges of tokens: [from, to)
	Contribution float64     // term of the n-gram in the cosine of the texts
}

// Shared returns up to limit n-grams of the first view that both texts have, in descending order of
// their contribution to the cosine. N-grams that contribute 0 are omitted. Shared returns at most
// maxPlaces occurrences of an n-gram per text.
func (p *Predictor) Shared(a, b []int32, limit, maxPlaces int) []Shared {
	x := p.compare
	x.reader.read(a, &x.a)
	x.reader.read(b, &x.b)
	ab, bb := x.a.bags[0], x.b.bags[0]
	norm := x.norm(0, ab) * x.norm(0, bb)
	x.shared.clear(len(bb))
	for i, g := range bb {
		x.shared.put(g.slot, uint32(i))
	}
	var out []Shared
	number := map[uint32]int{}
	for _, g := range ab {
		e := x.shared.find(g.slot)
		if e.generation != x.shared.generation {
			continue
		}
		idf := x.idf(0, g.slot, 2)
		if term := x.term(g, bb[e.number], idf) / norm; term > 0 {
			number[g.slot] = len(out)
			out = append(out, Shared{Contribution: term})
		}
	}
	for side, tokens := range [][]int32{a, b} {
		x.reader.eachPlace(tokens, func(slot uint32, from, to int) {
			if i, ok := number[slot]; ok && len(out[i].Places[side]) < maxPlaces {
				out[i].Places[side] = append(out[i].Places[side], [2]int{from, to})
			}
		})
	}
	slices.SortStableFunc(out, func(a, b Shared) int { return cmp.Compare(b.Contribution, a.Contribution) })
	return out[:min(limit, len(out))]
}

// eachPlace calls visit for each n-gram of a text's first view, with its slot and its range of
// tokens.
func (r *reader) eachPlace(tokens []int32, visit func(slot uint32, from, to int)) {
	v := r.views[0]
	r.unitsOf(v.units, tokens)
	for i := 0; i+v.n <= len(r.units); i++ {
		visit(r.slot(i, v.n), r.units[i].From, r.units[i+v.n-1].To)
	}
}
