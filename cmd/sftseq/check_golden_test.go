package main

import (
	"context"
	"flag"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/urfave/cli/v2"

	"github.com/sftseq/sftseq/device"
	"github.com/sftseq/sftseq/internal/cpu"
	"github.com/sftseq/sftseq/internal/tensor"
	"github.com/sftseq/sftseq/internal/vktest"
)

// copyGolden copies a golden folder, with some of its files changed.
func copyGolden(t *testing.T, name string, change map[string]func(text string) string) string {
	t.Helper()
	dir := filepath.Join(t.TempDir(), name)
	if err := os.CopyFS(dir, os.DirFS(golden(name))); err != nil {
		t.Fatal(err)
	}
	for file, f := range change {
		writeText(t, filepath.Join(dir, file), f(readText(t, golden(name, file))))
	}
	return dir
}

func TestCheckGolden(t *testing.T) {
	results := decodeLines[goldenCheck](t, succeed(t, "", "check", "--golden", goldenDir, "--device", "cpu", "--json", "--only", "r"))
	seen := map[string]bool{}
	for _, r := range results {
		training := strings.HasPrefix(r.Golden, "train")
		seen[r.Golden] = true
		if r.Failed || r.Error != "" || r.Worst <= 0 || r.Worst > 0.5 || r.Lines < 1 || r.Precision != "fp32" || !strings.HasPrefix(r.Device, "cpu") ||
			(r.Loss != nil) != training || (r.Logit != nil) == training || (r.Gradient != nil) == training || (r.Tensor != nil) == training || (r.Which != "") == training {
			t.Errorf("%+v", r)
		}
	}
	for _, name := range []string{"pre", "retrieval", "train", "train_conv", "train_retrieval"} {
		if !seen[name] || seen["post"] {
			t.Errorf("%v", seen)
		}
	}
	rows := strings.Split(succeed(t, "", "check", "--golden", golden("ties"), "--device", "cpu"), "\n")
	if !strings.HasPrefix(rows[0], "model ") || !strings.HasPrefix(rows[1], "ties ") || !strings.HasSuffix(rows[1], " pass") || !strings.HasPrefix(rows[3], "cpu (") {
		t.Errorf("%q", rows)
	}
}

func TestCheckGoldenVulkan(t *testing.T) {
	vktest.Open(t) // the layer watches what the program does, too
	out := succeed(t, "", "check", "--golden", goldenDir, "--device", "vulkan", "--only", "trai")
	if !strings.Contains(out, "\nvulkan:0 (") || strings.Count(out, " pass\n") != 3 {
		t.Errorf("%s", out)
	}
}

// counted is a device that counts the memories that were not freed.
type counted struct {
	tensor.Device
	held *int
}

func (d counted) Allocate(words int) (tensor.Memory, error) {
	m, err := d.Device.Allocate(words)
	if err == nil {
		*d.held++
	}
	return countedMemory{m, d.held}, err
}

func (d counted) Prepare(p *tensor.Program) (tensor.Executable, error) {
	x, err := d.Device.Prepare(p)
	return countedRun{x}, err
}

type countedRun struct{ tensor.Executable }

func (x countedRun) Run(ctx context.Context, mem tensor.Binding, from, to int) error {
	for s, m := range mem {
		if m != nil {
			mem[s] = m.(countedMemory).Memory
		}
	}
	return x.Executable.Run(ctx, mem, from, to)
}

type countedMemory struct {
	tensor.Memory
	held *int
}

func (m countedMemory) Free() {
	m.Memory.Free()
	*m.held--
}

// TestCheckGoldenFrees: what a model took of the device's memory is there for the
// next one.
func TestCheckGoldenFrees(t *testing.T) {
	c := cli.NewContext(newApp(), flag.NewFlagSet("", flag.ContinueOnError), nil)
	for _, name := range []string{"ties", "train"} {
		d := counted{cpu.New(1), new(int)}
		g := &goldenCheck{Precision: device.FP32}
		if err := g.compare(c, golden(name), d); err != nil || *d.held != 0 {
			t.Errorf("%s: %d memories were not freed; error %v", name, *d.held, err)
		}
	}
}

// TestCheckGoldenMixed: in mixed precision the tokens are given that the CPU
// samples.
func TestCheckGoldenMixed(t *testing.T) {
	flags := flag.NewFlagSet("", flag.ContinueOnError)
	flags.Int("threads", 2, "")
	c := cli.NewContext(newApp(), flags, nil)
	for _, name := range []string{"ties", "train"} {
		g := &goldenCheck{Precision: device.Mixed}
		if err := g.compare(c, golden(name), cpu.New(1)); err != nil || g.Flips != 0 || !(g.Worst > 0 && g.Worst < 1e-2) {
			t.Errorf("%s: %v, %+v", name, err, g)
		}
	}
	vktest.OpenMixed(t)
	out := succeed(t, "", "check", "--golden", goldenDir, "--device", "vulkan", "--precision", "mixed", "--only", "t")
	if !strings.Contains(out, ", mixed") || strings.Contains(out, "FAIL") {
		t.Errorf("%s", out)
	}
}

// TestCheckGoldenFails: what is off by more than its tolerance, and what cannot be
// compared, are named; the rest is compared.
func TestCheckGoldenFails(t *testing.T) {
	for _, c := range []struct {
		name   string
		change map[string]func(string) string
		want   string // in the table or below it
		failed bool   // by its numbers
	}{
		{"ties", map[string]func(string) string{goldenLogits: func(s string) string { return strings.Replace(s, `"logits": [`, `"logits": [1`, 1) }}, "FAIL", true},
		{"ties", map[string]func(string) string{goldenGradients: func(string) string { return readText(t, golden("ties", "model.safetensors")) }}, "FAIL", true},
		{"train", map[string]func(string) string{goldenTraining: func(s string) string { return strings.Replace(s, `"loss": 1.98`, `"loss": 1.99`, 1) }}, "FAIL", true},
		{"ties", map[string]func(string) string{goldenLogits: func(s string) string { return s[:strings.Index(s, "\n")+1] }}, "expected.jsonl:2: unexpected EOF", false},
		{"ties", map[string]func(string) string{goldenLogits: func(s string) string { return strings.Replace(s, "[", "[0,", 1) }}, "expected.jsonl:1: 3 logits, the model has 2", false},
		{"ties", map[string]func(string) string{goldenLogits: func(s string) string { return "?" + s }}, "expected.jsonl:1: invalid", false},
		{"ties", map[string]func(string) string{goldenGradients: func(string) string { return readText(t, golden("retrieval", goldenGradients)) }}, "grads.safetensors: ", false},
		{"train", map[string]func(string) string{goldenTraining: func(s string) string { return s[1:] }}, "expected.json: ", false},
		{"ties", map[string]func(string) string{goldenInputs: func(s string) string { return strings.Replace(s, "label", "name", 1) }}, "label is missing", false},
	} {
		dir := copyGolden(t, c.name, c.change)
		status, out, errs := program(nil, "check", "--golden", filepath.Dir(dir), "--device", "cpu")
		if status != exitError || !strings.Contains(out, "FAIL") || !strings.Contains(out, c.want) || !strings.Contains(errs, "1 of 1 models failed") {
			t.Errorf("%s, %q: status %d: %s%s", c.name, c.want, status, out, errs)
		}
		_, out, _ = program(nil, "check", "--golden", dir, "--device", "cpu", "--json")
		if r := decodeLines[goldenCheck](t, out); len(r) != 1 || !r[0].Failed || (r[0].Error == "") != c.failed || (r[0].Worst > 1) != c.failed {
			t.Errorf("%s, %q: %s", c.name, c.want, out)
		}
	}
	bare := copyGolden(t, "ties", nil)
	for _, name := range []string{goldenLogits, goldenGradients} {
		if err := os.Remove(filepath.Join(bare, name)); err != nil {
			t.Fatal(err)
		}
	}
	if status, out, _ := program(nil, "check", "--golden", bare, "--device", "cpu"); status != exitError || !strings.Contains(out, "nothing to compare with") {
		t.Errorf("status %d: %s", status, out)
	}
	refuse(t, exitError, "expected a model with an inputs.jsonl", "", "check", "--golden", t.TempDir())
	refuse(t, exitError, `and "none" in its name`, "", "check", "--golden", goldenDir, "--only", "none")
	refuse(t, exitError, "no such file", "", "check", "--golden", filepath.Join(bare, "absent"))
	refuse(t, exitUsage, "kernels are checked in fp32", "", "check", "--precision", "mixed")
}

// TestGoldenNote: an error that is no number is the largest.
func TestGoldenNote(t *testing.T) {
	g := &goldenCheck{}
	nan := g.Worst / g.Worst
	for _, c := range []struct {
		err     float64
		largest bool
	}{{1, true}, {1, false}, {0.5, false}, {2, true}, {nan, true}, {9, false}} {
		if got := g.note(&g.Loss, c.err, c.err); got != c.largest {
			t.Errorf("%v: %v", c.err, got)
		}
	}
	if !(g.Worst > 1e300) || !(*g.Loss > 1e300) {
		t.Errorf("%+v", g)
	}
}
