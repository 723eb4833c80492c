package train

import (
	"context"
	"errors"
	"maps"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/sftseq/sftseq/internal/cpu"
	"github.com/sftseq/sftseq/internal/must"
	"github.com/sftseq/sftseq/internal/tensor"
	"github.com/sftseq/sftseq/internal/tensor/lockstep"
	"github.com/sftseq/sftseq/internal/testenv"
	"github.com/sftseq/sftseq/sft/config"
	"github.com/sftseq/sftseq/sft/internal/configtest"
	"github.com/sftseq/sftseq/sft/internal/model"
	"github.com/sftseq/sftseq/sft/internal/modeltest"
)

// trainSteps performs training steps with sampler noise, dropped tokens and dropout, and returns the weights.
func trainSteps(t *testing.T, task, norm string, steps int, device tensor.Device, lengths ...int) ([]float32, error) {
	t.Helper()
	c := configtest.WithTask(configtest.TrainingConfig(), task)
	c.NormPosition, c.NumLayers, c.TieEmbeddings = norm, 2, task == config.FillMask && norm == "pre"
	if task == config.Classification {
		c.NGrams = configtest.TokenNGrams()
	}
	st := must.Get(NewStepper(modeltest.RandomModel(c, 2), runSettings(), device, 2*model.MicroBatchTokens, 0))(t)
	for range steps {
		// With the seed (1, 2), the terms of a residual scale's gradient almost cancel. Their sum on CPUs
		// with AVX2, −0.0066, then differs from llvmpipe's by 3.1e-7: a rounding error of the terms, but
		// above the tolerance of 2.7e-7.
		examples := configtest.RandomExamples(c, rand.New(rand.NewPCG(1, 3)), lengths...)
		if _, err := st.Step(t.Context(), examples); err != nil {
			return nil, err
		}
	}
	w := make([]float32, st.engine.Params.Words)
	return w, st.engine.Weights.Read(0, tensor.Bits(w))
}

// TestCheckedStep compares every launch of training steps on Vulkan with the CPU: forward, backward and
// update. Without -short, one case has two micro-batches and also merges their gradients.
func TestCheckedStep(t *testing.T) {
	testenv.NoRace(t, "compares with slow loops in float64")
	vulkan := configtest.Vulkan(t)
	for _, task := range config.Tasks() {
		for _, norm := range []string{"pre", "post"} {
			lengths := []int{200, 1, 150, 40}
			if task == config.Classification && norm == "pre" && !testing.Short() {
				lengths[0] = model.MicroBatchTokens // fills a micro-batch
			}
			t.Run(task+"/"+norm, func(t *testing.T) {
				d := lockstep.New(cpu.New(2), vulkan)
				got := must.Get(trainSteps(t, task, norm, 2, d, lengths...))(t)
				want, err := trainSteps(t, task, norm, 2, cpu.New(2), lengths...)
				if err != nil || !slices.Equal(got, want) {
					t.Errorf("weights after checked steps differ from those of the CPU alone; error %v", err)
				}
				for _, f := range d.Flips() {
					t.Log(f)
				}
				worst := d.Worst()
				for _, kernel := range slices.Sorted(maps.Keys(worst)) {
					t.Logf("%s: %.2f of the tolerance", kernel, worst[kernel])
				}
			})
		}
	}
}

// broken is a device that changes the first word of one output tensor of a kernel the first time that
// the kernel runs.
type broken struct {
	tensor.Device
	kernel  string
	output  int
	changed *tensor.Tensor // the changed tensor; nil if none has been changed
}

func (d *broken) Prepare(p *tensor.Program) (tensor.Executable, error) {
	x, err := d.Device.Prepare(p)
	return brokenRun{x, d}, err
}

type brokenRun struct {
	tensor.Executable
	device *broken
}

func (x brokenRun) Run(ctx context.Context, mem tensor.Binding, from, to int) error {
	return x.Inspect(ctx, mem, from, to, func(k tensor.Kernel) error {
		d := x.device
		if d.changed != nil || tensor.Name(k) != d.kernel || d.output >= len(tensor.Writes(k)) {
			return nil
		}
		d.changed = tensor.Writes(k)[d.output]
		var v [1]float32
		err := tensor.Download(mem[d.changed.Region], d.changed, v[:])
		if v[0] = 2*v[0] + 1; d.changed.Int {
			tensor.Bits(v[:])[0]++
		}
		return errors.Join(err, tensor.Upload(mem[d.changed.Region], d.changed, v[:]))
	})
}

// TestCheckingNames checks that the error for a wrong output names the kernel and the tensor, for
// every output of every kernel in a training step of a retrieval model.
func TestCheckingNames(t *testing.T) {
	lengths := []int{30, 1, 7}
	complete := lockstep.New(cpu.New(2), cpu.New(2))
	must.Get(trainSteps(t, config.Retrieval, "post", 1, complete, lengths...))(t)
	kernels := complete.Worst()
	if len(kernels) < 30 {
		t.Errorf("%d kernels in a step, want at least 30", len(kernels))
	}
	for kernel := range kernels {
		for output := 0; ; output++ {
			d := &broken{Device: cpu.New(2), kernel: kernel, output: output}
			_, err := trainSteps(t, config.Retrieval, "post", 1, lockstep.New(cpu.New(2), d), lengths...)
			if d.changed == nil {
				break
			}
			var e *lockstep.Difference
			if !errors.As(err, &e) || e.Kernel != kernel || e.Tensor != d.changed {
				t.Errorf("kernel %s with the changed output %v: got error %v, want a difference that names both",
					kernel, d.changed, err)
			}
		}
	}
}
