package bench

import (
	"math/bits"
	"slices"
	"sync"
	"time"

	"github.com/sftseq/sftseq/internal/simd"
	"github.com/sftseq/sftseq/internal/tensor"
)

// Ceilings holds the peak rates of a device on a number of threads, measured in loops that
// perform only the measured operation, with the widest vectors.
type Ceilings struct {
	FMA    float64 `json:"fma_flop_per_s"`     // a multiply-add counts as two operations
	MaxAdd float64 `json:"max_add_flop_per_s"` // a maximum and an addition count as two operations
	// Levels are bandwidths for typical sizes of a core's caches, and for main memory.
	Levels []Bandwidth `json:"memory"`

	device    tensor.Measurer // device that measures itself and has a single bandwidth; otherwise nil
	threads   int
	peaks     *simd.Peaks
	bandwidth map[int]Bandwidth
}

// Bandwidth is the bandwidth of repeated passes over a number of bytes. This number determines the
// cache level.
type Bandwidth struct {
	Bytes int     `json:"bytes"`
	Read  float64 `json:"read_bytes_per_s"`
	Copy  float64 `json:"copy_bytes_per_s"` // read and written bytes together
}

// NewCeilings measures the arithmetic rates; [Ceilings.MeasureMemory] adds the bandwidths. It
// returns nil for a device whose rates cannot be measured. Vulkan devices measure multiply-adds only.
// Their MaxAdd is half of FMA, because a maximum and an addition are two instructions there.
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
	const iterations = 10_000
	c.FMA = c.rate(func() func() int { return func() int { return c.peaks.FMA(iterations) } })
	c.MaxAdd = c.rate(func() func() int { return func() int { return c.peaks.MaxAdd(iterations) } })
	return c, nil
}

// MeasureMemory measures the bandwidths. For a device that measures itself, it measures a single
// bandwidth beyond the caches, so kernels with small operands may exceed the measured peak.
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

// Fraction returns a rate of operations per second as a fraction of the multiply-add rate.
func (c *Ceilings) Fraction(operationsPerSecond float64) float64 { return operationsPerSecond / c.FMA }

// rate returns the maximum total rate of all threads over several probes. It calls prepare once per
// thread. In each probe, every thread repeats its prepared function, which returns its amount of work.
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

// Memory returns the bandwidth for a number of bytes, which the threads share. It rounds the number up to
// a multiple of a step, and measures each rounded size only once. With one thread, there are four steps
// per power of two, of at least 4 KiB each.
func (c *Ceilings) Memory(bytes int) Bandwidth {
	if c.device != nil {
		return c.Levels[0]
	}
	const minStep = 1 << 12
	step := max(minStep, 1<<max(0, bits.Len(uint(bytes-1))-3)) * c.threads
	size := (bytes + step - 1) / step * step
	if b, ok := c.bandwidth[size]; ok {
		return b
	}
	words := size / c.threads / wordBytes
	block := func(n int) []float32 {
		x := make([]float32, n)
		for i := range x {
			x[i] = 1 // the system maps a page only when the page is written
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

// seconds returns the minimum time of a kernel: the time for its arithmetic, or the time for its
// operands if it has no arithmetic. Written bytes and as many read bytes count as copied, the
// remaining bytes as read. Operands that are updated in place count as read only, because an update
// can be faster than a copy.
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
