package bench

import (
	"context"
	"slices"
	"time"

	"github.com/sftseq/sftseq/internal/distributed"
	"github.com/sftseq/sftseq/internal/tensor"
	"github.com/sftseq/sftseq/seq"
	"github.com/sftseq/sftseq/sft"
	"github.com/sftseq/sftseq/sft/train"
)

// repetitions is the minimum number of measurements of each time; the result is their median.
const repetitions = 3

// ClusterMeasurement measures the inputs of [distributed.PredictSteps] on one machine.
type ClusterMeasurement struct {
	*Workload // workload whose examples all have the same length
}

// Batch describes a step of the workload: its micro-batches, parameters and results.
func (m ClusterMeasurement) Batch() distributed.ClusterBatch {
	lengths := make([]int, m.Settings.Batch)
	for i := range lengths {
		lengths[i] = m.Length
	}
	b := distributed.ClusterBatch{Parameters: sft.NewParameters(m.Config).Words,
		Results: m.Settings.Batch * (1 + m.Config.NumLabels)}
	from := 0
	for _, end := range distributed.MicroBatches(lengths, distributed.MicroBatchTokens) {
		b.MicroBatches = append(b.MicroBatches, (end-from)*m.Length)
		from = end
	}
	return b
}

// Figures measures the exchange of gradients, and steps on batches of three sizes. The first batch has a
// single example of one token, so that its time is nearly that of the update alone. The second batch has
// one micro-batch. The third batch has as many micro-batches as the device runs concurrently, but at most
// the whole batch. The measurements of steps alternate, so that other load on the machine affects all of
// them.
func (m ClusterMeasurement) Figures(ctx context.Context) (f distributed.ClusterFigures, err error) {
	examplesPerMicroBatch := (distributed.MicroBatchTokens + m.Length - 1) / m.Length
	oneMicroBatch := min(examplesPerMicroBatch, m.Settings.Batch)
	concurrentMicroBatches := min(examplesPerMicroBatch*m.Device.Slots(), m.Settings.Batch)
	settings := m.Settings
	settings.Batch = concurrentMicroBatches
	sequences := m.Config.Sequences()
	stepper, err := train.NewStepper(sft.NewModel(m.Config, 1), settings, m.Device,
		(m.Length+sequences-1)/sequences, m.Memory)
	if err != nil {
		return distributed.ClusterFigures{}, err
	}
	defer stepper.Close()
	w := *m.Workload
	w.Settings = settings
	examples := w.Examples()
	sizes := [][]seq.Example{{firstToken(m.Config, examples[0])}, examples[:oneMicroBatch], examples}
	seconds := make([][]float64, len(sizes))
	for i := range 1 + repetitions { // the first round warms up
		for j, batch := range sizes {
			s, err := Seconds(ctx, func(ctx context.Context) error {
				_, err := stepper.Step(ctx, batch)
				return err
			}, 1, minTime(i))
			if err != nil {
				return distributed.ClusterFigures{}, err
			}
			if i > 0 {
				seconds[j] = append(seconds[j], s)
			}
		}
	}
	if oneMicroBatch == concurrentMicroBatches { // both are the same measurement
		both := slices.Concat(seconds[1], seconds[2])
		seconds[1], seconds[2] = both, both
	}
	f = tokenTimes(oneMicroBatch*m.Length, concurrentMicroBatches*m.Length, median(seconds[0]),
		median(seconds[1]), median(seconds[2]))
	f.Copy, f.Add, err = measureExchange(ctx, m.Device, sft.NewParameters(m.Config).Words)
	return f, err
}

// minTime returns the minimum total time of a measurement in round i. A single short step would be
// imprecise.
func minTime(i int) time.Duration {
	if i == 0 {
		return 0
	}
	return 100 * time.Millisecond
}

// tokenTimes returns the times per token and of the update, given the times of an update and of
// steps with one and with many micro-batches.
func tokenTimes(oneTokens, manyTokens int, update, one, many float64) distributed.ClusterFigures {
	rate := func(seconds float64, tokens int) float64 { return max(0, seconds-update) / float64(tokens) }
	f := distributed.ClusterFigures{Update: update, Alone: rate(one, oneTokens), Together: rate(many, manyTokens)}
	f.Together = min(f.Together, f.Alone) // concurrency does not make a token slower
	return f
}

func median(seconds []float64) float64 { return SpreadOf(seconds).Median }

// firstToken returns an example of one token, or a pair of one token each.
func firstToken(c *sft.Config, e seq.Example) seq.Example {
	if e.Labels != nil {
		e.Labels = e.Labels[:1]
	}
	if e.Features != nil {
		e.Features, e.Edges = e.Features[:1], seq.EdgesWithin(e.Edges, 1)
		return e
	}
	e.A = e.A[:1]
	if e.B != nil {
		e.B = e.B[:1]
	}
	return e
}

// measureExchange measures the work of an exchange other than sending, in seconds per word: the mean
// time of a copy from the device to a new buffer and a copy back, and the time to add partial sums.
func measureExchange(ctx context.Context, d tensor.Device, words int) (copying, adding float64, err error) {
	p := tensor.NewProgram()
	p.Segment("merge")
	g := tensor.At(tensor.Gradients, 0, "gradients", words)
	p.Launch(tensor.Add{Y: g, A: g, B: tensor.At(tensor.Partial, 0, "partial", words)})
	merge, err := d.Prepare(p.Finish())
	if err != nil {
		return 0, 0, err
	}
	var memory tensor.Binding
	for _, region := range []tensor.Region{tensor.Gradients, tensor.Partial} {
		if memory[region], err = d.Allocate(words); err != nil {
			return 0, 0, err
		}
		defer memory[region].Free()
	}
	const minTotal = 50 * time.Millisecond
	copying, err = Seconds(ctx, func(context.Context) error {
		buffer := make([]uint32, words)
		if err := memory[tensor.Gradients].Read(0, buffer); err != nil {
			return err
		}
		return memory[tensor.Partial].Write(0, buffer)
	}, repetitions, minTotal)
	if err != nil {
		return 0, 0, err
	}
	adding, err = Seconds(ctx, func(ctx context.Context) error { return merge.Run(ctx, memory, 0, 1) }, repetitions,
		minTotal)
	return copying / 2 / float64(words), adding / float64(words), err
}
