package tensor

import (
	"cmp"
	"slices"
	"sync"
)

// KernelTimes accumulates the times of kernels for a [Profiler]. It is safe for concurrent use.
type KernelTimes struct {
	mu     sync.Mutex
	byName map[string]*KernelTime
}

// Add adds the time of one launch of the named kernel.
func (t *KernelTimes) Add(name string, seconds float64) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.byName == nil {
		t.byName = map[string]*KernelTime{}
	}
	k := t.byName[name]
	if k == nil {
		k = &KernelTime{Name: name}
		t.byName[name] = k
	}
	k.Launches++
	k.Seconds += seconds
}

// List returns the times, longest first.
func (t *KernelTimes) List() []KernelTime {
	t.mu.Lock()
	defer t.mu.Unlock()
	var out []KernelTime
	for _, k := range t.byName {
		out = append(out, *k)
	}
	slices.SortFunc(out, func(a, b KernelTime) int {
		return cmp.Or(cmp.Compare(b.Seconds, a.Seconds), cmp.Compare(a.Name, b.Name))
	})
	return out
}
