package sft

import (
	"github.com/sftseq/sftseq/internal/tensor"
	"github.com/sftseq/sftseq/seq"
)

// passLimits is what forward passes of a mode may hold.
type passLimits struct {
	size    int   // tokens at which a pass of several examples ends
	longest int   // tokens of an example that is known to fit
	room    int64 // bytes for the pass of a single example
}

// limits returns what passes may hold, which it finds out when it is first asked:
// as many tokens as keep the device busy, if it can do them, and has the memory to
// do them in every slot.
func (s *Scorer) limits(mode passMode) *passLimits {
	e := s.engine
	e.planning.Lock()
	defer e.planning.Unlock()
	if f := e.limits[mode]; f != nil {
		return f
	}
	f := &passLimits{size: forwardTokens(e.device)}
	if mode != inferMode { // keeps more, and is cut as training is
		f.size = microBatchTokens
	}
	if own, ok := tensor.Capability[tensor.OwnMemory](e.device); ok {
		slots := int64(s.Slots())
		f.room = own.Budget() / max(1, s.shares)
		bytes, err := e.passBytes(mode, f.size, f.size/leastTokens)
		for ; (err != nil || slots*bytes > f.room) &&
			f.size > leastTokens; bytes, err = e.passBytes(mode, f.size, f.size/leastTokens) {
			f.size = max(leastTokens, f.size/2)
		}
		if err == nil && slots*bytes <= f.room {
			f.longest = f.size
			f.room -= (slots - 1) * bytes
		}
	}
	e.limits[mode] = f
	return f
}

// admit refuses examples of which the device cannot do the longest, before
// anything is computed.
func (s *Scorer) admit(f *passLimits, mode passMode, examples []seq.Example) error {
	longest := 0
	for _, e := range examples {
		longest = max(longest, plannedLength(e)+len(e.B))
	}
	e := s.engine
	e.planning.Lock()
	defer e.planning.Unlock()
	if _, ok := tensor.Capability[tensor.OwnMemory](e.device); !ok || longest <= f.longest {
		return nil
	}
	var bytes int64
	var err error
	fits := func(n int) bool {
		bytes, err = e.passBytes(mode, n, 1)
		return err == nil && bytes <= f.room
	}
	if !fits(longest) {
		return refusal(f.room, bytes, longest, err, fits)
	}
	f.longest = longest
	return nil
}

// passBytes is the device's memory for a pass.
func (e *engine) passBytes(mode passMode, tokens, examples int) (int64, error) {
	words, err := passWords(e.config, e.params, e.device, mode, tokens, examples, plannedEdges*tokens)
	return wordBytes * int64(words), err
}

// Slots is how many passes run at once.
func (s *Scorer) Slots() int {
	if l := s.withLayers(); l != nil {
		return cap(l.slots)
	}
	return s.linear.threads()
}

// PassTokens is how many tokens share a pass: sequences of no more in all are
// computed together, if none is very short.
func (s *Scorer) PassTokens() int {
	if l := s.withLayers(); l != nil {
		return l.limits(inferMode).size
	}
	return linearTokens
}
