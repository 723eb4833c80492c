package bench

import (
	"context"
	"math"
	"slices"
	"testing"
	"testing/synctest"
	"time"

	"github.com/sftseq/sftseq/internal/cpu"
	"github.com/sftseq/sftseq/internal/distributed"
	"github.com/sftseq/sftseq/internal/must"
	"github.com/sftseq/sftseq/internal/tensor"
	"github.com/sftseq/sftseq/internal/testenv"
	"github.com/sftseq/sftseq/lra"
	"github.com/sftseq/sftseq/sft"
	"github.com/sftseq/sftseq/sft/config"
)

// tinyWorkload returns a workload of 20 examples of 1,000 tokens, or of 20 pairs of 500 tokens each.
func tinyWorkload(t *testing.T, task *lra.Task) *Workload {
	t.Helper()
	spec := must.Get(task.Spec())(t)
	c := task.Presets[0].Config
	c.HiddenSize, c.NumHeads, c.SinusoidDim, c.NumLayers, c.IntermediateSize, c.NumSampledTokens = 8, 2, 8, 1, 8, 4
	if err := c.DescribeData(spec); err != nil {
		t.Fatal(err)
	}
	w := &Workload{Config: &c, Settings: task.Presets[0].Settings, Length: 1000, Device: cpu.New(2)}
	w.Settings.Batch = 20
	return w
}

// TestMeasurement checks that the batch is split as in training, and that all figures are plausible
// times.
func TestMeasurement(t *testing.T) {
	testenv.Long(t, "measures training steps")
	for _, task := range []*lra.Task{lra.ListOps, lra.Retrieval} {
		m := ClusterMeasurement{tinyWorkload(t, task)}
		b := m.Batch()
		if want := []int{5000, 5000, 5000, 5000}; !slices.Equal(b.MicroBatches, want) ||
			b.Parameters != sft.NewParameters(m.Config).Words || b.Results != 20*(1+m.Config.NumLabels) {
			t.Errorf("%s: got batch %+v, want micro-batches %v and the parameters and results of 20 examples",
				task.Name, b, want)
		}
		f, err := m.Figures(t.Context())
		if err != nil {
			t.Fatalf("%s: %v", task.Name, err)
		}
		for name, v := range map[string]float64{"alone": f.Alone, "together": f.Together, "update": f.Update,
			"copy": f.Copy, "add": f.Add} {
			if !(v > 0 && v < 1) {
				t.Errorf("%s: %s: got %v s, want between 0 and 1", task.Name, name, v)
			}
		}
		if f.Together > f.Alone {
			t.Errorf("%s: got figures %+v, want Together at most Alone", task.Name, f)
		}
		m.Device = cpu.New(1) // a device that runs one micro-batch at a time
		if f, err = m.Figures(t.Context()); err != nil || f.Together != f.Alone {
			t.Errorf("%s: got figures %+v, error %v, want Together equal to Alone", task.Name, f, err)
		}
	}
}

// TestMeasurementOfGraphs checks that graphs with a label per node can be measured. In the step on a
// single token, an edge to another token or a second label would be an error.
func TestMeasurementOfGraphs(t *testing.T) {
	testenv.Long(t, "measures training steps")
	task, spec := lra.Generated(lra.GraphsName)
	c := task.Presets[0].Config
	c.NumLayers, c.NumSampledTokens = 1, 4
	must.Succeed(t, c.DescribeData(spec))
	c.Task = config.Tagging
	w := &Workload{Config: &c, Settings: task.Presets[0].Settings, Length: 1000, EdgesPerNode: 8, Device: cpu.New(1)}
	w.Settings.Select = ""
	if f, err := (ClusterMeasurement{w}).Figures(t.Context()); err != nil || !(f.Alone > 0 && f.Update > 0) {
		t.Errorf("got figures %+v, error %v, want Alone and Update above 0", f, err)
	}
}

// slow is a CPU device with known times for reading, writing and running.
type slow struct{ tensor.Device }

const (
	slowRead  = 10 * time.Millisecond
	slowWrite = 30 * time.Millisecond
	slowRun   = 70 * time.Millisecond
)

type slowMemory struct{ tensor.Memory }

type slowExecutable struct{ tensor.Executable }

func (d slow) Allocate(words int) (tensor.Memory, error) {
	m, err := d.Device.Allocate(words)
	return slowMemory{m}, err
}

func (m slowMemory) Read(offset int, words []uint32) error {
	time.Sleep(slowRead)
	return m.Memory.Read(offset, words)
}

func (m slowMemory) Write(offset int, words []uint32) error {
	time.Sleep(slowWrite)
	return m.Memory.Write(offset, words)
}

func (d slow) Prepare(p *tensor.Program) (tensor.Executable, error) {
	x, err := d.Device.Prepare(p)
	return slowExecutable{x}, err
}

func (x slowExecutable) Run(ctx context.Context, memory tensor.Binding, from, to int) error {
	for i, m := range memory {
		if m != nil {
			memory[i] = m.(slowMemory).Memory
		}
	}
	time.Sleep(slowRun)
	return x.Executable.Run(ctx, memory, from, to)
}

// TestMeasureExchange checks that the copy time per word is the mean of reading and writing. It also
// checks that the add time per word follows from a sum of all words.
func TestMeasureExchange(t *testing.T) {
	synctest.Test(t, func(t *testing.T) { // synctest's clock advances only in Sleep
		d := slow{cpu.New(1)}
		defer d.Close()
		const words = 1000
		copying, adding := must.Get2(measureExchange(t.Context(), d, words))(t)
		near := func(got float64, want time.Duration) bool { return math.Abs(got*words-want.Seconds()) < 1e-9 }
		if !near(copying, (slowRead+slowWrite)/2) || !near(adding, slowRun) {
			t.Errorf("got %v s to copy and %v s to add %d words, want 0.02 s and 0.07 s", copying*words,
				adding*words, words)
		}
	})
}

// TestTokenTimes checks that tokenTimes subtracts the update from every step, that noise never makes a
// time negative, and that Together is at most Alone.
func TestTokenTimes(t *testing.T) {
	if f := tokenTimes(4000, 16000, 1, 5, 9); f != (distributed.ClusterFigures{Alone: 1e-3, Together: 5e-4,
		Update: 1}) {
		t.Errorf("got %+v, want Alone 0.001, Together 0.0005 and Update 1", f)
	}
	if f := tokenTimes(4000, 16000, 6, 5, 30); f.Alone != 0 || f.Together != 0 {
		t.Errorf("got %+v, want Alone and Together 0", f)
	}
	if f := tokenTimes(4000, 8000, 0, 4, 10); f.Together != 1e-3 {
		t.Errorf("got %+v, want Together 0.001", f)
	}
}
