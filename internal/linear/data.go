package linear

import (
	"context"
	"errors"
	"math/rand/v2"
	"runtime"
	"sync"
	"sync/atomic"

	"github.com/sftseq/sftseq/internal/ngram"
	"github.com/sftseq/sftseq/internal/parallel"
	"github.com/sftseq/sftseq/seq"
)

// Rows provides the rows of a split, such as a [seq.File]. Implementations must be safe for concurrent
// use.
type Rows interface {
	Lengths() []int32 // number of tokens of each row
	Example(i int) (seq.Example, error)
}

// row holds the features of a row and its label, labels or numbers.
type row struct {
	features []uint32
	label    int32     // class of the row
	labels   []int32   // labels of a multi-label row, ascending
	numbers  []float32 // standardised targets of a regression
}

// bounds limits the number of rows that are read together and the memory for features, and sets the size
// from which threads share the columns of a row.
type bounds struct {
	tokens, rows int   // limits of a block, which one thread reads
	group        int64 // maximum n-grams of a group of blocks, whose rows are shuffled together
	cached       int64 // maximum features kept in memory between passes
	shared       int   // minimum number of weights of a row for which threads share its columns
}

// defaultBounds allows groups of 256 MiB and a cache of 512 MiB.
var defaultBounds = bounds{1 << 18, 1 << 12, 1 << 26, 1 << 27, minShared}

// block is a range of consecutive rows.
type block struct{ from, to int }

// data holds the labelled rows of a split as features. It skips rows without targets.
type data struct {
	rows       Rows
	config     *Config
	vocabulary *ngram.Vocabulary
	blocks     []block
	nGrams     []int64 // maximum n-grams of each block, from its number of tokens
	cached     [][]row
	bounds     bounds
	cacheRoom  atomic.Int64 // number of features that may still be cached
	workers    int
	reporting  sync.Mutex
	progress   func(rows int)
}

// newData divides the rows of a split into blocks.
func newData(rows Rows, config *Config, o *Options) *data {
	d := &data{rows: rows, config: config, bounds: defaultBounds, workers: o.workers(), progress: o.progress}
	if o.bounds != nil {
		d.bounds = *o.bounds
	}
	d.cacheRoom.Store(d.bounds.cached)
	tokens, from := 0, 0
	lengths := rows.Lengths()
	for i, n := range lengths {
		tokens += int(n)
		if tokens >= d.bounds.tokens || i+1-from >= d.bounds.rows || i+1 == len(lengths) {
			d.blocks = append(d.blocks, block{from, i + 1})
			d.nGrams = append(d.nGrams, int64(tokens)*int64(config.NGrams.Orders()))
			tokens, from = 0, i+1
		}
	}
	d.cached = make([][]row, len(d.blocks))
	return d
}

// labelled reports whether a row has targets for the task.
func (d *data) labelled(e *seq.Example) bool {
	switch d.config.Task {
	case seq.MultiLabel:
		return e.Labels != nil
	case seq.Regression:
		return e.Numbers != nil
	}
	return e.Label >= 0
}

// forEachRow calls visit for each labelled row of a block.
func (d *data) forEachRow(b int, visit func(e *seq.Example)) error {
	for i := d.blocks[b].from; i < d.blocks[b].to; i++ {
		e, err := d.rows.Example(i)
		if err != nil {
			return err
		}
		if d.labelled(&e) {
			visit(&e)
		}
	}
	return nil
}

// load returns the rows of a block as features.
func (d *data) load(b int, x *ngram.Extractor) ([]row, error) {
	if d.cached[b] != nil {
		return d.cached[b], nil
	}
	rows, total := []row{}, 0
	var buffer []uint32
	err := d.forEachRow(b, func(e *seq.Example) {
		buffer = d.vocabulary.Features(x, e.A, e.B, buffer[:0])
		r := row{features: append(make([]uint32, 0, len(buffer)), buffer...), label: e.Label, labels: e.Labels}
		for c, v := range e.Numbers {
			n := d.config.Numbers[c]
			r.numbers = append(r.numbers, float32((float64(v)-n.Mean)/n.Deviation))
		}
		total += len(buffer)
		rows = append(rows, r)
	})
	if err == nil && d.cacheRoom.Add(-int64(total)) >= 0 {
		d.cached[b] = rows
	}
	return rows, err
}

// index builds the vocabulary of the rows.
func (d *data) index(ctx context.Context) (err error) {
	d.vocabulary, err = ngram.Collect(ctx, d.config.NGrams, len(d.blocks), d.workers,
		func(b int, visit func(a, b []int32)) error {
			defer d.report(b)
			return d.forEachRow(b, func(e *seq.Example) { visit(e.A, e.B) })
		})
	return err
}

// report adds the rows of a block to the progress.
func (d *data) report(b int) {
	d.reporting.Lock()
	defer d.reporting.Unlock()
	d.progress(d.blocks[b].to - d.blocks[b].from)
}

// groups splits blocks, in the given order, into groups whose rows fit into memory together.
func (d *data) groups(order []int) (out [][]int) {
	from, sum := 0, int64(0)
	for i, b := range order {
		if i > from && sum+d.nGrams[b] > d.bounds.group {
			out, from, sum = append(out, order[from:i]), i, 0
		}
		sum += d.nGrams[b]
	}
	return append(out, order[from:])
}

// forEachGroup divides the blocks into groups, in the given order. It loads the blocks of a group
// together and calls visit for the rows of the group.
func (d *data) forEachGroup(ctx context.Context, order []int, visit func(rows []row) error) error {
	extractors := make([]*ngram.Extractor, d.workers)
	for _, group := range d.groups(order) {
		loaded := make([][]row, len(group))
		err := parallel.Do(ctx, d.workers, len(group), func(w, i int) (err error) {
			if extractors[w] == nil {
				extractors[w] = ngram.NewExtractor(d.config.NGrams)
			}
			loaded[i], err = d.load(group[i], extractors[w])
			return err
		})
		if err != nil {
			return err
		}
		var rows []row
		for _, r := range loaded {
			rows = append(rows, r...)
		}
		if err := visit(rows); err != nil {
			return err
		}
	}
	return nil
}

// inOrder calls visit for all labelled rows in the order of the file, a group at a time.
func (d *data) inOrder(ctx context.Context, visit func(rows []row) error) error {
	order := make([]int, len(d.blocks))
	for b := range order {
		order[b] = b
	}
	return d.forEachGroup(ctx, order, visit)
}

// errEnough ends forEachGroup early.
var errEnough = errors.New("enough rows were read")

// shuffled calls visit for up to n rows in a random order that depends on the seed, the epoch and
// the rows' lengths. It forms groups of random blocks and shuffles the rows of each group. If all
// data fit into one group, this is a full shuffle.
func (d *data) shuffled(ctx context.Context, seed uint64, epoch, n int, visit func(r *row)) error {
	random := rand.New(rand.NewPCG(seed, uint64(epoch)))
	err := d.forEachGroup(ctx, random.Perm(len(d.blocks)), func(rows []row) error {
		if n == 0 {
			return errEnough
		}
		random.Shuffle(len(rows), func(i, j int) { rows[i], rows[j] = rows[j], rows[i] })
		rows = rows[:min(n, len(rows))]
		n -= len(rows)
		for i := range rows {
			if i%1024 == 0 {
				if err := ctx.Err(); err != nil {
					return err
				}
				d.progress(min(1024, len(rows)-i))
			}
			visit(&rows[i])
		}
		return nil
	})
	if err == errEnough {
		return nil
	}
	return err
}

// Options holds the options of [Fit]. The zero value selects the defaults.
type Options struct {
	Rate    float64 // largest learning rate of Adagrad; 0 means 0.5 for words and 0.1 for other units
	Epochs  int     // 0 means 5
	Seed    uint64  // seed of the order of the rows
	Threads int     // 0 means GOMAXPROCS, at most 16; the model does not depend on the number
	// Updates limits the weight updates of an epoch: one per row, feature and column. Each epoch
	// then visits a different sample of the rows, but the log-ratios are computed from all rows. 0
	// means 2²⁵ for pairs, otherwise no limit.
	Updates int64
	// Progress is called with the number of rows read since the last call, while n-grams are
	// indexed, in each epoch, and while a comparison of pairs is trained.
	Progress func(rows int)
	bounds   *bounds // set by tests; nil means the defaults
	maxEpoch int     // training stops after this number of epochs; 0 means all
	scale    float64 // factor of the logits of a model without validation; 0 means 1
}

// maxSketches limits the default number of threads, because each needs a sketch of 16 MiB.
const maxSketches = 16

func (o *Options) workers() int {
	if o.Threads > 0 {
		return o.Threads
	}
	return min(runtime.GOMAXPROCS(0), maxSketches)
}

func (o *Options) progress(rows int) {
	if o.Progress != nil {
		o.Progress(rows)
	}
}
