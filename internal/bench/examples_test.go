package bench

import (
	"math"
	"reflect"
	"runtime"
	"testing"

	"github.com/sftseq/sftseq/internal/cpu"
	"github.com/sftseq/sftseq/internal/testenv"
	"github.com/sftseq/sftseq/lra"
	"github.com/sftseq/sftseq/sft"
	"github.com/sftseq/sftseq/sft/config"
)

// generated returns a workload for a model of clouds or graphs.
func generated(t *testing.T, name string, change func(c *sft.Config)) *Workload {
	t.Helper()
	task, spec := lra.Generated(name)
	c, s := task.Presets[0].Config, task.Presets[0].Settings
	change(&c)
	if err := c.DescribeData(spec); err != nil {
		t.Fatal(err)
	}
	s.Batch = 2
	return &Workload{Config: &c, Settings: s, Length: 1000, EdgesPerNode: DefaultEdges,
		Device: cpu.New(1), Memory: 4 << 30}
}

// TestClouds checks that points lie on the unit sphere with a mean near its centre, each with its
// normal, and that examples are distinct and reproducible.
func TestClouds(t *testing.T) {
	w := generated(t, lra.Shapes.Name, func(*sft.Config) {})
	examples := w.Examples()
	if !reflect.DeepEqual(examples, w.Examples()) {
		t.Error("the second call of Examples returns other examples")
	}
	if reflect.DeepEqual(examples[0].Features, examples[1].Features) {
		t.Error("two examples are equal")
	}
	for _, e := range examples {
		if len(e.Features) != w.Length || e.Edges != nil {
			t.Fatalf("got %d points and edges %#v, want %d points and nil", len(e.Features), e.Edges, w.Length)
		}
		var mean [3]float64
		for i, row := range e.Features {
			square := 0.0
			for c, v := range row[:3] {
				square += float64(v) * float64(v)
				mean[c] += float64(v) / float64(w.Length)
				if row[3+c] != v {
					t.Fatalf("point %d: got normal %v, want the position %v", i, row[3:], row[:3])
				}
			}
			if math.Abs(square-1) > 1e-6 {
				t.Fatalf("point %d: got squared distance %v of %v, want 1", i, square, row[:3])
			}
		}
		for _, v := range mean { // the standard deviation is √(1/3000)
			if math.Abs(v) > 0.1 {
				t.Errorf("got mean point %v, want about 0", mean)
			}
		}
	}
}

// TestGraphs checks that a graph has the requested number of edges. The numbers of nodes without an
// outgoing or an incoming edge must agree with uniformly drawn sources and targets.
func TestGraphs(t *testing.T) {
	w := generated(t, lra.GraphsName, func(*sft.Config) {})
	w.EdgesPerNode = 3
	examples := w.Examples()
	if !reflect.DeepEqual(examples, w.Examples()) || reflect.DeepEqual(examples[0].Edges, examples[1].Edges) {
		t.Error("Examples is not reproducible, or two examples have equal edges")
	}
	for _, e := range examples {
		if len(e.Features) != w.Length || len(e.Edges) != 3*w.Length {
			t.Fatalf("got %d nodes and %d edges, want %d and %d", len(e.Features), len(e.Edges), w.Length, 3*w.Length)
		}
		if err := w.Config.CheckExample(e); err != nil {
			t.Error(err)
		}
		sources, targets, highest := map[int32]bool{}, map[int32]bool{}, float32(0)
		for _, edge := range e.Edges {
			sources[edge.Source], targets[edge.Target] = true, true
			highest = max(highest, edge.Features[0])
		}
		// 3000 draws miss about 1000·e⁻³ = 50 of 1000 nodes, with a standard deviation of 6.
		if n := 1000 - len(sources); n < 15 || n > 85 {
			t.Errorf("%d nodes are not a source, want about 50", n)
		}
		if n := 1000 - len(targets); n < 15 || n > 85 {
			t.Errorf("%d nodes are not a target, want about 50", n)
		}
		if highest < 0.99 || highest > 1 {
			t.Errorf("got features up to %v, want about 1", highest)
		}
	}
}

// TestCloudsOfEveryTask checks that tagging, multi-label and regression models of clouds can be
// measured.
func TestCloudsOfEveryTask(t *testing.T) {
	for _, task := range []string{config.Tagging, config.MultiLabel} {
		w := generated(t, lra.Shapes.Name, func(*sft.Config) {})
		w.Config.Task, w.Settings.Select = task, ""
		for _, pass := range []string{Forward, Train} {
			run, err := w.Prepare(pass)
			if err == nil {
				err = run(t.Context())
			}
			if err != nil {
				t.Errorf("%s, %s: %v", w.Config.Task, pass, err)
			}
		}
	}
	w := generated(t, lra.Shapes.Name, func(*sft.Config) {})
	w.Config.Task, w.Config.LabelNames = config.Regression, nil
	w.Config.NumLabels, w.Config.Numbers = 1, []config.Number{{Name: "volume", Mean: 100, Deviation: 2}}
	w.Settings.Select = ""
	run, err := w.Prepare(Train)
	if err == nil {
		err = run(t.Context())
	}
	if err != nil {
		t.Errorf("regression: %v", err)
	}
	for _, e := range w.Examples() {
		if len(e.Numbers) != 1 || math.Abs(float64(e.Numbers[0])-100) > 2 {
			t.Errorf("got numbers %v, want one from 98 to 102", e.Numbers)
		}
	}
}

// TestMemoryIsLinear checks that the memory of models of clouds and graphs grows linearly with the
// number of tokens and edges, and hardly with the number of sampled tokens. Nothing may be stored
// per pair of tokens, or per pair of token and sampled token.
func TestMemoryIsLinear(t *testing.T) {
	testenv.Long(t, "trains on long sequences")
	allocated := func(name, pass string, length, k int) float64 {
		w := generated(t, name, func(c *sft.Config) { c.NumSampledTokens = k })
		w.Settings.Batch, w.Length = 1, length
		var before, after runtime.MemStats
		runtime.ReadMemStats(&before)
		run, err := w.Prepare(pass)
		if err == nil {
			err = run(t.Context())
		}
		if err != nil {
			t.Fatalf("%s, %s of %d tokens: %v", name, pass, length, err)
		}
		runtime.ReadMemStats(&after)
		return float64(after.TotalAlloc - before.TotalAlloc)
	}
	for _, name := range lra.GeneratedNames {
		for _, pass := range []string{Forward, Train} {
			const length, k = 2000, 32
			usual := allocated(name, pass, length, k)
			if ratio := allocated(name, pass, 4*length, k) / usual; ratio > 6 {
				t.Errorf("%s, %s: four times the tokens take %.2f times the memory, want at most 6", name, pass, ratio)
			}
			if ratio := allocated(name, pass, length, 4*k) / usual; ratio > 1.1 {
				t.Errorf("%s, %s: four times the sampled tokens take %.2f times the memory, want at most 1.1",
					name, pass, ratio)
			}
		}
	}
}
