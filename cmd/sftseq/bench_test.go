package main

import (
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"path/filepath"
	"reflect"
	"strings"
	"testing"

	"github.com/urfave/cli/v2"

	"github.com/sftseq/sftseq/internal/bench"
	"github.com/sftseq/sftseq/internal/cpu"
	"github.com/sftseq/sftseq/internal/testenv"
	"github.com/sftseq/sftseq/lra"
	"github.com/sftseq/sftseq/sft/config"
	"github.com/sftseq/sftseq/vk"
)

// tinyConfig returns the path to the configuration of a golden model.
func tinyConfig() string { return goldenPath("pre", "config.json") }

// decodeLines reads lines of JSON and fails on unknown keys.
func decodeLines[T any](t *testing.T, text string) []T {
	t.Helper()
	var out []T
	for line := range strings.Lines(text) {
		var v T
		d := json.NewDecoder(strings.NewReader(line))
		d.DisallowUnknownFields()
		if err := d.Decode(&v); err != nil {
			t.Fatalf("%q: %v", line, err)
		}
		out = append(out, v)
	}
	return out
}

func TestBenchKernels(t *testing.T) {
	testenv.NoRace(t, "benchmarks code that the tests of package train cover")
	_, out, _ := program(nil, "bench", "kernels", "--only", "embed", "--json") // standard error may name slow steps
	first, rest, _ := strings.Cut(out, "\n")
	var c struct{ Ceilings bench.Ceilings }
	if err := json.Unmarshal([]byte(first), &c); err != nil || c.Ceilings.FMA <= 0 || len(c.Ceilings.Levels) != 4 {
		t.Errorf("got ceilings %s, error %v; want a positive multiply-add rate and 4 memory levels", first, err)
	}
	results := decodeLines[bench.KernelMeasurement](t, rest)
	if len(results) != 1 {
		t.Fatalf("got %d results, want 1:\n%s", len(results), rest)
	}
	if r := results[0]; r.Kernel != "embed backward" || r.Size == "" || r.Threads != 1 || r.Device == "" ||
		r.Precision != "fp32" || r.Seconds <= 0 || r.GBPS <= 0 || r.GFLOPS != 0 || r.Ceiling <= 0 {
		t.Errorf("unexpected result: %+v", r)
	}
	status, out, _ := program(nil, "bench", "kernels", "--only", "embed")
	if status != exitOK || !strings.HasPrefix(out, "kernel          size") ||
		!strings.Contains(out, "\nembed backward  17×128") || !strings.Contains(out, "peak rates in float32: ") {
		t.Errorf("got status %d, output\n%s\nwant status %d, the columns kernel and size, a row of embed backward "+
			"with 17×128, and the peak rates in float32", status, out, exitOK)
	}
	refuse(t, exitUsage, `--only "matmul"`, "", "bench", "kernels", "--only", "matmul")
}

func TestBenchModelJSON(t *testing.T) {
	testenv.NoRace(t, "benchmarks code that the tests of package train cover")
	out := succeed(t, "", "bench", "model", "--config", tinyConfig(), "--length", "64,32", "--batch", "2,1", "--reps",
		"2", "--k", "5", "--json")
	var keys map[string]any
	first, _, _ := strings.Cut(out, "\n")
	if err := json.Unmarshal([]byte(first), &keys); err != nil {
		t.Fatal(err)
	}
	for _, k := range []string{"what", "config", "length", "batch", "k", "threads", "device", "precision", "seconds",
		"tokens_per_s", "operations_per_token", "ceiling_fraction", "peak_bytes"} {
		if _, ok := keys[k]; !ok {
			t.Errorf("no key %q in %s", k, first)
		}
		delete(keys, k)
	}
	if len(keys) > 0 {
		t.Errorf("unexpected keys: %v", keys)
	}
	results := decodeLines[bench.ModelResult](t, out)
	if len(results) != 8 {
		t.Fatalf("%d results, want 8:\n%s", len(results), out)
	}
	for i, r := range results {
		want := bench.ModelResult{What: []string{"forward", "train"}[i%2], Config: tinyConfig(),
			Length: []int{64, 32}[i/2%2], Batch: []int{2, 1}[i/4],
			K: 5, Threads: 1, Device: r.Device, Precision: "fp32", Seconds: r.Seconds, TokensPerSec: r.TokensPerSec,
			Operations: r.Operations, Ceiling: r.Ceiling, PeakBytes: r.PeakBytes}
		if !reflect.DeepEqual(r, want) {
			t.Errorf("%+v, want %+v", r, want)
		}
		if rate := float64(r.Length*r.Batch) / r.Seconds; r.Seconds <= 0 || rate/r.TokensPerSec > 1.0001 ||
			r.TokensPerSec/rate > 1.0001 || r.PeakBytes <= 0 || r.Device == "" {
			t.Errorf("unexpected result: %+v", r)
		}
		// Other programs can slow down the measurement of the peak rate, so the fraction may exceed 1.
		if r.Operations <= 0 || r.Ceiling <= 0 {
			t.Errorf("got %v operations per token and %v of the peak rate, want more than 0", r.Operations, r.Ceiling)
		}
	}
}

func TestBenchModelTable(t *testing.T) {
	testenv.NoRace(t, "benchmarks code that the tests of package train cover")
	figure := filepath.Join(t.TempDir(), "speed.svg")
	out := succeed(t, "", "bench", "model", "--config", goldenPath("pre"), "--length", "16,32", "--batch", "2",
		"--reps", "1", "--what", "forward", "--plot", figure)
	rows := strings.Split(out, "\n")
	if !strings.HasPrefix(rows[0], "what     length  batch") || !strings.HasPrefix(rows[1], "forward      16      2") ||
		!strings.HasPrefix(rows[2], "forward      32      2") {
		t.Errorf("unexpected output:\n%s", out)
	}
	if text := readText(t, figure); !strings.Contains(text, "<svg") {
		t.Errorf("got the chart %.100q, want <svg in it", text)
	}
}

// TestBenchModelGenerated checks that models of clouds and graphs are measured without data, even at
// lengths beyond the configured maximum.
func TestBenchModelGenerated(t *testing.T) {
	testenv.NoRace(t, "benchmarks code that the tests of package train cover")
	for _, c := range []struct {
		config string
		more   []string
		edges  int
	}{
		{lra.Shapes.Name, nil, 0},
		{lra.GraphsName, nil, bench.DefaultEdges},
		{lra.GraphsName, []string{"--edges-per-node", "40"}, 40}, // more than the default
		{goldenPath("clouds"), []string{"--length", "5000"}, 0},
		{goldenPath("graphs"), []string{"--length", "5000"}, bench.DefaultEdges},
	} {
		args := append([]string{"bench", "model", "--config", c.config, "--k", "16", "--batch", "1", "--reps", "1",
			"--length", "100", "--json"}, c.more...)
		results := decodeLines[bench.ModelResult](t, succeed(t, "", args...))
		if len(results) != 2 {
			t.Fatalf("%v: got %+v, want 2 results", args, results)
		}
		for _, r := range results {
			if r.EdgesPerNode != c.edges || r.K != 16 || r.PeakBytes <= 0 {
				t.Errorf("%v: got %+v, want EdgesPerNode %d, K 16 and PeakBytes > 0", args, r, c.edges)
			}
		}
	}
}

// TestBenchModelPair checks that a model of pairs is measured, even if the two sequences cannot
// share the length equally.
func TestBenchModelPair(t *testing.T) {
	testenv.NoRace(t, "benchmarks code that the tests of package train cover")
	out := succeed(t, "", "bench", "model", "--config", goldenPath("retrieval"), "--length", "31", "--batch",
		"3", "--reps", "1", "--json")
	if results := decodeLines[bench.ModelResult](t, out); len(results) != 2 || results[1].What != "train" ||
		results[1].Length != 31 {
		t.Errorf("unexpected output:\n%s", out)
	}
}

// TestBenchModelSkips checks that measurements beyond the memory limit are reported as skipped, while
// all other measurements run.
func TestBenchModelSkips(t *testing.T) {
	testenv.NoRace(t, "benchmarks code that the tests of package train cover")
	status, out, errs := program(nil, "bench", "model", "--config", tinyConfig(), "--length", "64", "--batch", "1",
		"--reps", "1", "--memory", "100MiB", "--json")
	if results := decodeLines[bench.ModelResult](t, out); status != exitOK || len(results) != 1 ||
		results[0].What != "forward" {
		t.Errorf("got status %d, output\n%s\nwant status %d and one result, of forward", status, out, exitOK)
	}
	const skipped = "train at length 64, batch 1 is skipped: 100 MiB of memory allowed"
	if !strings.HasPrefix(errs, skipped) {
		t.Errorf("got standard error %q, want the prefix %q", errs, skipped)
	}
	refuse(t, exitError, "nothing was measured", "", "bench", "model", "--config", tinyConfig(), "--length", "64",
		"--what", "train", "--memory", "100MiB")
}

func TestExceedsMemory(t *testing.T) {
	for _, c := range []struct {
		err  error
		want bool
	}{{nil, false}, {errors.New("broken"), false}, {fmt.Errorf("forward: %w", &config.MemoryError{}), true},
		{fmt.Errorf("forward: %w", &vk.MemoryError{}), true}} {
		if got := exceedsMemory(c.err); got != c.want {
			t.Errorf("exceedsMemory(%v): got %v, want %v", c.err, got, c.want)
		}
	}
}

func TestBenchModelErrors(t *testing.T) {
	testenv.NoRace(t, "benchmarks code that the tests of package train cover")
	model := func(status int, want string, args ...string) {
		t.Helper()
		refuse(t, status, want, "", append([]string{"bench", "model"}, args...)...)
	}
	tiny := []string{"--config", tinyConfig(), "--length", "8", "--batch", "1"}
	model(exitUsage, `--what "backward"`, "--what", "backward")
	refuse(t, exitUsage, "--reps", "", "bench", "runtime", "--reps", "0")
	refuse(t, exitUsage, "--shape", "", "bench", "runtime", "--shape", "wide")
	model(exitUsage, "--reps 0", "--reps", "0")
	model(exitUsage, `--length "8,x": expected integers from 1 to 16777216, separated by commas, found "x"`, "--length",
		"8,x")
	model(exitUsage, "--batch \"2,2\": expected each number once, found 2 twice", "--batch", "2,2")
	model(exitUsage, `--batch "0": expected`, "--batch", "0")
	model(exitUsage, "--length 16000000: expected 1 to", "--config", tinyConfig(), "--length", "16000000")
	model(exitUsage, "tokens of shapes have no edges", "--config", lra.Shapes.Name, "--edges-per-node", "5")
	model(exitUsage, "--edges-per-node -1", "--config", lra.GraphsName, "--edges-per-node", "-1")
	model(exitUsage, "-k -1: expected", append(tiny, "--k", "-1")...)
	model(exitUsage, "--plot draws over length", append(tiny, "--plot", "x.svg")...)
	model(exitUsage, "--device \"abacus\": expected one of", "--device", "abacus")
	model(exitUsage, `"extra"`, "extra")
	model(exitError,
		`--config nothing: expected a config.json, a model directory or a task, such as text or text:paper (one of `+
			strings.Join(lra.Names(), ", ")+"): no such file or directory", "--config", "nothing")
	model(exitError, "config.json", "--config", t.TempDir())
	model(exitError, `preset "no": expected one of quick, hour, paper`, "--config", "text:no")
}

// TestBenchConfig checks that a task name selects its published model, and that a task with a
// preset selects the model of the preset.
func TestBenchConfig(t *testing.T) {
	testenv.NoRace(t, "benchmarks code that the tests of package train cover")
	for name, layers := range map[string]int{"text": 4, "text:paper": 4, "text:quick": 3, "image:quick": 4} {
		task, preset, _ := strings.Cut(name, ":")
		if config, _, err := benchConfig(name); err != nil || config.NumLayers != layers ||
			len(config.Convolutions) > 0 != (preset == "quick") {
			t.Errorf("task %s, preset %q: got config %+v, error %v; want NumLayers %d and (Convolutions not empty) = "+
				"%t", task, preset, config, err, layers, preset == "quick")
		}
	}
}

// TestBenchRuntime checks that bench runtime measures each layer of a shape, and omits the paper's
// result if the length differs from the paper's.
func TestBenchRuntime(t *testing.T) {
	testenv.NoRace(t, "benchmarks code that the tests of package train cover")
	layers := decodeLines[layerResult](t, printed(t, "", "bench", "runtime", "--length", "128", "--reps", "1",
		"--shape", "notebook", "--device", "cpu", "--json"))
	if len(layers) != 5 || layers[0].Layer != "vanilla" || layers[0].Ratio != 1 || layers[0].Heads != 8 ||
		layers[0].MLP != 2048 || layers[4].K != 64 || layers[4].Seconds <= 0 || layers[4].PaperSeconds != 0 {
		t.Errorf("unexpected layers: %+v", layers)
	}
}

// TestBenchRuntimeReport checks the rows, the ratios within rounds, and the chart of bench runtime.
func TestBenchRuntimeReport(t *testing.T) {
	testenv.NoRace(t, "benchmarks code that the tests of package train cover")
	b := &runtimeBench{layers: bench.Layers(bench.LayerShapes["usual"], bench.TableLength)}
	for range b.layers {
		b.seconds = append(b.seconds, []float64{2, 2, 2})
	}
	report := func(json string) string {
		var out strings.Builder
		app := newApp()
		app.Writer = &out
		flags := flag.NewFlagSet("", flag.ContinueOnError)
		flags.Bool("json", false, "")
		flags.Int("threads", 1, "")
		if err := flags.Parse([]string{"--json=" + json}); err != nil {
			t.Fatal(err)
		}
		c := cli.NewContext(app, flags, nil)
		rows := newResults(c, 2, runtimeColumns...)
		notes, err := b.addRows(c, cpu.New(1), rows.add)
		if err == nil {
			err = rows.finish(notes...)
		}
		if err != nil {
			t.Fatal(err)
		}
		return out.String()
	}
	results := decodeLines[layerResult](t, report("true"))
	if len(results) != 11 {
		t.Fatalf("%d rows, want 11", len(results))
	}
	for i, r := range results {
		if paper := i == 0 || r.Relative != "none"; r.Seconds != 2 || r.Ratio != 1 || (r.PaperSeconds > 0) != paper ||
			(r.PaperRatio > 0) != paper {
			t.Errorf("row %d: got %+v, want Seconds 2, Ratio 1 and (PaperSeconds > 0) = (PaperRatio > 0) = %t", i, r,
				paper)
		}
	}
	if table := report("false"); !strings.HasPrefix(table, "layer    relative     k    time") ||
		!strings.Contains(table, "\nsft      sinusoid   512  2.00 s") {
		t.Errorf("got table\n%s\nwant the columns layer, relative, k and time, and a row sft, sinusoid, 512, 2.00 s",
			table)
	}
	if lines := len(b.chart().Series); lines != 3 {
		t.Errorf("got %d lines in the chart, want two lines of SFT and one line of vanilla attention", lines)
	}
}
