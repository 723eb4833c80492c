package cpu

import (
	"context"
	"fmt"
	"runtime"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"github.com/sftseq/sftseq/internal/simd"
	"github.com/sftseq/sftseq/internal/tensor"
)

// Device runs kernels on a fixed number of threads.
type Device struct {
	threads    int
	simd       *simd.Kernels
	idle       chan *worker
	cosines    cosineCache
	preemption preemption
	profile    atomic.Pointer[tensor.KernelTimes] // nil unless the device is being profiled
}

// worker is a slot for a computing thread, with its scratch memory.
type worker struct {
	scratch []float32
	parts   []float32 // see run.parts

	// Arguments of vector kernels that are passed by pointer or as slices. As local variables they
	// would be allocated by each call.
	counter      [4]uint32
	key          [2]uint32
	lead         [4]float32
	relativeBias sinusoidScratch
	distance     distanceScratch
	edges        edgeScratch
}

// floats returns n floats of scratch memory with undefined content.
func (w *worker) floats(n int) []float32 {
	if len(w.scratch) < n {
		w.scratch = make([]float32, n)
	}
	return w.scratch[:n]
}

// New returns a device with the best instruction set and the given number of threads; 0 means one
// thread per CPU. It panics if [simd.Best] returns an error; callers that open devices for a user
// should call simd.Best first.
func New(threads int) *Device {
	k, err := simd.Best()
	if err != nil {
		panic(err)
	}
	return NewLevel(threads, k)
}

// NewLevel returns a device with the given instruction set and number of threads; 0 means one thread
// per CPU.
func NewLevel(threads int, k *simd.Kernels) *Device {
	if threads <= 0 {
		threads = runtime.GOMAXPROCS(0)
	}
	d := &Device{threads: threads, simd: k, idle: make(chan *worker, threads)}
	d.preemption.init()
	for range threads {
		d.idle <- new(worker)
	}
	return d
}

// Name returns a description of the device.
func (d *Device) Name() string {
	threads := fmt.Sprintf("%d threads", d.threads)
	if d.threads == 1 {
		threads = "1 thread"
	}
	return fmt.Sprintf("cpu (%s/%s, %s, %s)", runtime.GOOS, runtime.GOARCH, d.simd.Name, threads)
}

// Kernels returns the name of the instruction set. Results are bitwise reproducible for a given
// instruction set.
func (d *Device) Kernels() string { return d.simd.Name }

// Slots returns the number of threads. Concurrent programs use the threads better than a single
// program that splits its rows.
func (d *Device) Slots() int { return d.threads }

// Close does nothing.
func (d *Device) Close() error { return nil }

// executable is a program with the implementations of its kernels.
type executable struct {
	device   *Device
	program  *tensor.Program
	launches []launch
}

// launch holds the implementation of one of the program's launches.
type launch struct {
	run            func(*run)         // nil for rowwise launches
	rowwise        func(*run) rowwise // nil for other launches
	fusedEnd       int                // index after the last launch that can be fused with this launch
	updatesWeights bool               // true if the launch writes weights
}

// Prepare looks up the implementations of a program's kernels.
func (d *Device) Prepare(p *tensor.Program) (tensor.Executable, error) {
	x := &executable{device: d, program: p, launches: make([]launch, len(p.Launches))}
	for i, k := range p.Launches {
		l := &x.launches[i]
		l.updatesWeights = slices.ContainsFunc(tensor.Writes(k),
			func(t *tensor.Tensor) bool { return t.Region == tensor.Weights })
		switch f := implementationOf(k); {
		case f.byRows != nil:
			l.rowwise = func(r *run) rowwise { return f.byRows(r, k) }
		case f.whole != nil:
			l.run = func(r *run) { f.whole(r, k) }
		default:
			return nil, fmt.Errorf("cpu: no kernel %q", tensor.Name(k))
		}
	}
	for _, s := range p.Segments {
		for i := s.From; i < s.To; i++ {
			x.launches[i].fusedEnd = i + fusedLength(p.Launches[i:s.To])
		}
	}
	return x, nil
}

// Run runs the program's segments [from, to).
func (x *executable) Run(ctx context.Context, mem tensor.Binding, from, to int) error {
	return x.Inspect(ctx, mem, from, to, nil)
}

// Inspect runs the program's segments [from, to). If visit is not nil, Inspect fuses no launches
// and calls visit after each launch. An error of visit ends the run.
func (x *executable) Inspect(ctx context.Context, mem tensor.Binding, from, to int,
	visit func(tensor.Kernel) error) (err error) {
	r := &run{device: x.device, profile: x.device.profile.Load()}
	defer r.recoverCancelled(ctx, &err)
	for s, m := range mem {
		if m != nil {
			r.bound[s] = m.(*memory)
			r.mem[s] = r.bound[s].words
		}
	}
	for _, s := range []tensor.Region{tensor.Arena, tensor.Inputs} {
		if len(r.mem[s]) < x.program.Words(s) {
			return fmt.Errorf("cpu: region %d has %d words, the program needs %d", s, len(r.mem[s]), x.program.Words(s))
		}
	}
	if c := x.program.Counts; c != nil {
		r.counts = tensor.As[int32](r.words(c))
	}
	r.urgent, r.patient = tensor.IsUrgent(ctx), tensor.IsPatient(ctx)
	if r.urgent {
		select {
		case r.self = <-x.device.preemption.worker:
		case <-ctx.Done():
			return ctx.Err()
		}
		x.device.setUrgent(true)
		defer func() {
			x.device.setUrgent(false)
			x.device.preemption.worker <- r.self
		}()
	} else {
		select {
		case r.self = <-x.device.idle:
		case <-ctx.Done():
			return ctx.Err()
		}
		defer func() { x.device.release(r.self) }()
	}

	for _, s := range x.program.Segments[from:to] {
		if err := ctx.Err(); err != nil {
			return err
		}
		for i := s.From; i < s.To; {
			next := x.launches[i:x.launches[i].fusedEnd]
			if visit != nil {
				next = next[:1]
			}
			updates := slices.ContainsFunc(next, func(l launch) bool { return l.updatesWeights })
			if r.done = ctx.Done(); updates {
				r.done = nil // updates of weights are not interrupted
			}
			r.yield()
			r.self.parts = r.self.parts[:0]
			switch kernels := x.program.Launches[i : i+len(next)]; {
			case r.profile != nil && next[0].rowwise != nil:
				r.runFusedTimed(next, kernels)
			case r.profile != nil:
				r.profile.Add(tensor.Name(kernels[0]), r.timed(func() { next[0].run(r) }).Seconds())
			case next[0].rowwise != nil:
				r.runFused(next)
			default:
				next[0].run(r)
			}
			if updates {
				r.bound[tensor.Weights].invalidatePacks()
			}
			if visit != nil {
				if err := visit(x.program.Launches[i]); err != nil {
					return err
				}
			}
			i += len(next)
		}
	}
	return nil
}

// run is a running program.
type run struct {
	device         *Device
	urgent         bool
	patient        bool
	self           *worker
	done           <-chan struct{} // closed when the run is cancelled
	cancelled      bool            // yield has panicked because the run was cancelled
	yielded        time.Time       // time when the run last yielded its CPU
	computingSince time.Time       // start of the current period of computing
	bound          [tensor.Regions]*memory
	mem            [tensor.Regions][]uint32
	counts         []int32

	profile    *tensor.KernelTimes // nil unless the run is profiled
	helperTime atomic.Int64        // computing time of other threads since the current kernel began, if profiled
}

// words returns the memory of t.
func (r *run) words(t *tensor.Tensor) []uint32 {
	end := t.Offset + t.Words()
	return r.mem[t.Region][t.Offset:end:end] // the capacity makes a slice beyond the tensor panic
}

func (r *run) floats(t *tensor.Tensor) []float32 { return tensor.As[float32](r.words(t)) }
func (r *run) ints(t *tensor.Tensor) []int32     { return tensor.As[int32](r.words(t)) }

// rows returns the number of rows of t in use.
func (r *run) rows(t *tensor.Tensor) int {
	if t.Rows == tensor.Fixed {
		return t.Shape[0]
	}
	return int(r.counts[t.Rows])
}

// parallel calls f for every piece 0 … n−1 on this thread and on idle threads. The assignment of
// pieces to workers is arbitrary, so results must depend on the pieces only.
func (r *run) parallel(n int, f func(w *worker, piece int)) {
	var next atomic.Int64
	nextPiece := func() (piece int, ok bool) {
		piece = int(next.Add(1)) - 1
		return piece, piece < n
	}
	var helpers sync.WaitGroup
	defer func() {
		next.Store(int64(n)) // if the run is cancelled, helpers take no further pieces
		helpers.Wait()
	}()
	for range n - 1 {
		select {
		case w := <-r.device.idle:
			helpers.Go(func() {
				if r.profile != nil {
					start := time.Now()
					defer func() { r.helperTime.Add(int64(time.Since(start))) }()
				}
				// If this worker must stop, the other workers compute the remaining pieces.
				for !r.mustStop() {
					i, ok := nextPiece()
					if !ok {
						break
					}
					f(w, i)
				}
				r.device.release(w)
			})
			continue
		default:
		}
		break
	}
	for i, ok := nextPiece(); ok; i, ok = nextPiece() {
		r.yield()
		f(r.self, i)
	}
}

// addTo adds x to y.
func (r *run) addTo(y, x []float32) { r.device.simd.Add(y, y, x) }

// sumParts sets sums to the total of parts, added in order. Each part holds one partial result per
// sum, in the order of sums.
func (r *run) sumParts(parts []float32, sums ...[]float32) {
	for _, s := range sums {
		clear(s)
	}
	for len(parts) > 0 {
		for _, s := range sums {
			r.addTo(s, parts)
			parts = parts[len(s):]
		}
	}
}

// columnBlock is the number of columns that a worker sums in one piece.
const columnBlock = 64

// eachColumns splits n columns into blocks and calls f for each block on the workers.
func (r *run) eachColumns(n int, f func(lo, hi int)) {
	r.parallel((n+columnBlock-1)/columnBlock, func(_ *worker, i int) { f(i*columnBlock, min(n, (i+1)*columnBlock)) })
}

// sumRows is the number of rows that are summed before their sum is added to the total. Adding all
// rows in one chain of float32 additions would lose precision.
const sumRows = 256
