package index

import (
	"container/heap"
	"context"
	"math"
	"slices"
)

// table is what is in the index now.
type table struct {
	size    int
	at      map[string]int
	ids     []string
	tokens  [][]int32
	norms   []float64
	vectors []float32 // one behind the other
}

func newTable(size int) table { return table{size: size, at: map[string]int{}} }

func (t *table) vector(n int) []float32 { return t.vectors[n*t.size : (n+1)*t.size] }

func (t *table) put(i Item) {
	n, ok := t.at[i.ID]
	if !ok {
		n = len(t.ids)
		t.at[i.ID] = n
		t.ids = append(t.ids, i.ID)
		t.tokens = append(t.tokens, nil)
		t.norms = append(t.norms, 0)
		t.vectors = append(t.vectors, make([]float32, t.size)...)
	}
	t.tokens[n], t.norms[n] = i.Tokens, math.Sqrt(dot(i.Vector, i.Vector))
	copy(t.vector(n), i.Vector)
}

// remove fills the place of an item with the last one.
func (t *table) remove(id string) {
	n, ok := t.at[id]
	if !ok {
		return
	}
	last := len(t.ids) - 1
	copy(t.vector(n), t.vector(last))
	t.ids[n], t.tokens[n], t.norms[n] = t.ids[last], t.tokens[last], t.norms[last]
	t.at[t.ids[n]] = n
	delete(t.at, id)
	t.tokens[last] = nil
	t.ids, t.tokens, t.norms, t.vectors = t.ids[:last], t.tokens[:last], t.norms[:last], t.vectors[:last*t.size]
}

// dot is computed in float64: exact enough that its order means something.
func dot(a, b []float32) float64 {
	s := 0.0
	for i, v := range a {
		s += float64(v) * float64(b[i])
	}
	return s
}

// Hit is an item that was found.
type Hit struct {
	ID     string
	Cosine float64
	Tokens []int32
}

// better reports whether a comes before b.
func (a Hit) better(b Hit) bool {
	if a.Cosine != b.Cosine {
		return a.Cosine > b.Cosine
	}
	return a.ID < b.ID
}

// worst is a heap with the worst hit on top.
type worst []Hit

func (w worst) Len() int           { return len(w) }
func (w worst) Less(i, j int) bool { return w[j].better(w[i]) }
func (w worst) Swap(i, j int)      { w[i], w[j] = w[j], w[i] }
func (w *worst) Push(h any)        { *w = append(*w, h.(Hit)) }
func (w *worst) Pop() any {
	h := (*w)[len(*w)-1]
	*w = (*w)[:len(*w)-1]
	return h
}

// lookEvery is after how many items a search sees whether it is wanted.
const lookEvery = 1024

func (t *table) search(ctx context.Context, vector []float32, k int) ([]Hit, error) {
	norm := math.Sqrt(dot(vector, vector))
	best := worst{}
	for n, id := range t.ids {
		if n%lookEvery == 0 && ctx.Err() != nil {
			return nil, context.Cause(ctx)
		}
		cosine := 0.0 // of a vector without direction
		if length := norm * t.norms[n]; length > 0 {
			cosine = max(-1, min(1, dot(vector, t.vector(n))/length)) // it may be rounded beyond
		}
		h := Hit{id, cosine, t.tokens[n]}
		if len(best) < k {
			heap.Push(&best, h)
		} else if k > 0 && h.better(best[0]) {
			best[0] = h
			heap.Fix(&best, 0)
		}
	}
	slices.SortFunc(best, func(a, b Hit) int {
		if a.better(b) {
			return -1
		}
		return 1
	})
	return best, nil
}
