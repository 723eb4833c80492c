package bench

import (
	"math/bits"
	"slices"
	"sync"
	"time"

	"github.com/sftseq/sftseq/internal/simd"
	"github.com/sftseq/sftseq/internal/tensor"
)

// Ceilings are what the processor can do on some threads: the rates of loops
// that do nothing but one thing, at its widest vectors.
type Ceilings struct {
	FMA    float64 `json:"fma_flop_per_s"`     // a multiplication with its addition being two
	MaxAdd float64 `json:"max_add_flop_per_s"` // likewise, maximum and addition
	// Levels are bandwidths of sizes that usually are a core's caches, and of the
	// memory behind them.
	Levels []Bandwidth `json:"memory"`

	device    tensor.Measurer // which measures itself, and has one bandwidth; otherwise nil
	threads   int
	peaks     *simd.Peaks
	bandwidth map[int]Bandwidth
}

// Bandwidth is how fast memory is gone through, again and again, that takes so
// many bytes in all: its size decides which cache holds it.
type Bandwidth struct {
	Bytes int     `json:"bytes"`
	Read  float64 `json:"read_bytes_per_s"`
	Copy  float64 `json:"copy_bytes_per_s"` // read and written ones together
}

// NewCeilings measures those of arithmetic; [Ceilings.MeasureMemory] adds the
// others. It returns nil where the device has no way to tell. One of Vulkan is
// asked: its arithmetic does a maximum with an addition in two operations.
func NewCeilings(device tensor.Device, threads int) (*Ceilings, error) {
	if m, ok := tensor.Capability[tensor.Measurer](device); ok {
		products, err := m.MeasureProducts()
		if err != nil {
			return nil, err
		}
		return &Ceilings{FMA: products, MaxAdd: products / 2, device: m}, nil
	}
	levels := simd.Levels()
	if !slices.ContainsFunc(levels, func(k *simd.Kernels) bool { return k.Name == device.Kernels() }) {
		return nil, nil
	}
	c := &Ceilings{threads: threads, peaks: &levels[0].Peaks, bandwidth: map[int]Bandwidth{}}
	const turns = 10_000
	c.FMA = c.rate(func() func() int { return func() int { return c.peaks.FMA(turns) } })
	c.MaxAdd = c.rate(func() func() int { return func() int { return c.peaks.MaxAdd(turns) } })
	return c, nil
}

// MeasureMemory measures the bandwidths. The caches of a device that measures
// itself are left out, so that small operands may be faster there than the ceiling.
func (c *Ceilings) MeasureMemory() error {
	if c.device != nil {
		copied, err := c.device.MeasureCopy()
		c.Levels = []Bandwidth{{Read: copied, Copy: copied}}
		return err
	}
	for _, size := range []int{16 << 10, 256 << 10, 4 << 20, 256 << 20} {
		c.Levels = append(c.Levels, c.Memory(size*c.threads))
	}
	return nil
}

// Fraction is how close to the rate of multiply-add so many operations a second
// come.
func (c *Ceilings) Fraction(operationsPerSecond float64) float64 { return operationsPerSecond / c.FMA }

// rate is the most that all threads do in a second. Each calls prepare, then
// what it returns as long as a probe takes, which counts what it did.
func (c *Ceilings) rate(prepare func() func() int) float64 {
	const (
		probes = 5
		probe  = 20 * time.Millisecond
	)
	work := make([]func() int, c.threads)
	for i := range work {
		work[i] = prepare()
		work[i]()
	}
	best := 0.0
	for range probes {
		rates := make([]float64, c.threads)
		var group sync.WaitGroup
		for i, f := range work {
			group.Go(func() {
				start, n := time.Now(), 0
				for time.Since(start) < probe {
					n += f()
				}
				rates[i] = float64(n) / time.Since(start).Seconds()
			})
		}
		group.Wait()
		sum := 0.0
		for _, r := range rates {
			sum += r
		}
		best = max(best, sum)
	}
	return best
}

// Memory is the bandwidth of so many bytes, rounded up to one of four sizes
// between two powers of two. The threads share them.
func (c *Ceilings) Memory(bytes int) Bandwidth {
	if c.device != nil {
		return c.Levels[0]
	}
	const least = 1 << 12
	step := max(least, 1<<max(0, bits.Len(uint(bytes-1))-3)) * c.threads
	size := (bytes + step - 1) / step * step
	if b, ok := c.bandwidth[size]; ok {
		return b
	}
	words := size / c.threads / wordBytes
	block := func(n int) []float32 {
		x := make([]float32, n)
		for i := range x {
			x[i] = 1 // a page that nothing was written to is not there yet
		}
		return x
	}
	b := Bandwidth{Bytes: size}
	b.Read = c.rate(func() func() int {
		x := block(words)
		return func() int { return c.peaks.Read(x) }
	})
	b.Copy = c.rate(func() func() int {
		x, y := block(words/2), block(words/2)
		return func() int { return c.peaks.Copy(y, x) }
	})
	c.bandwidth[size] = b
	return b
}

// seconds is the least time for a kernel's work: that of its arithmetic, or that
// of its operands where none is counted. What is written is copied, what is read
// beyond that is read; what is updated in place can be faster than a copy, and
// counts as read.
func (c *Ceilings) seconds(w work, t traffic) float64 {
	if w != (work{}) {
		return w.products/c.FMA + w.comparisons/c.MaxAdd
	}
	b := c.Memory(t.resident)
	updated := t.read + t.written - t.resident
	fresh := t.written - updated
	copied := min(t.read, fresh)
	return float64(t.read-copied)/b.Read + float64(copied+fresh)/b.Copy
}
