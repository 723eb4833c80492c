package model

import (
	"github.com/sftseq/sftseq/internal/tensor"
	"github.com/sftseq/sftseq/seq"
)

// PassLimits is what forward passes of a mode may hold.
type PassLimits struct {
	Size    int   // tokens at which a pass of several examples ends
	Longest int   // tokens of an example that is known to fit
	room    int64 // bytes for the pass of a single example
}

// Limits returns what passes may hold, which it finds out when it is first asked:
// as many tokens as keep the device busy, if it can do them, and has the memory to
// do them in every slot.
func (r *Runner) Limits(mode PassMode) *PassLimits {
	e := r.engine
	e.planning.Lock()
	defer e.planning.Unlock()
	if f := e.Limits[mode]; f != nil {
		return f
	}
	f := &PassLimits{Size: ForwardTokens(e.Device)}
	if mode != InferMode { // keeps more, and is cut as training is
		f.Size = MicroBatchTokens
	}
	if own, ok := tensor.Capability[tensor.OwnMemory](e.Device); ok {
		slots := int64(r.SlotCount())
		f.room = own.Budget() / max(1, r.shares)
		bytes, err := e.passBytes(mode, f.Size, f.Size/MinTokens)
		for ; (err != nil || slots*bytes > f.room) &&
			f.Size > MinTokens; bytes, err = e.passBytes(mode, f.Size, f.Size/MinTokens) {
			f.Size = max(MinTokens, f.Size/2)
		}
		if err == nil && slots*bytes <= f.room {
			f.Longest = f.Size
			f.room -= (slots - 1) * bytes
		}
	}
	e.Limits[mode] = f
	return f
}

// admit refuses examples of which the device cannot do the longest, before
// anything is computed.
func (r *Runner) admit(f *PassLimits, mode PassMode, examples []seq.Example) error {
	longest := 0
	for _, e := range examples {
		longest = max(longest, PlannedLength(e)+len(e.B))
	}
	e := r.engine
	e.planning.Lock()
	defer e.planning.Unlock()
	if _, ok := tensor.Capability[tensor.OwnMemory](e.Device); !ok || longest <= f.Longest {
		return nil
	}
	var bytes int64
	var err error
	fits := func(n int) bool {
		bytes, err = e.passBytes(mode, n, 1)
		return err == nil && bytes <= f.room
	}
	if !fits(longest) {
		return Refusal(f.room, bytes, longest, err, fits)
	}
	f.Longest = longest
	return nil
}

// passBytes is the device's memory for a pass.
func (e *Engine) passBytes(mode PassMode, tokens, examples int) (int64, error) {
	words, err := PassWords(e.Config, e.Params, e.Device, mode, tokens, examples, PlannedEdges*tokens)
	return WordBytes * int64(words), err
}

// PassTokens is how many tokens share a pass.
func (r *Runner) PassTokens() int { return r.Limits(InferMode).Size }
