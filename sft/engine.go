package sft

import (
	"context"
	"fmt"
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
		passes: map[passKey]*preparedPass{}, memory: map[tensor.Memory]bool{}, limits: map[passMode]*passLimits{}}
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
	scale  []float32 // of the loss whose gradient a pass computes, by class
}

func (e *engine) slot() *slot {
	l := &slot{engine: e, scale: lossScales(e.config.NumLabels, 1, nil)}
	l.mem[tensor.Weights] = e.weights
	return l
}

// load packs examples into the slot's memory and returns the pass that computes
// them.
func (l *slot) load(examples []seq.Example, mode passMode, seed uint64, step uint32) (*preparedPass, error) {
	return l.place(pack(l.engine.config, l.engine.config.Sequences(), examples, mode), mode, seed, step)
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

// place writes a packed batch to the slot's memory.
func (l *slot) place(b *packed, mode passMode, seed uint64, step uint32) (*preparedPass, error) {
	p, err := l.engine.pass(b.shape(l.engine.config), mode)
	if err != nil {
		return nil, err
	}
	if err := l.fit(p); err != nil {
		return nil, fmt.Errorf("memory for %d tokens at once: %w", b.counts.Tokens, err)
	}
	if p.Scale != nil {
		if err := tensor.Upload(l.mem[tensor.Inputs], p.Scale, l.scale); err != nil {
			return nil, err
		}
	}
	return p, b.upload(p.recordedPass, l.mem[tensor.Inputs], seed, step)
}

// result is what a pass computed for its examples, row-major.
type result struct {
	pooled, logits, loss []float32
	deadRows             []int64       // per layer
	explanations         []Explanation // of each sequence, in explainMode
}

// run computes examples from start to end and downloads the results.
func (l *slot) run(ctx context.Context, examples []seq.Example, mode passMode, seed uint64, step uint32) (*result, error) {
	b := pack(l.engine.config, l.engine.config.Sequences(), examples, mode)
	p, err := l.place(b, mode, seed, step)
	if err != nil {
		return nil, err
	}
	if err := p.Run(ctx, l.mem, 0, len(p.Program.Segments)); err != nil {
		return nil, err
	}
	r, err := l.results(p, len(examples))
	if err == nil && p.explained != nil {
		r.explanations, err = p.explained.read(b, l.mem[tensor.Arena])
	}
	return r, err
}

func (l *slot) results(p *preparedPass, examples int) (*result, error) {
	c := l.engine.config
	sequences := examples * c.Sequences()
	r := &result{pooled: make([]float32, sequences*c.HiddenSize), logits: make([]float32, examples*c.NumLabels)}
	arena := l.mem[tensor.Arena]
	if err := tensor.Download(arena, p.Pooled, r.pooled); err != nil {
		return nil, err
	}
	if err := tensor.Download(arena, p.Logits, r.logits); err != nil {
		return nil, err
	}
	for _, t := range p.DeadRows {
		var n [1]int32
		if err := tensor.Download(arena, t, n[:]); err != nil {
			return nil, err
		}
		r.deadRows = append(r.deadRows, int64(n[0]))
	}
	if p.Loss != nil {
		r.loss = make([]float32, examples)
		return r, tensor.Download(arena, p.Loss, r.loss)
	}
	return r, nil
}
