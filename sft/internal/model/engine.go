package model

import (
	"context"
	"fmt"
	"runtime"
	"slices"
	"sync"

	"github.com/sftseq/sftseq/internal/chunk"
	"github.com/sftseq/sftseq/internal/sparse"
	"github.com/sftseq/sftseq/internal/tensor"
	"github.com/sftseq/sftseq/seq"
	"github.com/sftseq/sftseq/sft/config"
)

// computingDevice returns the tensor.Device of a device, or an error if it cannot compute.
func computingDevice(d any) (tensor.Device, error) {
	if c, ok := d.(tensor.Device); ok {
		return c, nil
	}
	return nil, fmt.Errorf("the device (%T) cannot compute: expected a device opened by package device", d)
}

// Engine runs passes of one model on one device. All slots share its weights, and each slot has its
// own arena.
type Engine struct {
	Config  *config.Config
	Params  *config.Parameters
	Device  tensor.Device
	Weights tensor.Memory
	NGrams  *NGrams       // nil without n-grams
	Edges   int           // edges per token in the memory plan of training
	packers int           // threads that pack each batch, more than 1 if the device leaves the CPU idle
	cutter  *chunk.Cutter // nil without chunks; each cut uses a copy

	mu     sync.Mutex
	passes map[passKey]*preparedPass
	recent []passKey              // keys of the passes, most recently used last
	Memory map[tensor.Memory]bool // all allocated memory, including the weights

	planning sync.Mutex
	limits   map[PassKind]*PassLimits
}

type passKey struct {
	shape passShape
	mode  PassMode
}

type preparedPass struct {
	*recordedPass
	tensor.Executable
}

// maxPasses limits the number of cached programs.
const maxPasses = 64

// NewEngine copies the weights of a model without n-grams to the device d, a [tensor.Device].
func NewEngine(c *config.Config, weights []float32, d any) (*Engine, error) {
	device, err := computingDevice(d)
	if err != nil {
		return nil, err
	}
	e := &Engine{Config: c, Params: NewParameters(c), Device: device,
		packers: 1, passes: map[passKey]*preparedPass{}, Memory: map[tensor.Memory]bool{},
		limits: map[PassKind]*PassLimits{}}
	if c.Chunks != nil {
		e.cutter = chunk.NewCutter(chunkConfig(c), c.VocabSize)
	}
	if _, ok := tensor.Capability[tensor.OwnMemory](device); ok {
		e.packers = runtime.GOMAXPROCS(0)
	}
	if len(weights) != e.Params.Words {
		return nil, fmt.Errorf("the weights have %d words, but the configuration needs %d", len(weights),
			e.Params.Words)
	}
	m, err := e.Allocate(e.Params.Words)
	if err != nil {
		return nil, fmt.Errorf("memory for the weights: %w", err)
	}
	e.Weights = m
	if err := m.Write(0, tensor.Bits(weights)); err != nil {
		e.Close()
		return nil, err
	}
	return e, nil
}

// OpenEngine is [NewEngine] for a model with or without n-grams.
func OpenEngine(c *config.Config, weights []float32, ngrams *config.NGramTable, d any) (*Engine, error) {
	var table *NGrams
	if c.NGrams != nil {
		var err error
		if table, err = NewNGrams(c, ngrams); err != nil {
			return nil, err
		}
	}
	e, err := NewEngine(c, weights, d)
	if err == nil {
		e.NGrams = table
	}
	return e, err
}

// Threads returns the number of threads for packing each of several concurrent passes: an equal share of the
// device's slots, which on a CPU are its threads, but at least the engine's own number of packing threads.
func (e *Engine) Threads(passes int) int { return max(e.packers, e.Device.Slots()/max(1, passes)) }

// IdleCPU reports whether the device leaves at least one CPU core idle while it computes.
func (e *Engine) IdleCPU() bool { return e.packers > 1 }

// Allocate allocates device memory. Close frees it.
func (e *Engine) Allocate(words int) (tensor.Memory, error) {
	m, err := e.Device.Allocate(words)
	if err == nil {
		e.mu.Lock()
		defer e.mu.Unlock()
		e.Memory[m] = true
	}
	return m, err
}

// free frees memory before Close.
func (e *Engine) free(m tensor.Memory) {
	e.mu.Lock()
	delete(e.Memory, m)
	e.mu.Unlock()
	m.Free() // without the lock, because freeing may take a long time
}

// Close frees all memory. No pass may be running.
func (e *Engine) Close() {
	for m := range e.Memory {
		e.free(m)
	}
}

// pass returns the program for a shape and a mode. It records the program unless it is cached.
func (e *Engine) pass(shape passShape, mode PassMode) (*preparedPass, error) {
	e.mu.Lock()
	defer e.mu.Unlock()
	key := passKey{shape, mode}
	if p, ok := e.passes[key]; ok {
		at := slices.Index(e.recent, key)
		e.recent = append(slices.Delete(e.recent, at, at+1), key)
		return p, nil
	}
	p, err := newPass(e.Config, e.Params, shape, mode)
	if err != nil {
		return nil, err
	}
	x, err := e.Device.Prepare(p.Program)
	if err != nil {
		return nil, err
	}
	if len(e.recent) == maxPasses {
		delete(e.passes, e.recent[0])
		e.recent = e.recent[1:]
	}
	e.recent = append(e.recent, key)
	e.passes[key] = &preparedPass{p, x}
	return e.passes[key], nil
}

// Slot is the memory of one running pass.
type Slot struct {
	engine  *Engine
	Memory  tensor.Binding
	batch   packed // current batch
	Packers int    // threads that pack the batch
	LossFactors
	Weight   []float64     // class weights of the loss in a training step; nil means equal
	Gradient tensor.Memory // the slot's own block for gradients; nil if it has none yet
}

// Slot returns a new slot. Its first pass allocates the memory.
func (e *Engine) Slot() *Slot {
	l := &Slot{engine: e, Packers: e.packers, LossFactors: LossFactorsOf(e.Config, 1, nil)}
	l.Memory[tensor.Weights] = e.Weights
	l.batch.ngrams.table = e.NGrams
	return l
}

// Load packs examples with this number of sequences each into the slot's memory, and returns the
// pass that computes them.
func (l *Slot) Load(sequences int, examples []seq.Example, d Drawing) (*preparedPass, error) {
	l.batch.pack(l.engine.Config, sequences, examples, d, l.Packers)
	return l.upload(d)
}

// ensureCapacity enlarges the slot's memory to the size that pass p needs.
func (l *Slot) ensureCapacity(p *preparedPass) (err error) {
	for _, s := range []tensor.Region{tensor.Arena, tensor.Inputs} {
		need := p.Program.Words(s)
		if l.Memory[s] != nil && l.Memory[s].Words() >= need {
			continue
		}
		if l.Memory[s] != nil {
			l.engine.free(l.Memory[s])
			l.Memory[s] = nil
		}
		if l.Memory[s], err = l.engine.Allocate(need); err != nil {
			return err
		}
	}
	return nil
}

// upload writes the packed batch to the slot's memory and returns its pass.
func (l *Slot) upload(d Drawing) (*preparedPass, error) {
	p, err := l.engine.pass(l.batch.shape(l.engine.Config), d.Mode)
	if err != nil {
		return nil, err
	}
	return p, l.uploadFor(p, d)
}

// uploadFor is upload for a given pass with room for the batch.
func (l *Slot) uploadFor(p *preparedPass, d Drawing) error {
	b := &l.batch
	if err := l.ensureCapacity(p); err != nil {
		return fmt.Errorf("memory for a batch of %d tokens: %w", b.counts.Tokens, err)
	}
	if p.Scale != nil {
		if err := tensor.Upload(l.Memory[tensor.Inputs], p.Scale, l.scale); err != nil {
			return err
		}
	}
	if p.Positive != nil {
		if err := tensor.Upload(l.Memory[tensor.Inputs], p.Positive, l.positive); err != nil {
			return err
		}
	}
	return b.upload(p.recordedPass, l.Memory[tensor.Inputs], d)
}

// Result holds the outputs of a pass for its examples, row-major.
type Result struct {
	Pooled, Logits, Loss []float32
	DeadRows             []int64             // per layer
	NGrams               sparse.Gradient     // gradient of the embeddings of n-grams, after a backward pass
	Explanations         []ExplainedSequence // one per sequence, in ExplainMode
	Hidden               [][][]float32       // per sequence, rows before the first and after each layer, in HiddenMode
	rowsGradient         []float32           // gradient of the exported rows, after a backward pass of documents
	contexts             []float32           // rows of contexts, in the document stage
}

// run computes the packed batch and downloads the results.
func (l *Slot) run(ctx context.Context, d Drawing) (*Result, error) {
	p, err := l.upload(d)
	if err != nil {
		return nil, err
	}
	b := &l.batch
	if err := p.Run(ctx, l.Memory, 0, len(p.Program.Segments)); err != nil {
		return nil, err
	}
	r, err := l.results(p, b)
	if err == nil && p.explained != nil {
		r.Explanations, err = p.explained.read(b, l.Memory[tensor.Arena])
	}
	if err == nil && p.hidden != nil {
		r.Hidden, err = p.hiddenStates(b, l.Memory[tensor.Arena])
	}
	return r, err
}

func (l *Slot) results(p *preparedPass, b *packed) (*Result, error) {
	c := l.engine.Config
	r := &Result{}
	arena := l.Memory[tensor.Arena]
	download := func(t *tensor.Tensor, rows int) ([]float32, error) {
		x := make([]float32, rows*t.Width())
		return x, tensor.Download(arena, t, x)
	}
	var err error
	pooled, logits := 0, 0
	switch {
	case b.stage == localStage:
	case p.contexts == nil:
		pooled, logits = objectiveOf(c).read(p.recordedPass, b)
	case b.stage == tokenStage:
		_, logits = objectiveOf(c).read(p.recordedPass, b)
	default:
		if r.contexts, err = l.contexts(p); err != nil {
			return nil, err
		}
		if p.Pooled != nil {
			pooled = len(b.example)
		}
	}
	if pooled > 0 {
		if r.Pooled, err = download(p.Pooled, pooled); err != nil {
			return nil, err
		}
	}
	if logits > 0 {
		if r.Logits, err = download(p.Logits, logits); err != nil {
			return nil, err
		}
	}
	if in := p.NGrams; in != nil && in.Gradient != nil {
		if r.NGrams, err = in.gradient(&b.ngrams, arena); err != nil {
			return nil, err
		}
	}
	for _, t := range p.DeadRows {
		var n [1]int32
		if err := tensor.Download(arena, t, n[:]); err != nil {
			return nil, err
		}
		r.DeadRows = append(r.DeadRows, int64(n[0]))
	}
	if p.rowsGradient != nil {
		if r.rowsGradient, err = download(p.rowsGradient, int(b.counts.Tokens)); err != nil {
			return nil, err
		}
	}
	if p.Loss != nil {
		losses := make([]float32, len(b.label))
		if err := tensor.Download(arena, p.Loss, losses); err != nil {
			return nil, err
		}
		objectiveOf(c).weightLosses(b, losses, l.Weight)
		r.Loss = b.sums(losses)
	}
	return r, nil
}
