package hftokenizer

import (
	"container/heap"
	"fmt"
	"sync"
	"unicode/utf8"
)

// bpe implements byte pair encoding. It merges pairs of tokens, starting from single characters, in
// the order of their ranks.
type bpe struct {
	vocabulary
	merges       map[pair]merge
	unknown      int32 // id of the unknown token; -1 skips unknown characters
	fuseUnknown  bool  // consecutive unknown characters become one token
	byteFallback bool  // characters outside the vocabulary become their bytes
	ignoreMerges bool  // a word in the vocabulary is one token, without merges
	scratch      sync.Pool
}

type pair struct{ left, right int32 }

type merge struct{ rank, id int32 }

// symbol is a token in the linked list of a word's tokens; index -1 ends the list.
type symbol struct {
	id             int32
	previous, next int32
	removed        bool // merged into the previous symbol
}

// join is a candidate pair to merge. at is the index of its left symbol.
type join struct {
	merge
	at int32
}

// joins is a heap with the smallest rank on top; pairs of equal rank are ordered by position.
type joins []join

func (j joins) Len() int      { return len(j) }
func (j joins) Swap(a, b int) { j[a], j[b] = j[b], j[a] }
func (j joins) Less(a, b int) bool {
	return j[a].rank < j[b].rank || j[a].rank == j[b].rank && j[a].at < j[b].at
}
func (j *joins) Push(x any) { *j = append(*j, x.(join)) }
func (j *joins) Pop() any {
	last := (*j)[len(*j)-1]
	*j = (*j)[:len(*j)-1]
	return last
}

// wordScratch is the scratch memory for encoding a word.
type wordScratch struct {
	ids     []int32
	symbols []symbol
	joins   joins
}

func (m *bpe) encode(ids []int32, word string) ([]int32, error) {
	if m.ignoreMerges {
		if id, ok := m.vocabulary[word]; ok {
			return append(ids, id), nil
		}
	}
	w, _ := m.scratch.Get().(*wordScratch)
	if w == nil {
		w = new(wordScratch)
	}
	defer m.scratch.Put(w)
	m.characters(w, word)
	w.symbols, w.joins = w.symbols[:0], w.joins[:0]
	for i, id := range w.ids {
		w.symbols = append(w.symbols, symbol{id: id, previous: int32(i) - 1, next: int32(i) + 1})
	}
	if n := len(w.symbols); n > 0 {
		w.symbols[n-1].next = -1
	}
	for i := range len(w.symbols) - 1 {
		if found, ok := m.merges[pair{w.ids[i], w.ids[i+1]}]; ok {
			w.joins = append(w.joins, join{found, int32(i)})
		}
	}
	heap.Init(&w.joins)
	for len(w.joins) > 0 {
		m.join(w, heap.Pop(&w.joins).(join))
	}
	for _, s := range w.symbols {
		if !s.removed {
			ids = append(ids, s.id)
		}
	}
	return ids, nil
}

// join merges the symbol at top.at with the next symbol, unless they have changed since the pair was added
// and no longer become the token top.id.
func (m *bpe) join(w *wordScratch, top join) {
	left := &w.symbols[top.at]
	if left.removed || left.next < 0 {
		return
	}
	right := &w.symbols[left.next]
	// Like Hugging Face's library, merge a different pair at this position as well if it becomes the same token.
	if found, ok := m.merges[pair{left.id, right.id}]; !ok || found.id != top.id {
		return
	}
	left.id, left.next, right.removed = top.id, right.next, true
	if left.next >= 0 {
		w.symbols[left.next].previous = top.at
		if found, ok := m.merges[pair{left.id, w.symbols[left.next].id}]; ok {
			heap.Push(&w.joins, join{found, top.at})
		}
	}
	if left.previous >= 0 {
		if found, ok := m.merges[pair{w.symbols[left.previous].id, left.id}]; ok {
			heap.Push(&w.joins, join{found, left.previous})
		}
	}
}

// characters sets w.ids to the ids of a word's characters.
func (m *bpe) characters(w *wordScratch, word string) {
	w.ids = w.ids[:0]
	pending := false // whether an unknown character has not been appended yet
	for at := 0; at < len(word); {
		_, n := utf8.DecodeRuneInString(word[at:])
		char := word[at : at+n]
		at += n
		if id, ok := m.vocabulary[char]; ok {
			if pending {
				w.ids, pending = append(w.ids, m.unknown), false
			}
			w.ids = append(w.ids, id)
			continue
		}
		if m.byteFallback {
			// Like Hugging Face's library, append the bytes before a pending unknown character.
			var ok bool
			if w.ids, ok = m.vocabulary.bytes(w.ids, char); ok {
				continue
			}
		}
		if m.unknown >= 0 {
			if pending && !m.fuseUnknown {
				w.ids = append(w.ids, m.unknown)
			}
			pending = true
		}
	}
	if pending {
		w.ids = append(w.ids, m.unknown)
	}
}

// newBPE returns a model that merges the given pairs of tokens. The rank of a pair is its index in merges.
func newBPE(v vocabulary, merges [][2]string) (*bpe, error) {
	m := &bpe{vocabulary: v, merges: make(map[pair]merge, len(merges)), unknown: -1}
	for rank, tokens := range merges {
		left, okLeft := v[tokens[0]]
		right, okRight := v[tokens[1]]
		merged, ok := v[tokens[0]+tokens[1]]
		if !okLeft || !okRight || !ok {
			return nil, fmt.Errorf("merges[%d]: expected two tokens whose concatenation is a token, found %.40q and %.40q",
				rank, tokens[0], tokens[1])
		}
		m.merges[pair{left, right}] = merge{int32(rank), merged}
	}
	return m, nil
}
