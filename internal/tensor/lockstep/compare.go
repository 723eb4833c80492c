package lockstep

import (
	"fmt"
	"math"

	"github.com/sftseq/sftseq/internal/tensor"
)

// Let a be the value of an element on the first device. The value on the second device may differ by
// at most tolerance·(|a| + size) + cancelled·largest. size is the root mean square of the element's
// tensor, and largest is the maximum size of the tensors that the launch wrote to the same region.
// The second term covers rounding errors that remain when large terms cancel. Integers must be equal.
const (
	tolerance = 2e-5
	cancelled = 1e-6
)

// Difference is the error for a launch whose results differ between the devices.
type Difference struct {
	Devices     [2]string
	Segment     string
	Launch      int // index of the launch in the program
	Kernel      string
	Tensor      *tensor.Tensor
	Description string
}

func (d *Difference) Error() string {
	return fmt.Sprintf("%s and %s differ in segment %q, launch %d: %s writes %v: %s",
		d.Devices[0], d.Devices[1], d.Segment, d.Launch, d.Kernel, d.Tensor, d.Description)
}

// results holds the results of a launch on both devices.
type results struct {
	kernel       tensor.Kernel
	counts       []int32 // number of rows in use, by axis; then the length of the longest sequence
	count        []int32 // number of sampled keys per sequence; only for Duplet and AttentionBackward
	firstSampled []int32 // first row of sampled keys of each sequence; nil if count is nil
	written      map[*tensor.Tensor][2][]uint32
}

// compare compares the results of launch i and copies the first device's results to the second.
func (x *executable) compare(segment string, i int, first, second tensor.Binding) error {
	k := x.program.Launches[i]
	r, err := x.results(k, first, second)
	if err != nil {
		return err
	}
	report := func(t *tensor.Tensor, description string) error {
		return &Difference{[2]string{x.device.first.Name(), x.device.second.Name()}, segment,
			i, tensor.Name(k), t, description}
	}
	sample, sampler := k.(tensor.Sample)
	worst := 0.0
	for _, t := range tensor.Writes(k) {
		if sampler && (t == sample.Top || t == sample.Partner) {
			continue
		}
		difference, description := r.compare(t)
		if description != "" {
			return report(t, description)
		}
		worst = max(worst, difference)
	}
	var flips []Flip
	if sampler {
		if flips, err = x.flips(sample, first, second); err != nil {
			return err
		}
		for _, f := range flips {
			if !f.Rounding() {
				return report(f.Tensor, f.String())
			}
		}
	}
	for t, words := range r.written {
		if err := second[t.Region].Write(t.Offset, words[0]); err != nil {
			return err
		}
	}
	d := x.device
	d.mu.Lock()
	defer d.mu.Unlock()
	d.flips = append(d.flips, flips...)
	d.worst[tensor.Name(k)] = max(d.worst[tensor.Name(k)], worst)
	return nil
}

// results downloads the results of a launch.
func (x *executable) results(k tensor.Kernel, first, second tensor.Binding) (*results, error) {
	r := &results{kernel: k, written: map[*tensor.Tensor][2][]uint32{}}
	for _, t := range tensor.Writes(k) {
		a, b := make([]uint32, t.Words()), make([]uint32, t.Words())
		if err := tensor.Download(first[t.Region], t, a); err != nil {
			return nil, err
		}
		if err := tensor.Download(second[t.Region], t, b); err != nil {
			return nil, err
		}
		r.written[t] = [2][]uint32{a, b}
	}
	var err error
	if c := x.program.Counts; c != nil {
		r.counts, err = downloadInts(first, c)
	}
	var count *tensor.Tensor
	var batch *tensor.Batch
	switch k := k.(type) {
	case tensor.Duplet:
		count, batch = k.Count, k.Batch
	case tensor.AttentionBackward:
		count, batch = k.Forward.Count, k.Forward.Batch
	}
	if err == nil && count != nil {
		if r.count, err = downloadInts(first, count); err == nil {
			r.firstSampled, err = downloadInts(first, batch.SampleOffset)
		}
	}
	return r, err
}

// downloadInts returns the words of t as integers.
func downloadInts(mem tensor.Binding, t *tensor.Tensor) ([]int32, error) {
	x := make([]int32, t.Words())
	return x, tensor.Download(mem[t.Region], t, x)
}

// compare returns the largest difference in a tensor as a fraction of the tolerance. At the first
// difference that exceeds the tolerance it stops and describes this difference; otherwise the
// description is empty.
func (r *results) compare(t *tensor.Tensor) (worst float64, description string) {
	size, largest := r.size(t), 0.0
	for o := range r.written {
		if o.Region == t.Region {
			largest = max(largest, r.size(o))
		}
	}
	r.eachDefined(t, func(index int) {
		a, b := r.value(t, 0, index), r.value(t, 1, index)
		if a == b || a != a && b != b || description != "" {
			return
		}
		bound := 0.0
		if !t.Int {
			bound = tolerance*(math.Abs(a)+size) + cancelled*largest
		}
		difference := math.Abs(a - b)
		worst = max(worst, difference/bound)
		if !(difference <= bound) {
			description = fmt.Sprintf("row %d, column %d: %v and %v, difference %.1e, tolerance %.1e", index/t.Width(),
				index%t.Width(), a, b, difference, bound)
		}
	})
	return worst, description
}

// value returns a word of a tensor on device 0 or 1.
func (r *results) value(t *tensor.Tensor, device, index int) float64 {
	w := r.written[t][device][index]
	if t.Int {
		return float64(int32(w))
	}
	return float64(math.Float32frombits(w))
}

// size returns the root mean square of a tensor on the first device; 0 for integers.
func (r *results) size(t *tensor.Tensor) float64 {
	sum, n := 0.0, 0
	r.eachDefined(t, func(index int) {
		if v := r.value(t, 0, index); v-v == 0 && !t.Int {
			sum += v * v
			n++
		}
	})
	return math.Sqrt(sum / float64(max(n, 1)))
}

// eachDefined visits the elements of a tensor that the launch defines. These are the rows in use; in
// tables, the entries that the longest sequence needs. If the kernel leaves unused rows of sampled
// keys undefined, eachDefined skips these rows.
func (r *results) eachDefined(t *tensor.Tensor, visit func(index int)) {
	rows, columns := t.Shape[0], t.Width()
	if t.Rows != tensor.Fixed {
		rows = int(r.counts[t.Rows])
	}
	keys := false
	switch k := r.kernel.(type) {
	case tensor.Sinusoid:
		columns = r.tableColumns()
	case tensor.Duplet:
		keys = t == k.P
	case tensor.AttentionBackward:
		if g, ok := k.Gradient.(tensor.SinusoidGradient); ok {
			keys = t == g.DP
			if t == g.DF || t == g.DG {
				columns = r.tableColumns()
			}
		}
	}
	sequence := 0
	for row := range rows {
		if keys {
			for int(r.firstSampled[sequence+1]) <= row {
				sequence++
			}
			if row >= int(r.firstSampled[sequence]+r.count[sequence]) {
				continue
			}
		}
		for column := range columns {
			visit(row*t.Width() + column)
		}
	}
}

// tableColumns returns the number of entries in use in a row of the relative encoding's tables.
func (r *results) tableColumns() int { return 2*int(r.counts[tensor.CountLongest]) - 1 }
