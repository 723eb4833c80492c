package bench

import (
	"math"
	"testing"

	"github.com/sftseq/sftseq/internal/cpu"
	"github.com/sftseq/sftseq/internal/tensor"
	"github.com/sftseq/sftseq/internal/testenv"
	"github.com/sftseq/sftseq/sft/config"
	"github.com/sftseq/sftseq/sft/train"
)

// gpu is a device with its own memory, whose kernels have the names of shaders.
type gpu struct{ tensor.Device }

func (gpu) Budget() int64                        { return 0 }
func (gpu) Scratch(*tensor.Program) (int, error) { return 0, nil }

// TestOperations checks the numbers of operations against the formulas of the layers.
func TestOperations(t *testing.T) {
	cfg := Layer{"sft", "sinusoid_hadamard", 64, TableLength, LayerShapes["usual"]}.config()
	w := &Workload{Config: cfg, Settings: train.Settings{Batch: 3}, Length: 100, Device: cpu.New(1)}
	const (
		d, wide, layers, classes = tableHidden, 4 * tableHidden, tableLayers, 2
		tokens, sampled          = 3 * 100, 3 * 64
		query, key               = 2 * 2 * tokens * d * d, 2 * 2 * sampled * d * d // query and output; key and value
		leak                     = 2 * sampled * d * 16                            // for 16 heads
		mlp                      = 2 * 2 * tokens * d * wide
		head                     = 2 * 3 * d * classes
		pair                     = 2 * tokens * 64 * d // one sum over the channels of all pairs
		linear                   = layers*(query+key+leak+mlp) + head
	)
	for pass, want := range map[string]float64{Forward: linear + layers*2*pair, Train: 3*linear + layers*7*pair} {
		withDevice := *w
		withDevice.Device = gpu{w.Device}
		o, err := withDevice.Operations(pass)
		if err != nil {
			t.Fatal(err)
		}
		if o.Total() != want {
			t.Errorf("%s: got %v operations, want %v", pass, o.Total(), want)
		}
		c := &Ceilings{FMA: 4, MaxAdd: 2}
		times := 1.0
		if pass == Train {
			times = 3
		}
		for shader, want := range map[string][2]float64{
			"matmul":         {times * linear, times * linear / 4 / 10},
			"matmul_coopmat": {times * linear, times * linear / 4 / 10},
			"attention":      {layers * 2 * pair, layers * (pair/4. + pair/2.) / 10},
			"gelu":           {0, 0},
		} {
			if n, fraction := o.Of(shader, 10, c); n != want[0] || math.Abs(fraction-want[1]) > 1e-9*want[1] {
				t.Errorf("%s in %s: got %v operations and the fraction %v of peak, want %v", shader, pass, n,
					fraction, want)
			}
		}
		if n, fraction := o.Of("attention_backward_keys", 10, nil); (n > 0) != (pass == Train) || fraction != 0 {
			t.Errorf("%s: got %v operations and the fraction %v, want operations only in training, and 0",
				pass, n, fraction)
		}
	}
	const taps = 5 + 9
	cfg.Convolutions = []config.Convolution{{KernelSize: 5, Dilation: 1}, {KernelSize: 9, Dilation: 3}}
	for pass, want := range map[string]float64{Forward: linear + layers*2*pair + layers*2*tokens*d*taps,
		Train: 3*linear + layers*7*pair + 3*layers*2*tokens*d*taps} {
		if o, err := w.Operations(pass); err != nil || o.Total() != want {
			t.Errorf("%s with convolutions: got %+v, want %v; error %v", pass, o, want, err)
		} else {
			once := float64(layers * 2 * tokens * d * taps)
			for kernel, want := range map[string]float64{
				"convolution": once, "attention": layers * 2 * pair, "gelu": 0,
				"convolution_backward": map[string]float64{Train: 2 * once}[pass],
				"attention_backward":   map[string]float64{Train: layers * 5 * pair}[pass],
				"linear_backward":      map[string]float64{Train: 2 * linear}[pass],
			} {
				if n, _ := o.Of(kernel, 1, nil); n != want {
					t.Errorf("%s in %s: got %v operations, want %v", kernel, pass, n, want)
				}
			}
		}
	}
	withDevice := *w
	withDevice.Device = gpu{w.Device}
	if o, err := withDevice.Operations(Train); err != nil {
		t.Error(err)
	} else if n, _ := o.Of("matmul", 1, nil); n != 3*linear {
		t.Errorf("with convolutions: got %v operations of products, want %v", n, 3*linear)
	}
	cfg.Convolutions = nil
	cfg.Score = "dot"
	if o, err := w.Operations(Forward); err != nil || o.total.comparisons != 0 || o.Total() != linear+layers*2*pair {
		t.Errorf("dot products: got %+v, error %v; want %v operations, all of them products", o, err,
			linear+layers*2*pair)
	}
}

// TestProductRate checks that the measured rate of a matrix product is at least 1e8 FLOP/s.
func TestProductRate(t *testing.T) {
	testenv.Long(t, "multiplies large matrices")
	if rate, err := ProductRate(t.Context(), cpu.New(2)); err != nil || rate < 1e8 {
		t.Errorf("got %v FLOP/s, error %v; want at least 1e8", rate, err)
	}
}
