package index

import (
	"cmp"
	"container/heap"
	"math"
	"slices"
)

// table stores the current items in blocks. A search reads a snapshot of the blocks. A change first
// copies its block if a snapshot may share the block.
type table struct {
	size      int            // numbers per vector
	at        map[string]int // index of each item by id
	count     int
	blocks    []*block
	snapshots int // number of snapshots so far
	words     statistics
}

// block has blockItems items; the last block may have fewer.
type block struct {
	made    int // number of snapshots before the block was created
	ids     []string
	tokens  [][]int32
	terms   []terms
	norms   []float64
	vectors []float32 // concatenated
}

// blockItems is the number of items of a block.
const blockItems = 1024

func newTable(size int) table {
	return table{size: size, at: map[string]int{}, words: statistics{items: map[uint32]int{}}}
}

// place returns the block of item n and the index in the block.
func (t *table) place(n int) (*block, int) { return t.blocks[n/blockItems], n % blockItems }

func (t *table) item(n int) Item {
	b, i := t.place(n)
	return Item{b.ids[i], b.tokens[i], b.vector(i, t.size), b.terms[i]}
}

func (b *block) vector(i, size int) []float32 { return b.vectors[i*size : (i+1)*size] }

// own returns the block of item n and the index in it, after copying the block if a snapshot may
// share it.
func (t *table) own(n int) (*block, int) {
	b, i := t.place(n)
	if b.made < t.snapshots {
		b = &block{t.snapshots, slices.Clone(b.ids), slices.Clone(b.tokens),
			slices.Clone(b.terms), slices.Clone(b.norms), slices.Clone(b.vectors)}
		t.blocks[n/blockItems] = b
	}
	return b, i
}

func (t *table) put(i Item) {
	n, ok := t.at[i.ID]
	if !ok {
		n = t.count
		t.count++
		t.at[i.ID] = n
		if n%blockItems == 0 {
			t.blocks = append(t.blocks, &block{made: t.snapshots})
		}
		b, _ := t.own(n)
		b.ids, b.tokens, b.terms = append(b.ids, i.ID), append(b.tokens, nil), append(b.terms, terms{})
		b.norms = append(b.norms, 0)
		b.vectors = append(b.vectors, make([]float32, t.size)...)
	}
	b, at := t.place(n)
	t.words.count(b.terms[at], -1)
	t.words.count(i.terms, 1)
	t.set(n, i, math.Sqrt(dot(i.Vector, i.Vector)))
}

func (t *table) set(n int, i Item, norm float64) {
	b, at := t.own(n)
	b.ids[at], b.tokens[at], b.terms[at], b.norms[at] = i.ID, i.Tokens, i.terms, norm
	copy(b.vector(at, t.size), i.Vector)
}

// remove removes an item and moves the last item to its place.
func (t *table) remove(id string) {
	n, ok := t.at[id]
	if !ok {
		return
	}
	t.words.count(t.item(n).terms, -1)
	t.count--
	if n < t.count {
		last, i := t.place(t.count)
		t.set(n, t.item(t.count), last.norms[i])
		t.at[last.ids[i]] = n
	}
	delete(t.at, id)
	b, i := t.own(t.count)
	b.tokens[i], b.terms[i] = nil, terms{}
	b.ids, b.tokens, b.terms = b.ids[:i], b.tokens[:i], b.terms[:i]
	b.norms, b.vectors = b.norms[:i], b.vectors[:i*t.size]
	if i == 0 {
		t.blocks = t.blocks[:len(t.blocks)-1]
	}
}

// snapshot returns the current blocks, which later changes do not modify.
func (t *table) snapshot() []*block {
	t.snapshots++
	return slices.Clone(t.blocks)
}

// dot returns the dot product in float64, so that rounding hardly affects the order of hits.
func dot(a, b []float32) float64 {
	s := 0.0
	for i, v := range a {
		s += float64(v) * float64(b[i])
	}
	return s
}

// Hit is an item found by a search.
type Hit struct {
	ID      string
	Cosine  float64
	Lexical float64 // lexical score of [Query], 0 to 1; 0 if its weight in the query is 0
	Tokens  []int32
	score   float64
}

// compare returns a negative number if a comes before b.
func (a Hit) compare(b Hit) int {
	return cmp.Or(cmp.Compare(b.score, a.score), cmp.Compare(a.ID, b.ID))
}

// worst is a heap of the best hits so far, with the worst of them at the root.
type worst []Hit

func (w worst) Len() int           { return len(w) }
func (w worst) Less(i, j int) bool { return w[j].compare(w[i]) < 0 }
func (w worst) Swap(i, j int)      { w[i], w[j] = w[j], w[i] }

// Push and Pop only satisfy heap.Interface: the heap grows by add.
func (w *worst) Push(any) { panic("a heap of hits grows by add") }
func (w *worst) Pop() any { panic("a heap of hits does not shrink") }

// search returns the k best items of the blocks, best first. The parameter in is a function that runs a
// piece of the work; its error ends the search.
func search(blocks []*block, q *scorer, k int, in func(func()) error) ([]Hit, error) {
	items := 0
	for _, b := range blocks {
		items += len(b.ids)
	}
	best := make(worst, 0, max(0, min(k, items)))
	for _, b := range blocks {
		if err := in(func() { best.add(b, q, k) }); err != nil {
			return nil, err
		}
	}
	return best, in(func() { slices.SortFunc(best, Hit.compare) })
}

// scorer scores items for a query.
type scorer struct {
	vector  []float32
	norm    float64
	weight  float64       // weight of the lexical score
	lexical *lexicalQuery // nil if its weight is 0
}

// hit returns item i of a block with its score.
func (q *scorer) hit(b *block, i int) Hit {
	h := Hit{ID: b.ids[i], Tokens: b.tokens[i]}
	if length := q.norm * b.norms[i]; length > 0 { // the cosine of a zero vector is 0
		// Rounding may exceed the range.
		h.Cosine = max(-1, min(1, dot(q.vector, b.vector(i, len(q.vector)))/length))
	}
	if h.score = h.Cosine; q.lexical != nil {
		h.Lexical = q.lexical.score(b.terms[i])
		h.score = (1-q.weight)*h.Cosine + q.weight*h.Lexical
	}
	return h
}

// add adds a block's items and keeps the k best hits.
func (w *worst) add(b *block, q *scorer, k int) {
	for i := range b.ids {
		h := q.hit(b, i)
		if len(*w) < k {
			*w = append(*w, h)
			heap.Fix(w, len(*w)-1) // heap.Push would copy each hit into an interface
		} else if k > 0 && h.compare((*w)[0]) < 0 {
			(*w)[0] = h
			heap.Fix(w, 0)
		}
	}
}
