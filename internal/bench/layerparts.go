package bench

import (
	"context"
	"strings"

	"github.com/sftseq/sftseq/internal/tensor"
	"github.com/sftseq/sftseq/sft/train"
)

// LayerParts holds the times of the parts of one layer in seconds.
type LayerParts struct {
	Sampling float64
	Q, K, V  float64
	C        float64 // projection of the leak
	Out      float64 // output projection of all heads together
	Pairs    float64 // scores, probabilities and weighted sums without relative encoding
	Relative float64 // additional time of attention with the relative encoding, including its tables
	MLP      float64
}

// MeasureParts measures the parts of the layer on a number of sequences. Each projection is measured
// separately, on the number of rows that it projects. The other times follow from two profiles of a model
// with these layers, without and with the relative encoding; reps is the number of runs per profile. On a
// Vulkan device MLP is 0, because its profile does not distinguish the MLP from other matrix products.
func (l Layer) MeasureParts(ctx context.Context, device tensor.Device, sequences, reps int) (p LayerParts, err error) {
	rows, sampled := sequences*l.Length, sequences*min(l.K, l.Length)
	for _, part := range []struct {
		seconds *float64
		size    product
	}{{&p.Q, product{rows, tableHidden, tableHidden}}, {&p.K, product{sampled, tableHidden, tableHidden}},
		{&p.V, product{sampled, tableHidden, tableHidden}},
		{&p.C, product{sampled, tableHidden, l.Heads}}, {&p.Out, product{rows, tableHidden, tableHidden}}} {
		r, err := part.size.linear().Measure(ctx, device, nil)
		if err != nil {
			return p, err
		}
		*part.seconds = r.Seconds
	}
	l.Relative = "none"
	plain, err := l.profile(ctx, device, sequences, reps)
	if err != nil {
		return p, err
	}
	l.Relative = "sinusoid_hadamard"
	related, err := l.profile(ctx, device, sequences, reps)
	p.Sampling = plain["rowdot"] + plain["sample"] + plain["duplet"]
	p.Pairs, p.MLP = plain["attention"], plain["feedforward"]
	p.Relative = max(0, related["attention"]-plain["attention"]) + related["sinusoid"]
	return p, err
}

// profile returns the time per layer of each kernel in seconds: the median over the runs, whose number is
// reps. A key is a kernel name up to the first underscore. The times include the kernels of the model's head.
func (l Layer) profile(ctx context.Context, device tensor.Device, sequences, reps int) (map[string]float64, error) {
	w := &Workload{Config: l.config(), Settings: train.Settings{Batch: sequences}, Length: l.Length, Device: device}
	f, err := w.Prepare(Forward)
	if err == nil {
		err = f(ctx) // warm-up
	}
	if err != nil {
		return nil, err
	}
	seconds := map[string][]float64{}
	for range reps {
		times, err := kernelTimes(device, func() error { return f(ctx) })
		if err != nil {
			return nil, err
		}
		run := map[string]float64{}
		for _, t := range times { // a device may list a kernel several times
			name, _, _ := strings.Cut(t.Name, "_")
			run[name] += t.Seconds / tableLayers
		}
		for name, s := range run {
			seconds[name] = append(seconds[name], s)
		}
	}
	out := map[string]float64{}
	for name, s := range seconds {
		out[name] = SpreadOf(s).Median
	}
	return out, nil
}
