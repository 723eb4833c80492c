package sft

import (
	"context"
	"fmt"
	"runtime"
	"slices"
	"sync"

	"github.com/sftseq/sftseq/internal/tensor"
	"github.com/sftseq/sftseq/seq"
)

// engine runs passes of one model on one device. Its weights are shared; each
// slot brings its own arena.
type engine struct {
	config  *Config
	params  *Parameters
	device  tensor.Device
	weights tensor.Memory
	edges   int // of a token at most in training, where rows have edges
	packers int // threads that pack each batch: all beside a device that leaves them free

	mu     sync.Mutex
	passes map[passKey]*preparedPass
	recent []passKey              // of the passes, the one last used at the end
	memory map[tensor.Memory]bool // all that was allocated, weights too

	planning sync.Mutex
	limits   map[passMode]*passLimits
}

type passKey struct {
	shape passShape
	mode  passMode
}

type preparedPass struct {
	*recordedPass
	tensor.Executable
}

// maxPasses bounds the cache of programs.
const maxPasses = 64

func newEngine(c *Config, weights []float32, on Device) (*engine, error) {
	device, err := computing(on)
	if err != nil {
		return nil, err
	}
	e := &engine{config: c, params: NewParameters(c), device: device,
		packers: 1, passes: map[passKey]*preparedPass{}, memory: map[tensor.Memory]bool{},
		limits: map[passMode]*passLimits{}}
	if _, ok := tensor.Capability[tensor.OwnMemory](device); ok {
		e.packers = runtime.GOMAXPROCS(0)
	}
	if len(weights) != e.params.Words {
		return nil, fmt.Errorf("the weights have %d words, the configuration needs %d", len(weights), e.params.Words)
	}
	m, err := e.allocate(e.params.Words)
	if err != nil {
		return nil, fmt.Errorf("memory for the weights: %w", err)
	}
	e.weights = m
	if err := m.Write(0, tensor.Bits(weights)); err != nil {
		e.close()
		return nil, err
	}
	return e, nil
}

// threads are those that each of so many passes may take that are made ready at once: of a device
// that computes on the processors those that compute nothing meanwhile.
func (e *engine) threads(passes int) int { return max(e.packers, e.device.Slots()/max(1, passes)) }

// allocate takes memory of the device until the engine is closed.
func (e *engine) allocate(words int) (tensor.Memory, error) {
	m, err := e.device.Allocate(words)
	if err == nil {
		e.mu.Lock()
		defer e.mu.Unlock()
		e.memory[m] = true
	}
	return m, err
}

// free returns memory before that.
func (e *engine) free(m tensor.Memory) {
	e.mu.Lock()
	delete(e.memory, m)
	e.mu.Unlock()
	m.Free() // which may take long, and other slots need not wait for
}

// close returns the memory. Nothing runs any more.
func (e *engine) close() {
	for m := range e.memory {
		e.free(m)
	}
}

// pass returns the program for a shape, recording it the first time.
func (e *engine) pass(shape passShape, mode passMode) (*preparedPass, error) {
	e.mu.Lock()
	defer e.mu.Unlock()
	key := passKey{shape, mode}
	if p, ok := e.passes[key]; ok {
		at := slices.Index(e.recent, key)
		e.recent = append(slices.Delete(e.recent, at, at+1), key)
		return p, nil
	}
	p, err := newPass(e.config, e.params, shape, mode)
	if err != nil {
		return nil, err
	}
	x, err := e.device.Prepare(p.Program)
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

// slot is the memory to run one pass at a time.
type slot struct {
	engine *engine
	mem    tensor.Binding
	batch  packed // that it holds
	pack   int    // threads that pack it
	lossFactors
	weight   []float64     // of classes in the loss of a training step; nil: all the same
	gradient tensor.Memory // a block that is its own; nil: none yet
}

func (e *engine) slot() *slot {
	l := &slot{engine: e, pack: e.packers, lossFactors: e.config.objective().lossFactors(e.config, 1, nil)}
	l.mem[tensor.Weights] = e.weights
	return l
}

// load packs examples of so many sequences into the slot's memory and returns the pass that
// computes them.
func (l *slot) load(sequences int, examples []seq.Example, d drawing) (*preparedPass, error) {
	l.batch.pack(l.engine.config, sequences, examples, d, l.pack)
	return l.place(d)
}

// fit has the slot's memory grow where a pass needs more.
func (l *slot) fit(p *preparedPass) (err error) {
	for _, s := range []tensor.Region{tensor.Arena, tensor.Inputs} {
		need := p.Program.Words(s)
		if l.mem[s] != nil && l.mem[s].Words() >= need {
			continue
		}
		if l.mem[s] != nil {
			l.engine.free(l.mem[s])
			l.mem[s] = nil
		}
		if l.mem[s], err = l.engine.allocate(need); err != nil {
			return err
		}
	}
	return nil
}

// place writes the packed batch to the slot's memory.
func (l *slot) place(d drawing) (*preparedPass, error) {
	p, err := l.engine.pass(l.batch.shape(l.engine.config), d.mode)
	if err != nil {
		return nil, err
	}
	return p, l.placeIn(p, d)
}

// placeIn is place for a pass that has room for the batch.
func (l *slot) placeIn(p *preparedPass, d drawing) error {
	b := &l.batch
	if err := l.fit(p); err != nil {
		return fmt.Errorf("memory for %d tokens at once: %w", b.counts.Tokens, err)
	}
	if p.Scale != nil {
		if err := tensor.Upload(l.mem[tensor.Inputs], p.Scale, l.scale); err != nil {
			return err
		}
	}
	if p.Positive != nil {
		if err := tensor.Upload(l.mem[tensor.Inputs], p.Positive, l.positive); err != nil {
			return err
		}
	}
	return b.upload(p.recordedPass, l.mem[tensor.Inputs], d)
}

// result is what a pass computed for its examples, row-major.
type result struct {
	pooled, logits, loss []float32
	deadRows             []int64        // per layer
	explanations         []Explanation  // of each sequence, in explainMode
	hidden               []HiddenStates // likewise, in hiddenMode
}

// run computes examples from start to end and downloads the results.
func (l *slot) run(ctx context.Context, examples []seq.Example, d drawing) (*result, error) {
	p, err := l.load(l.engine.config.Sequences(), examples, d)
	if err != nil {
		return nil, err
	}
	b := &l.batch
	if err := p.Run(ctx, l.mem, 0, len(p.Program.Segments)); err != nil {
		return nil, err
	}
	r, err := l.results(p, b)
	if err == nil && p.explained != nil {
		r.explanations, err = p.explained.read(b, l.mem[tensor.Arena])
	}
	if err == nil && p.hidden != nil {
		r.hidden, err = p.hiddenStates(b, l.mem[tensor.Arena])
	}
	return r, err
}

func (l *slot) results(p *preparedPass, b *packed) (*result, error) {
	c := l.engine.config
	r := &result{}
	arena := l.mem[tensor.Arena]
	download := func(t *tensor.Tensor, rows int) ([]float32, error) {
		x := make([]float32, rows*t.Width())
		return x, tensor.Download(arena, t, x)
	}
	var err error
	pooled, logits := c.objective().read(p.recordedPass, b)
	if pooled > 0 {
		if r.pooled, err = download(p.Pooled, pooled); err != nil {
			return nil, err
		}
	}
	if logits > 0 {
		if r.logits, err = download(p.Logits, logits); err != nil {
			return nil, err
		}
	}
	for _, t := range p.DeadRows {
		var n [1]int32
		if err := tensor.Download(arena, t, n[:]); err != nil {
			return nil, err
		}
		r.deadRows = append(r.deadRows, int64(n[0]))
	}
	if p.Loss != nil {
		losses := make([]float32, len(b.label))
		if err := tensor.Download(arena, p.Loss, losses); err != nil {
			return nil, err
		}
		c.objective().weigh(b, losses, l.weight)
		r.loss = b.sums(losses)
	}
	return r, nil
}
