package main

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math"
	"os"
	"path/filepath"
	"strings"

	"github.com/urfave/cli/v2"

	"sftseq/device"
	"sftseq/internal/jsonlines"
	"sftseq/internal/requests"
	"sftseq/internal/safetensors"
	"sftseq/internal/tensor"
	"sftseq/seq"
	"sftseq/sft"
)

// Files of a golden folder, beside those of a model.
const (
	goldenInputs    = "inputs.jsonl"      // labelled lines
	goldenLogits    = "expected.jsonl"    // of each line
	goldenGradients = "grads.safetensors" // of the mean loss
	goldenTraining  = "expected.json"     // settings, and the loss of each step
)

// tolerance is how far a device may be off.
type tolerance struct {
	logit    float64 // in absolute terms
	gradient float64 // of a tensor, in norm, as a fraction of it
	loss     float64 // as a fraction
}

// goldenTolerances by precision.
var goldenTolerances = map[device.Precision]tolerance{
	device.FP32:  {logit: 1e-4, gradient: 1e-3, loss: 1e-4},
	device.Mixed: {logit: 2e-2, gradient: 2e-2, loss: 2e-2},
}

// noNorm is what is added to a gradient's norm: some are zero up to rounding.
const noNorm = 1e-3

// goldenCheck is how far a device is off on one model.
type goldenCheck struct {
	Golden    string           `json:"golden"`
	Device    string           `json:"device"`
	Precision device.Precision `json:"precision"`
	Lines     int              `json:"lines"`
	Logit     *float64         `json:"logit_error,omitempty"`    // the largest
	Gradient  *float64         `json:"gradient_error,omitempty"` // the largest of a tensor
	Tensor    string           `json:"gradient,omitempty"`       // which
	Loss      *float64         `json:"loss_error,omitempty"`     // the largest of a step
	Worst     float64          `json:"worst"`                    // as a fraction of its tolerance
	Failed    bool             `json:"failed"`
	Error     string           `json:"error,omitempty"` // why nothing was compared
}

// checkGolden compares every golden model in a directory.
func checkGolden(c *cli.Context, root string) error {
	dirs, err := goldenFoldersIn(root, c.String("only"))
	if err != nil {
		return fmt.Errorf("--golden: %w", err)
	}
	d, err := openDevice(c)
	if err != nil {
		return err
	}
	defer closeDevice(c, d)
	name, _, _ := strings.Cut(d.Name(), " ")
	progress := newProgress(int64(len(dirs)), "checking "+name, "models")
	defer progress.Finish()
	report := newReport(c, 1, "model", "lines", "logits", "gradients", "losses", "of the tolerance", "result")
	notes, failed := []string{whatComputes(d)}, 0
	for _, dir := range dirs {
		g := &goldenCheck{Golden: filepath.Base(dir), Device: d.Name(), Precision: precisionOf(d)}
		err := g.compare(c, dir, d)
		if c.Context.Err() != nil {
			return c.Context.Err()
		}
		if err != nil {
			g.Error = err.Error()
			notes = append(notes, fmt.Sprintf("%s: %v", g.Golden, err))
		}
		if g.Failed = err != nil || !(g.Worst <= 1); g.Failed {
			failed++
		}
		if err := report.add(g, g.row()...); err != nil {
			return err
		}
		progress.Add(1)
	}
	messages := layerMessages(d)
	if err := report.finish(strings.Join(append(notes, messages...), "\n")); err != nil {
		return err
	}
	switch {
	case failed > 0:
		return fmt.Errorf("%s: %d of %d models failed", d.Name(), failed, len(dirs))
	case len(messages) > 0:
		return fmt.Errorf("%s: the validation layer has complained", d.Name())
	}
	return nil
}

// goldenFoldersIn lists the models in a directory, which may be one itself.
func goldenFoldersIn(root, only string) ([]string, error) {
	var out []string
	hasModel := func(dir string) bool {
		_, err := os.Stat(filepath.Join(dir, goldenInputs))
		return err == nil
	}
	entries, err := os.ReadDir(root)
	if err != nil {
		return nil, err
	}
	if hasModel(root) {
		entries, out = nil, []string{root}
	}
	for _, e := range entries {
		if dir := filepath.Join(root, e.Name()); hasModel(dir) && strings.Contains(e.Name(), only) {
			out = append(out, dir)
		}
	}
	if len(out) == 0 {
		return nil, fmt.Errorf("%s: no model with an %s and %q in its name", root, goldenInputs, only)
	}
	return out, nil
}

// compare computes what the folder has expectations of.
func (g *goldenCheck) compare(c *cli.Context, dir string, d tensor.Device) error {
	m, err := sft.Load(dir)
	if err != nil {
		return err
	}
	path := filepath.Join(dir, goldenInputs)
	f, err := os.Open(path)
	if err != nil {
		return err
	}
	defer f.Close()
	examples, err := labelledLines(f, requests.NewParser(m.Config, path, !m.Config.Pair(), m.Config.Pair()), maxLine)
	if err != nil {
		return err
	}
	g.Lines = len(examples)
	for i := range examples {
		examples[i].Index = uint32(i)
	}
	found := false
	for _, expected := range []struct {
		file    string
		compare func(c *cli.Context, path string, m *sft.Model, examples []seq.Example, d tensor.Device) error
	}{{goldenLogits, g.logits}, {goldenGradients, g.gradients}, {goldenTraining, g.training}} {
		path := filepath.Join(dir, expected.file)
		if _, err := os.Stat(path); errors.Is(err, os.ErrNotExist) {
			continue
		}
		if err := expected.compare(c, path, m, examples, d); err != nil {
			return err
		}
		found = true
	}
	if !found {
		return fmt.Errorf("%s: neither %s nor %s nor %s, so nothing to compare with", dir, goldenLogits, goldenGradients, goldenTraining)
	}
	return nil
}

// note keeps the largest error of a kind, and what it is of its tolerance. An
// error that is no number is larger than all.
func (g *goldenCheck) note(worst **float64, err, fraction float64) (largest bool) {
	if math.IsNaN(err) || math.IsNaN(fraction) {
		err, fraction = math.MaxFloat64, math.MaxFloat64 // JSON has no infinity
	}
	g.Worst = max(g.Worst, fraction)
	if *worst != nil && err <= **worst {
		return false
	}
	*worst = &err
	return true
}

func (g *goldenCheck) logits(c *cli.Context, path string, m *sft.Model, examples []seq.Example, d tensor.Device) error {
	f, err := os.Open(path)
	if err != nil {
		return err
	}
	defer f.Close()
	s, err := sft.NewScorer(m, d)
	if err != nil {
		return err
	}
	outputs, err := s.Examples(c.Context, examples)
	if err != nil {
		return err
	}
	r := jsonlines.NewReader(f, maxLine)
	for i, o := range outputs {
		line, err := r.Next()
		if err != nil {
			return fmt.Errorf("%s:%d: %w", path, i+1, noEOF(err))
		}
		var want struct{ Logits []float64 }
		if err := json.Unmarshal(line, &want); err != nil {
			return fmt.Errorf("%s:%d: %w", path, i+1, err)
		}
		if len(want.Logits) != len(o.Logits) {
			return fmt.Errorf("%s:%d: %d logits, the model has %d", path, i+1, len(want.Logits), len(o.Logits))
		}
		for j, w := range want.Logits {
			off := math.Abs(float64(o.Logits[j]) - w)
			g.note(&g.Logit, off, off/goldenTolerances[g.Precision].logit)
		}
	}
	return nil
}

// noEOF says that a file ends where it should not.
func noEOF(err error) error {
	if err == io.EOF {
		return io.ErrUnexpectedEOF
	}
	return err
}

func (g *goldenCheck) gradients(c *cli.Context, path string, m *sft.Model, examples []seq.Example, d tensor.Device) error {
	want, _, err := safetensors.Read(path)
	if err != nil {
		return err
	}
	got, _, err := m.Gradient(c.Context, d, examples)
	if err != nil {
		return err
	}
	if len(want) != len(m.Parameters.List) {
		return fmt.Errorf("%s: %d tensors, the model has %d", path, len(want), len(m.Parameters.List))
	}
	for _, w := range want {
		p, ok := m.Parameters.Lookup(w.Name)
		if !ok || p.Size() != len(w.Data) {
			return fmt.Errorf("%s: %s is no tensor of the model, or not of its shape", path, w.Name)
		}
		off, norm := 0.0, 0.0
		for i, v := range m.Parameters.Slice(got, p) {
			e := float64(w.Data[i])
			off += (float64(v) - e) * (float64(v) - e)
			norm += e * e
		}
		relative := math.Sqrt(off) / (math.Sqrt(norm) + noNorm)
		if g.note(&g.Gradient, relative, relative/goldenTolerances[g.Precision].gradient) {
			g.Tensor = w.Name
		}
	}
	return nil
}

// training makes the steps of a training run, with noise and dropout, and
// compares their losses: each but the first depends on the updates before it.
func (g *goldenCheck) training(c *cli.Context, path string, m *sft.Model, examples []seq.Example, d tensor.Device) error {
	text, err := os.ReadFile(path)
	if err != nil {
		return err
	}
	var want struct {
		Settings sft.Settings
		Steps    []struct{ Loss float64 }
	}
	if err := json.Unmarshal(text, &want); err != nil {
		return fmt.Errorf("%s: %w", path, err)
	}
	s := want.Settings
	s.Batch, s.Epochs, s.StepSize, s.DecayRate, s.Warmup, s.LogEvery = len(examples), 1, 1, 1, "0", 1
	longest := 0
	for _, e := range examples {
		longest = max(longest, len(e.A), len(e.B))
	}
	const noLimit = 0
	stepper, err := sft.NewStepper(m, s, d, longest, noLimit)
	if err != nil {
		return err
	}
	for _, step := range want.Steps {
		loss, err := stepper.Step(c.Context, examples)
		if err != nil {
			return err
		}
		off := math.Abs(loss/step.Loss - 1)
		g.note(&g.Loss, off, off/goldenTolerances[g.Precision].loss)
	}
	return nil
}

// row is the model's in the table.
func (g *goldenCheck) row() []string {
	size := func(v *float64) string {
		if v == nil {
			return "–"
		}
		return fmt.Sprintf("%.1e", *v)
	}
	result := "pass"
	if g.Failed {
		result = "FAIL"
	}
	return []string{g.Golden, fmt.Sprint(g.Lines), size(g.Logit), size(g.Gradient), size(g.Loss), fmt.Sprintf("%.0f%%", 100*g.Worst), result}
}
