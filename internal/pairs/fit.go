package pairs

import (
	"cmp"
	"context"
	"encoding/binary"
	"math"
	"runtime"
	"sync"
	"sync/atomic"

	"github.com/zeebo/xxh3"

	"github.com/sftseq/sftseq/internal/parallel"
	"github.com/sftseq/sftseq/seq"
)

// Rows are the rows of a split, such as a [seq.File]. They are safe for concurrent use.
type Rows interface {
	Lengths() []int32
	Example(i int) (seq.Example, error)
}

// Options holds the options of [Fit].
type Options struct {
	Classes int
	Seed    uint64 // seed of the head's initial weights and of the order of rows
	Threads int    // 0 means GOMAXPROCS; the model does not depend on it
	// Progress is called with the number of rows processed since the last call; nil means no calls.
	Progress func(rows int)
}

// Report has the measurements of training.
type Report struct {
	Rows   int       // labelled training rows
	Losses []float64 // validation loss of each epoch; empty without validation
	Kept   int       // index in Losses of the selected epoch; -1 without validation
}

// maxRows is the approximate maximum number of rows of a split whose features Fit keeps in memory. For a
// larger split, Fit computes the features of one row in 2, 4, 8 or more.
const maxRows = 1 << 20

// Fit trains a comparison on the labelled rows of train and keeps the epoch with the lowest loss on
// val, which may be nil. A first pass over train counts the distinct texts with each n-gram, and a
// second pass computes the features of pairs.
func Fit(ctx context.Context, c Config, train, val Rows, o Options) (*Model, *Report, error) {
	if err := c.Validate(); err != nil {
		return nil, nil, err
	}
	o.Threads = cmp.Or(o.Threads, runtime.GOMAXPROCS(0))
	f := &fitting{ctx: ctx, options: o, config: c}
	m := &Model{Config: c, texts: make([][]int32, len(views[c.Units]))}
	for v := range m.texts {
		m.texts[v] = make([]int32, c.Slots)
	}
	if err := f.count(train, m); err != nil {
		return nil, nil, err
	}
	outputs := o.Classes
	if outputs == 2 {
		outputs = 1
	}
	m.head = newHead(c.features(), c.Hidden, outputs)
	rows, err := f.sample(train, m)
	if err != nil {
		return nil, nil, err
	}
	validation := &sample{inputs: m.head.inputs}
	if val != nil {
		if validation, err = f.sample(val, m); err != nil {
			return nil, nil, err
		}
	}
	m.head.setScale(rows)
	m.head.standardiseAll(rows)
	m.head.standardiseAll(validation)
	report := &Report{Rows: f.rows}
	report.Losses, report.Kept, err = m.head.fit(ctx, rows, validation, o.Seed, o.Threads)
	return m, report, err
}

// fitting is the state of [Fit].
type fitting struct {
	ctx     context.Context
	options Options
	config  Config
	rows    int // labelled training rows
}

// block is the number of rows that a thread reads at a time.
const block = 128

// forEachRow calls visit for each labelled row whose index is a multiple of stride, on all threads.
func (f *fitting) forEachRow(rows Rows, stride int, visit func(worker, row int, e *seq.Example) error) error {
	n := len(rows.Lengths())
	var reporting sync.Mutex
	return parallel.Do(f.ctx, f.options.Threads, (n+block-1)/block, func(worker, b int) error {
		from, to := b*block, min((b+1)*block, n)
		for i := from; i < to; i++ {
			if i%stride != 0 {
				continue
			}
			e, err := rows.Example(i)
			if err != nil {
				return err
			}
			if e.Label < 0 {
				continue
			}
			if err := visit(worker, i, &e); err != nil {
				return err
			}
		}
		if f.options.Progress != nil {
			reporting.Lock()
			f.options.Progress(to - from)
			reporting.Unlock()
		}
		return nil
	})
}

// count counts the labelled rows, their distinct texts, and per slot the distinct texts with an n-gram in
// the slot.
func (f *fitting) count(rows Rows, m *Model) error {
	var mu sync.Mutex
	seen := map[xxh3.Uint128]struct{}{}
	type state struct {
		reader *reader
		text   text
		bytes  []byte
		rows   int
	}
	states := make([]state, f.options.Threads)
	for w := range states {
		states[w].reader = newReader(&f.config)
	}
	err := f.forEachRow(rows, 1, func(worker, _ int, e *seq.Example) error {
		s := &states[worker]
		s.rows++
		for _, tokens := range [][]int32{e.A, e.B} {
			s.bytes = s.bytes[:0]
			for _, t := range tokens {
				s.bytes = binary.LittleEndian.AppendUint32(s.bytes, uint32(t))
			}
			key := xxh3.Hash128(s.bytes)
			mu.Lock()
			_, known := seen[key]
			seen[key] = struct{}{}
			mu.Unlock()
			if known {
				continue
			}
			s.reader.read(tokens, &s.text)
			for v, b := range s.text.bags {
				for _, g := range b {
					atomic.AddInt32(&m.texts[v][g.slot], 1)
				}
			}
		}
		return nil
	})
	for _, s := range states {
		f.rows += s.rows
	}
	m.Texts = max(1, len(seen))
	return err
}

// sample returns the features and labels of the labelled rows. If there are more than maxRows rows, it
// samples rows at equal intervals.
func (f *fitting) sample(rows Rows, m *Model) (*sample, error) {
	n, stride := len(rows.Lengths()), 1
	for n/stride > maxRows {
		stride *= 2
	}
	inputs := f.config.features()
	all := &sample{inputs, make([]float32, (n+stride-1)/stride*inputs), make([]int32, (n+stride-1)/stride)}
	for i := range all.labels {
		all.labels[i] = seq.NoLabel
	}
	comparers, buffers := make([]*comparer, f.options.Threads), make([][]float64, f.options.Threads)
	for w := range comparers {
		comparers[w], buffers[w] = newComparer(&m.Config, m.texts), make([]float64, inputs)
	}
	err := f.forEachRow(rows, stride, func(worker, i int, e *seq.Example) error {
		comparers[worker].features(e.A, e.B, buffers[worker])
		for j, v := range buffers[worker] {
			all.features[i/stride*inputs+j] = float32(v)
		}
		all.labels[i/stride] = e.Label
		return nil
	})
	kept := 0
	for i, l := range all.labels {
		if l != seq.NoLabel {
			copy(all.features[kept*inputs:][:inputs], all.features[i*inputs:][:inputs])
			all.labels[kept] = l
			kept++
		}
	}
	all.features, all.labels = all.features[:kept*inputs], all.labels[:kept]
	return all, err
}

// setScale computes the mean and the scale of each feature over the rows.
func (h *head) setScale(s *sample) {
	n := float64(max(1, len(s.labels)))
	for i := range s.labels {
		for j := range h.mean {
			h.mean[j] += float64(s.features[i*h.inputs+j]) / n
		}
	}
	for i := range s.labels {
		for j, m := range h.mean {
			d := float64(s.features[i*h.inputs+j]) - m
			h.scale[j] += float64(d*d) / n
		}
	}
	for j, variance := range h.scale {
		h.mean[j], h.scale[j] = float64(float32(h.mean[j])), 1
		if variance > 1e-12 {
			h.scale[j] = float64(float32(1 / math.Sqrt(variance)))
		}
	}
}

// standardiseAll standardises the features of rows.
func (h *head) standardiseAll(s *sample) {
	x := make([]float64, h.inputs)
	for i := range s.labels {
		s.row(i, x)
		h.standardise(x)
		for j, v := range x {
			s.features[i*h.inputs+j] = float32(v)
		}
	}
}
