package model

import (
	"github.com/sftseq/sftseq/internal/tensor"
)

// PassKind is the stage and the mode of passes.
type PassKind struct {
	stage stage
	Mode  PassMode
}

// PassLimits limits the forward passes of a kind.
type PassLimits struct {
	Size    int   // maximum tokens of a pass of several examples
	Longest int   // tokens of the longest example that is known to fit
	room    int64 // bytes for the pass of a single example
}

// Limits returns, for a mode, the limits of the passes of the first stage, which reads tokens.
func (r *Runner) Limits(mode PassMode) *PassLimits {
	first := stages(r.engine.Config)[0]
	return r.limits(PassKind{first, first.mode(r.engine.Config, mode)})
}

// SetLimits sets the size of the passes of a mode in place of the limits that [Runner.Limits]
// determines. longest is the number of tokens of the longest example.
func (e *Engine) SetLimits(mode PassMode, size, longest int) {
	for _, s := range stages(e.Config) {
		tokens, _ := s.planned(e.Config, longest, 1, size)
		e.limits[PassKind{s, s.mode(e.Config, mode)}] = &PassLimits{Size: size, Longest: tokens}
	}
}

// limits returns the limits of the passes of a kind. The first call for a kind determines them. Size
// starts at ForwardTokens for inference and at MicroBatchTokens otherwise. For a device with its own
// memory, Size is halved, down to MinTokens, until the device can compute a pass of this size and has
// memory for one in every slot.
func (r *Runner) limits(kind PassKind) *PassLimits {
	e := r.engine
	e.planning.Lock()
	defer e.planning.Unlock()
	if f := e.limits[kind]; f != nil {
		return f
	}
	f := &PassLimits{Size: ForwardTokens(e.Device)}
	if kind.Mode != InferMode { // these modes keep more tensors, and use the micro-batches of training
		f.Size = MicroBatchTokens
	}
	if own, ok := tensor.Capability[tensor.OwnMemory](e.Device); ok {
		slots := int64(r.SlotCount())
		f.room = own.Budget() / max(1, r.shares)
		bytes, err := e.passBytes(kind, f.Size, f.Size/MinTokens)
		for ; (err != nil || slots*bytes > f.room) &&
			f.Size > MinTokens; bytes, err = e.passBytes(kind, f.Size, f.Size/MinTokens) {
			f.Size = max(MinTokens, f.Size/2)
		}
		if err == nil && slots*bytes <= f.room {
			f.Longest = f.Size
			f.room -= (slots - 1) * bytes
		}
	}
	e.limits[kind] = f
	return f
}

// admit returns an error, before any computation, if the device cannot compute the longest item.
func (r *Runner) admit(f *PassLimits, kind PassKind, items []passItem) error {
	longest := 0
	for _, x := range items {
		longest = max(longest, x.tokens)
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
		bytes, err = e.passBytes(kind, n, 1)
		return err == nil && bytes <= f.room
	}
	if !fits(longest) {
		return Refusal(f.room, bytes, longest, err, fits)
	}
	f.Longest = longest
	return nil
}

// passBytes returns the device memory of a pass in bytes.
func (e *Engine) passBytes(kind PassKind, tokens, examples int) (int64, error) {
	words, err := wordsOf(e.Config, e.Params, e.Device, kind, tokens, examples, PlannedEdges*tokens)
	return WordBytes * int64(words.total()), err
}

// PassTokens returns the maximum number of tokens of an inference pass of several examples.
func (r *Runner) PassTokens() int { return r.Limits(InferMode).Size }
