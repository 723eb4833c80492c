package seq

import (
	"fmt"
	"math"
	"os"
	"sort"
	"sync"

	"github.com/sftseq/sftseq/internal/arrowipc"
)

// DefaultCache is the default size of a File's cache of record batches, in bytes.
const DefaultCache = 64 << 20

// File gives random access to the rows of a file on disk, in the file or the stream format. Opening
// a File reads the whole file once and validates every row. Afterwards memory holds only each
// example's length (4 bytes), each record batch's location, checksum and first row (40 bytes), and a
// bounded cache of record batches without ids. A File is safe for concurrent use.
type File struct {
	name          string
	file          *os.File
	spec          *Spec
	batches       *arrowipc.Places
	firstRows     []int64 // index of each batch's first row, followed by the number of rows
	window        Window  // selects the tokens of each sequence
	perRow        int     // examples per row: 2 if the sequences of pairs are separate examples
	lengths       []int32
	longest       struct{ row, tokens int }
	edgesPerToken int // result of EdgesPerToken

	mu    sync.Mutex
	cache cache
}

// OpenFile opens the file at path for random access to whole sequences.
func OpenFile(path string) (*File, error) { return OpenWindow(path, Window{}) }

// OpenWindow opens the file at path for random access to the tokens in the window of each sequence.
func OpenWindow(path string, window Window) (*File, error) {
	r, err := Open(path)
	if err != nil {
		return nil, err
	}
	return openRandom(r, window, 1)
}

// openRandom returns a File for the source of r, and reads this source to its end. Before the call, r
// must have read only the schema.
func openRandom(r *Reader, window Window, perRow int) (*File, error) {
	file, ok := r.closer.(*os.File)
	records, isReader := r.records.(*arrowipc.Reader)
	if !ok || !isReader {
		return nil, fmt.Errorf("%s: random access needs a file", r.name)
	}
	if err := window.check(r.spec); err != nil {
		file.Close()
		return nil, fmt.Errorf("%s: %w", r.name, err)
	}
	f := &File{name: r.name, file: file, spec: r.spec, batches: records.Places(), window: window, perRow: perRow,
		cache: newCache(DefaultCache)}
	if err := f.scan(r); err != nil {
		file.Close()
		return nil, err
	}
	return f, nil
}

// scan reads all rows and records their lengths and the index of each batch's first row.
func (f *File) scan(r *Reader) error {
	for rows, err := range r.All() {
		if err != nil {
			return err
		}
		rows.window = f.window
		f.firstRows = append(f.firstRows, rows.First())
		for i := range rows.Len() {
			if n := rows.longest(i); n > f.longest.tokens {
				f.longest.row, f.longest.tokens = len(f.lengths)/f.perRow, n
			}
			if rows.edges != nil {
				n := rows.length(0, i)
				distinct := min(rows.edgeCount(i), n*n) // n tokens have at most n² distinct edges
				f.edgesPerToken = max(f.edgesPerToken, (distinct+n-1)/n)
			}
			if f.perRow == 1 {
				f.lengths = append(f.lengths, int32(min(rows.Length(i), math.MaxInt32)))
				continue
			}
			for column := range rows.tokens {
				f.lengths = append(f.lengths, int32(rows.length(column, i)))
			}
		}
		if len(f.lengths) > math.MaxUint32 {
			return fmt.Errorf("%s: expected at most %d examples, found more", f.name, uint32(math.MaxUint32))
		}
	}
	f.firstRows = append(f.firstRows, int64(len(f.lengths)/f.perRow))
	return nil
}

// SetCache sets the size of the cache in bytes, and empties the cache.
func (f *File) SetCache(bytes int64) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.cache = newCache(bytes)
}

// Name returns the path given when the file was opened.
func (f *File) Name() string { return f.name }

// Spec returns the specification of the file's sequences.
func (f *File) Spec() *Spec { return f.spec }

// Len returns the number of examples. An example is a row or, after OpenSequences, a sequence.
func (f *File) Len() int { return len(f.lengths) }

// Lengths returns the number of tokens of each example. A pair counts the tokens of both sequences.
// The caller must not change the slice.
func (f *File) Lengths() []int32 { return f.lengths }

// Longest returns the index of the first row with a sequence of the maximum length, and this length in
// tokens. The sequences of a pair count separately.
func (f *File) Longest() (row, tokens int) { return f.longest.row, f.longest.tokens }

// EdgesPerToken returns the maximum over the rows of the number of edges divided by the number of
// tokens, rounded up. A row of n tokens counts at most n² edges, because models sum edges with the
// same source and target.
func (f *File) EdgesPerToken() int { return f.edgesPerToken }

// Example returns a copy of example i, without its id.
func (f *File) Example(i int) (Example, error) {
	if i < 0 || i >= f.Len() {
		return Example{}, fmt.Errorf("%s: example %d: expected an index from 0 to %d", f.name, i, f.Len()-1)
	}
	row := i / f.perRow
	index := sort.Search(f.batches.Len(), func(b int) bool { return f.firstRows[b+1] > int64(row) })
	rows, err := f.rows(index)
	if err != nil {
		return Example{}, fmt.Errorf("%s: record batch %d: %w", f.name, index, err)
	}
	e := rows.Example(row - int(rows.First()))
	if f.perRow == 1 {
		return e, nil
	}
	tokens := [...][]int32{e.A, e.B}[i%f.perRow]
	return Example{Index: uint32(i), A: tokens, Label: NoLabel, ID: e.ID}, nil
}

// rows returns the rows of a record batch, from the cache or the file.
func (f *File) rows(index int) (*Rows, error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if rows := f.cache.get(index); rows != nil {
		return rows, nil
	}
	record, size, err := f.batches.Read(f.file, index)
	if err != nil {
		return nil, err
	}
	rows, err := rowsOf(record, f.spec, f.firstRows[index])
	if err != nil {
		return nil, err
	}
	if rows.ids != nil {
		size = rows.dropIDs()
	}
	rows.window = f.window
	f.cache.put(index, rows, size)
	return rows, nil
}

// Close closes the file.
func (f *File) Close() error { return f.file.Close() }
