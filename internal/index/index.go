// Package index keeps embeddings of sequences for search by cosine, exactly, in a
// file that survives a power cut.
//
// The file is an Arrow IPC stream that only grows: a record batch for each group
// of changes, synchronised before any of them is acknowledged, and behind the last
// group a mark that says so. A last group that a power cut has torn is dropped at the
// next start, and kept in a file beside; damage in what was acknowledged is an error.
// What is superseded is left out when the file is written anew, beside the old one,
// which it replaces as a whole.
package index

import (
	"errors"
	"fmt"
	"io"
	"math"
	"sync"

	"github.com/gofrs/flock"
)

// Options describe the contents of an index.
type Options struct {
	Model     string // names the model that computed the vectors
	Tokenizer string // names what made the tokens: those of another mean something else
	Size      int    // numbers of a vector
	Units     string // units of the lexical score: ngram.Words for text stored as bytes, or ngram.Tokens, the default
	// Embed computes the vectors again if the index belongs to another model with the same
	// tokenizer; nil makes that an error. Progress receives the number of finished vectors.
	Embed    func(tokens [][]int32) ([][]float32, error)
	Progress func(done, total int)
	// Failed, unless nil, is called once when the disk has failed; no change is made
	// afterwards.
	Failed func(error)
}

// Item is a sequence of the index.
type Item struct {
	ID     string
	Tokens []int32
	Vector []float32
	terms  terms // terms of Tokens
}

// Index is open for one program at a time. It is safe for concurrent use.
type Index struct {
	path    string
	options Options
	lock    *flock.Flock
	dropped int64
	kept    string // the file that has what was dropped

	mu    sync.RWMutex // guards the fields in memory
	items table
	size  int64 // bytes of the file without its mark

	// What the committer alone uses.
	file     file
	rows     int // rows of the file, superseded ones included
	splitter *splitter

	queue  sync.Mutex // guards the fields below
	wake   chan struct{}
	ops    []*op
	closed bool
	failed error // no group can be written any more
	done   chan struct{}
}

// file is what the committer does with one.
type file interface {
	io.WriterAt
	Sync() error
	Truncate(size int64) error
	io.Closer
}

// errClosed is for what comes after Close.
var errClosed = errors.New("it is closed")

// Open opens an index, or makes one where there is no file.
func Open(path string, o Options) (*Index, error) {
	path, err := realPath(path)
	if err != nil {
		return nil, err
	}
	x := &Index{path: path, options: o, lock: flock.New(path + ".lock"), items: newTable(o.Size),
		splitter: newSplitter(o.Units), wake: make(chan struct{}, 1), done: make(chan struct{})}
	ok, err := x.lock.TryLock()
	if err != nil {
		return nil, fmt.Errorf("%s: %w", path, err)
	}
	if !ok {
		return nil, fmt.Errorf("%s: another program has this index open", path)
	}
	if err := x.load(); err != nil {
		x.lock.Unlock()
		return nil, fmt.Errorf("%s: %w", path, err)
	}
	go x.commit()
	return x, nil
}

// Dropped is the bytes of a torn last group that Open has dropped, and the file in which
// they are kept, "" where they were only zeros.
func (x *Index) Dropped() (bytes int64, kept string) { return x.dropped, x.kept }

// Len is the number of items.
func (x *Index) Len() int {
	x.mu.RLock()
	defer x.mu.RUnlock()
	return x.items.count
}

// Size is the number of bytes of the file, without its mark.
func (x *Index) Size() int64 {
	x.mu.RLock()
	defer x.mu.RUnlock()
	return x.size
}

// Failure is why no change is made any more, or nil.
func (x *Index) Failure() error {
	x.queue.Lock()
	defer x.queue.Unlock()
	return x.failed
}

// Add puts an item into the index, in place of one with its id, after all that was
// asked for before. When wait returns nil the item is on the disk; it may be called
// again.
func (x *Index) Add(i Item) (wait func() error) {
	o := &op{add: &i, done: make(chan error, 1)}
	if len(i.Vector) != x.options.Size {
		o.done <- fmt.Errorf("item %q: expected a vector of %d, found %d", i.ID, x.options.Size, len(i.Vector))
	} else {
		x.ask(o)
	}
	return sync.OnceValue(func() error { return <-o.done })
}

// Remove takes items out and returns the ids that were not there.
func (x *Index) Remove(ids []string) (unknown []string, err error) {
	o := &op{remove: ids, done: make(chan error, 1)}
	x.ask(o)
	err = <-o.done
	return o.unknown, err
}

// Query is what a search compares items with.
type Query struct {
	Vector []float32
	Tokens []int32
	// Lexical is the weight w of the lexical score in (1 − w)·cosine + w·lexical, from 0 to 1. With Q the distinct
	// words of the query, of N items n_t that have word t, f_t how often the item has it, and its length |d| in words,
	// whose mean is l, the lexical score is BM25 divided by its least upper bound:
	//
	//	lexical = Σ_{t∈Q} idf_t · f_t·2.2 / (f_t + 1.2·(0.25 + 0.75·|d|/l)) / Σ_{t∈Q} idf_t·2.2
	//	idf_t = ln(1 + (N − n_t + 0.5) / (n_t + 0.5))
	Lexical float64
}

// Search returns the k items with the largest score for a query, the largest first, of
// equal ones the smaller id, as the index is when it begins: changes do not wait for it.
// It is done by in, a piece of at most [blockItems] items after the other; an error of in
// ends it.
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

// Close writes what was asked for before.
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
		err = x.file.Sync() // the mark of the last group, too
	}
	return errors.Join(err, x.file.Close(), x.lock.Unlock())
}
