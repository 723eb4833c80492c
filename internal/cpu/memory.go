package cpu

import (
	"fmt"
	"sync"

	"github.com/sftseq/sftseq/internal/simd"
	"github.com/sftseq/sftseq/internal/tensor"
)

// memory is a block of words with a cache of packed weights.
type memory struct {
	words []uint32

	packing sync.Mutex
	packs   map[packKey]*pack
}

// packKey identifies a packed weight by its location and by the product for which it is packed.
type packKey struct {
	offset     int
	transposed bool
}

// pack is a weight in the layout that the product reads.
type pack struct {
	simd.Packed
	current bool
}

// maxWords is the maximum number of words of an allocation: 64 TiB. For much larger sizes, make
// would panic.
const maxWords = 1 << 44

// Allocate returns zeroed memory, or an error if the number of words is negative or above maxWords.
func (d *Device) Allocate(words int) (tensor.Memory, error) {
	if words < 0 || words > maxWords {
		return nil, fmt.Errorf("cpu: allocating %d words of memory: expected 0 to %d", words, maxWords)
	}
	return &memory{words: make([]uint32, words), packs: map[packKey]*pack{}}, nil
}

func (m *memory) Words() int { return len(m.words) }
func (m *memory) Free()      {}

func (m *memory) Write(offset int, words []uint32) error {
	if offset < 0 || offset > len(m.words)-len(words) {
		return fmt.Errorf("cpu: write of %d words at %d: the memory has %d words", len(words), offset, len(m.words))
	}
	copy(m.words[offset:], words)
	m.invalidatePacks()
	return nil
}

func (m *memory) Read(offset int, words []uint32) error {
	if offset < 0 || offset > len(m.words)-len(words) {
		return fmt.Errorf("cpu: read of %d words at %d: the memory has %d words", len(words), offset, len(m.words))
	}
	copy(words, m.words[offset:])
	return nil
}

// invalidatePacks invalidates all packed weights.
func (m *memory) invalidatePacks() {
	m.packing.Lock()
	defer m.packing.Unlock()
	for _, p := range m.packs {
		p.current = false
	}
}

// packed returns a weight [out, in] as the right factor of y·w, or of x·wᵀ if transposed. The
// packed weight is cached until an update or an upload changes the weights. Each call packs tensors
// outside the region Weights again.
func (r *run) packed(weight *tensor.Tensor, transposed bool) simd.Packed {
	p := &r.device.simd.Products
	k, n := weight.Shape[0], weight.Width()
	w := simd.Rows(r.floats(weight), n)
	if transposed {
		k, n, w = n, k, simd.Matrix{Data: w.Data, Row: 1, Col: n}
	}
	m := r.bound[weight.Region]
	m.packing.Lock()
	defer m.packing.Unlock()
	key := packKey{weight.Offset, transposed}
	b := m.packs[key]
	if b == nil {
		b = &pack{}
		m.packs[key] = b
	}
	if size := p.PackedSize(k, n); len(b.Data) != size {
		b.Data, b.current = make([]float32, size), false
	}
	if !b.current || weight.Region != tensor.Weights {
		b.Packed, b.current = p.Pack(b.Data, w, k, n), true
	}
	return b.Packed
}
