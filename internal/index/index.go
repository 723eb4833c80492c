// Package index keeps embeddings of sequences for exact search by cosine similarity and BM25, in a
// file that survives power cuts.
//
// The file is an append-only Arrow IPC stream with one or more record batches per group of changes. A
// group is synced before any of its changes is acknowledged, and then followed by a mark. If a power
// cut tears the last group, the next start moves its bytes from the first torn record batch on to a
// separate file. Damage in acknowledged groups is an error. From time to time the file is replaced by a
// new file that has only the current items.
package index

import (
	"errors"
	"fmt"
	"io"
	"math"
	"sync"

	"github.com/gofrs/flock"

	"github.com/sftseq/sftseq/internal/atomicfile"
)

// Options describe the contents of an index and its callbacks.
type Options struct {
	Model     string // identifies the model that computed the vectors
	Tokenizer string // identifies the tokenizer that produced the tokens
	Size      int    // numbers per vector
	Units     string // units of the lexical score: ngram.Words for text stored as bytes, or ngram.Tokens, the default
	// Embed recomputes the vectors if the index belongs to another model with the same tokenizer. If
	// Embed is nil, Open returns an error for such an index. Progress is called with the numbers of
	// finished and of all vectors; it may be nil.
	Embed    func(tokens [][]int32) ([][]float32, error)
	Progress func(done, total int)
	// Failed, unless nil, is called once when a disk error has stopped all changes.
	Failed func(error)
}

// Item is a sequence in the index.
type Item struct {
	ID     string
	Tokens []int32
	Vector []float32
	terms  terms // terms of Tokens
}

// Index is an index of embeddings. Only one process at a time can open it. It is safe for
// concurrent use.
type Index struct {
	path    string
	options Options
	lock    *flock.Flock
	dropped int64
	kept    string // file with the dropped bytes

	mu    sync.RWMutex // guards items and size
	items table
	size  int64 // bytes of the file without its mark

	// Fields that only the committer uses while it runs.
	file     file
	rows     int // rows in the file, including superseded rows
	splitter *splitter

	queue  sync.Mutex // guards ops, closed and failed
	wake   chan struct{}
	ops    []*op
	closed bool
	failed error // disk error that prevents further changes
	done   chan struct{}
}

// file is the part of os.File that the committer uses.
type file interface {
	io.WriterAt
	Sync() error
	Truncate(size int64) error
	io.Closer
}

// errClosed is the error of changes after Close.
var errClosed = errors.New("the index is closed")

// Open opens an index, or creates it if the file does not exist.
func Open(path string, o Options) (*Index, error) {
	given := path
	path, err := realPath(given)
	if err != nil {
		return nil, fmt.Errorf("%s: opening the index: %w", given, atomicfile.Cause(err))
	}
	lock, err := lockIndex(path)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", path, err)
	}
	x := &Index{path: path, options: o, lock: lock, items: newTable(o.Size),
		splitter: newSplitter(o.Units), wake: make(chan struct{}, 1), done: make(chan struct{})}
	if err := x.load(); err != nil {
		unlock(x.lock)
		return nil, fmt.Errorf("%s: %w", path, err)
	}
	go x.commit()
	return x, nil
}

// Dropped returns the number of bytes of a torn last group that Open has dropped, and the file with
// these bytes, or "" if they were only zeros.
func (x *Index) Dropped() (bytes int64, kept string) { return x.dropped, x.kept }

// Len returns the number of items.
func (x *Index) Len() int {
	x.mu.RLock()
	defer x.mu.RUnlock()
	return x.items.count
}

// Size returns the number of bytes of the file without its mark.
func (x *Index) Size() int64 {
	x.mu.RLock()
	defer x.mu.RUnlock()
	return x.size
}

// Failure returns the error that prevents further changes, or nil.
func (x *Index) Failure() error {
	x.queue.Lock()
	defer x.queue.Unlock()
	return x.failed
}

// Add adds an item after all earlier changes, or replaces the item with the same id. wait blocks
// until the item is on disk or cannot be added. It may be called several times.
func (x *Index) Add(i Item) (wait func() error) {
	o := &op{add: &i, done: make(chan error, 1)}
	if len(i.Vector) != x.options.Size {
		o.done <- fmt.Errorf("item %q: expected a vector of %d numbers, found %d", i.ID, x.options.Size, len(i.Vector))
	} else {
		x.enqueue(o)
	}
	return sync.OnceValue(func() error { return <-o.done })
}

// Remove removes items and returns the unknown ids.
func (x *Index) Remove(ids []string) (unknown []string, err error) {
	o := &op{remove: ids, done: make(chan error, 1)}
	x.enqueue(o)
	err = <-o.done
	return o.unknown, err
}

// Query is the input of a search.
type Query struct {
	Vector []float32
	Tokens []int32
	// Lexical is the weight w of the lexical score in (1 − w)·cosine + w·lexical, from 0 to 1. The
	// lexical score is BM25 divided by its least upper bound. With Q the distinct words of the
	// query, N the number of items, n_t the number of items that have word t, f_t the count of t in
	// the item, |d| the item's number of words and l its mean over all items, but at least 1:
	//
	//	lexical = Σ_{t∈Q} idf_t · f_t·2.2 / (f_t + 1.2·(0.25 + 0.75·|d|/l)) / Σ_{t∈Q} idf_t·2.2
	//	idf_t = ln(1 + (N − n_t + 0.5) / (n_t + 0.5))
	Lexical float64
}

// Search returns the k items with the largest scores for a query, in descending order; equal scores
// are ordered by id. It searches a snapshot taken at its start and does not block changes. The
// parameter in is a function that runs a piece of the work, for example when a CPU is free. Each piece
// scores at most [blockItems] items; the last piece sorts the hits. An error of in ends the search.
func (x *Index) Search(query Query, k int, in func(piece func()) error) ([]Hit, error) {
	q := &scorer{vector: query.Vector, norm: math.Sqrt(dot(query.Vector, query.Vector)), weight: query.Lexical}
	var words terms
	if q.weight > 0 {
		words = newSplitter(x.options.Units).split(query.Tokens)
	}
	x.mu.Lock()
	blocks := x.items.snapshot()
	if q.weight > 0 {
		q.lexical = x.items.query(words)
	}
	x.mu.Unlock()
	return search(blocks, q, k, in)
}

// Close completes all earlier changes and closes the file.
func (x *Index) Close() (err error) {
	x.queue.Lock()
	closed := x.closed
	x.closed = true
	x.queue.Unlock()
	if closed {
		return nil
	}
	x.signal()
	<-x.done
	if x.Failure() == nil {
		err = x.file.Sync() // the last group's mark is not synced yet
	}
	return errors.Join(err, x.file.Close(), unlock(x.lock))
}
