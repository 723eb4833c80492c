// Package golden compares a device with golden folders. A golden folder is a model with expected
// logits, gradients or training losses, which were computed in float64.
package golden

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math"
	"os"
	"path/filepath"
	"strings"

	"github.com/sftseq/sftseq/device"
	"github.com/sftseq/sftseq/internal/jsonlines"
	"github.com/sftseq/sftseq/internal/requests"
	"github.com/sftseq/sftseq/internal/safetensors"
	"github.com/sftseq/sftseq/internal/task"
	"github.com/sftseq/sftseq/internal/tensor"
	"github.com/sftseq/sftseq/internal/tensor/lockstep"
	"github.com/sftseq/sftseq/seq"
	"github.com/sftseq/sftseq/sft"
	"github.com/sftseq/sftseq/sft/train"
)

// Files of a golden folder in addition to the files of a model. A folder has the inputs and at least
// one of the other files.
const (
	inputsFile    = "inputs.jsonl"      // labelled inputs, one per line
	logitsFile    = "expected.jsonl"    // expected logits, one line per input
	gradientsFile = "grads.safetensors" // gradients of the mean loss
	trainingFile  = "expected.json"     // settings of a training run, and the loss of each step
)

// tolerance holds the maximum errors of a device.
type tolerance struct {
	logit    float64 // absolute error of a logit
	gradient float64 // norm of the error of the whole gradient, relative to the norm of the gradient
	tensor   float64 // norm of the error of a tensor's gradient, relative to the norm of this gradient
	loss     float64 // relative error of a loss
}

// tolerances maps precisions to tolerances. The derivative of max(q, k) jumps where rounding
// changes the order of q and k. Gradients in mixed precision therefore differ by more than the
// rounding of their operands.
var tolerances = map[device.Precision]tolerance{
	device.FP32:  {logit: 1e-4, gradient: 1e-3, tensor: 1e-3, loss: 1e-4},
	device.Mixed: {logit: 2e-2, gradient: 5e-2, tensor: 0.2, loss: 1e-2},
}

// Comparison holds the errors of a device for one model.
type Comparison struct {
	Golden    string           `json:"golden"`
	Device    string           `json:"device"`
	Precision device.Precision `json:"precision"`
	Lines     int              `json:"lines"`
	Logit     *float64         `json:"logit_error,omitempty"` // maximum over the logits
	Gradient  *float64         `json:"gradient_error,omitempty"`
	Tensor    *float64         `json:"tensor_error,omitempty"` // maximum over the tensors
	Which     string           `json:"tensor,omitempty"`       // name of the tensor with the error Tensor
	Loss      *float64         `json:"loss_error,omitempty"`   // maximum over the steps
	Flips     int              `json:"flips,omitempty"`        // differently sampled sequences of all sampler launches
	Worst     float64          `json:"worst"`                  // largest error as a fraction of the tolerance
	Failed    bool             `json:"failed"`
	Error     string           `json:"error,omitempty"` // reason why the comparison is incomplete
}

// Folders returns the paths of the golden folders in root, or root itself if it is a golden folder.
// If the parameter only is not empty, it selects the folders in root whose names contain it.
func Folders(root, only string) ([]string, error) {
	var out []string
	hasModel := func(dir string) bool {
		_, err := os.Stat(filepath.Join(dir, inputsFile))
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
		if only != "" {
			return nil, fmt.Errorf("%s: expected a model directory with %s and %q in its name, found none", root,
				inputsFile, only)
		}
		return nil, fmt.Errorf("%s: expected a model directory with %s, or a folder of such directories, "+
			"found no %[2]s", root, inputsFile)
	}
	return out, nil
}

// Compare compares a device with all expected values in a folder. In mixed precision, the device uses
// the tokens sampled by an exact device, which the function exact opens. The returned error, which is
// also in the comparison, is the reason why the comparison is incomplete.
func Compare(ctx context.Context, dir string, d tensor.Device, precision device.Precision,
	exact func() (tensor.Device, error)) (*Comparison, error) {
	g := &Comparison{Golden: filepath.Base(dir), Device: d.Name(), Precision: precision}
	err := g.compare(ctx, dir, d, exact)
	if err != nil {
		g.Error = err.Error()
	}
	g.Failed = err != nil || !(g.Worst <= 1)
	return g, err
}

func (g *Comparison) compare(ctx context.Context, dir string, d tensor.Device,
	exact func() (tensor.Device, error)) error {
	m, err := sft.Load(dir)
	if err != nil {
		return err
	}
	path := filepath.Join(dir, inputsFile)
	f, err := os.Open(path)
	if err != nil {
		return err
	}
	defer f.Close()
	examples, err := requests.Labelled(f, requests.NewParser(m.Config, dir, path, m.Config.Sequences()),
		task.Of(m.Config).ReadLabels, jsonlines.MaxLine)
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
		compare compareFunc
	}{{logitsFile, (*Comparison).logits}, {gradientsFile, (*Comparison).gradients},
		{trainingFile, (*Comparison).training}} {
		path := filepath.Join(dir, expected.file)
		if _, err := os.Stat(path); errors.Is(err, os.ErrNotExist) {
			continue
		}
		if err := g.compareFile(ctx, expected.compare, path, m, examples, d, exact); err != nil {
			return err
		}
		found = true
	}
	if !found {
		return fmt.Errorf("%s: expected at least one of %s, %s and %s to compare with", dir, logitsFile,
			gradientsFile, trainingFile)
	}
	return nil
}

// compareFunc compares a device with one of a folder's files.
type compareFunc func(g *Comparison, ctx context.Context, path string, m *sft.Model,
	examples []seq.Example, d tensor.Device) error

// compareFile compares a device with the file at path. In mixed precision, it replays the tokens
// sampled by an exact device, which the function open returns.
func (g *Comparison) compareFile(ctx context.Context, compare compareFunc, path string, m *sft.Model,
	examples []seq.Example, d tensor.Device, open func() (tensor.Device, error)) (err error) {
	if g.Precision == device.FP32 {
		return compare(g, ctx, path, m, examples, d)
	}
	exact, err := open()
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, exact.Close()) }()
	var choices lockstep.Choices
	if err := compare(&Comparison{Precision: g.Precision}, ctx, path, m, examples, choices.Record(exact)); err != nil {
		return err
	}
	err = compare(g, ctx, path, m, examples, choices.Give(d))
	g.Flips += len(choices.Flips())
	return err
}

// note updates worst, the largest error of a kind, and g.Worst, the largest error as a fraction of the
// tolerance. NaN and infinity count as the largest error. note returns true if it has changed worst.
func (g *Comparison) note(worst **float64, err, fraction float64) (largest bool) {
	if !(err <= math.MaxFloat64 && fraction <= math.MaxFloat64) {
		err, fraction = math.MaxFloat64, math.MaxFloat64 // JSON has no infinity
	}
	g.Worst = max(g.Worst, fraction)
	if *worst != nil && err <= **worst {
		return false
	}
	*worst = &err
	return true
}

// logits compares the logits of the examples with a file of expected logits.
func (g *Comparison) logits(ctx context.Context, path string, m *sft.Model,
	examples []seq.Example, d tensor.Device) error {
	f, err := os.Open(path)
	if err != nil {
		return err
	}
	defer f.Close()
	s, err := sft.NewScorer(m, d)
	if err != nil {
		return err
	}
	defer s.Close()
	outputs, err := s.Examples(ctx, examples)
	if err != nil {
		return err
	}
	r := jsonlines.NewReader(f, jsonlines.MaxLine)
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
			return fmt.Errorf("%s:%d: found %d logits, expected %d", path, i+1, len(want.Logits), len(o.Logits))
		}
		for j, w := range want.Logits {
			deviation := math.Abs(float64(o.Logits[j]) - w)
			g.note(&g.Logit, deviation, deviation/tolerances[g.Precision].logit)
		}
	}
	if _, err := r.Next(); err == nil {
		return fmt.Errorf("%s: expected %d lines, one per input, found more", path, len(outputs))
	} else if err != io.EOF {
		return fmt.Errorf("%s: %w", path, err)
	}
	return nil
}

// noEOF converts io.EOF to an error for an unexpected end of file.
func noEOF(err error) error {
	if err == io.EOF {
		return io.ErrUnexpectedEOF
	}
	return err
}

// gradients compares the gradient of the mean loss with a file of expected gradients.
func (g *Comparison) gradients(ctx context.Context, path string, m *sft.Model,
	examples []seq.Example, d tensor.Device) error {
	want, _, err := safetensors.Read(path)
	if err != nil {
		return err
	}
	got, _, err := train.Gradient(ctx, m, d, examples)
	if err != nil {
		return err
	}
	if len(want) != len(m.Parameters.List) {
		return fmt.Errorf("%s: found %d tensors, expected the %d of the model", path, len(want), len(m.Parameters.List))
	}
	norm := func(x []float32, minus []float32) float64 {
		sum := 0.0
		for i, v := range x {
			e := float64(v) - float64(minus[i])
			sum += e * e
		}
		return math.Sqrt(sum)
	}
	total, deviation := 0.0, 0.0
	for _, w := range want {
		p, ok := m.Parameters.Lookup(w.Name)
		if !ok || p.Size() != len(w.Data) {
			return fmt.Errorf("%s: tensor %s: expected the name and the size of a tensor of the model", path, w.Name)
		}
		total = math.Hypot(total, norm(w.Data, make([]float32, len(w.Data))))
		deviation = math.Hypot(deviation, norm(m.Parameters.Slice(got, p), w.Data))
	}
	t := tolerances[g.Precision]
	g.note(&g.Gradient, deviation/total, deviation/total/t.gradient)
	// The gradients of some tensors are zero except for rounding. In mixed precision, the
	// rounding of other tensors affects them too. The denominator of the relative error therefore
	// includes minNorm.
	minNorm := 1e-3
	if g.Precision == device.Mixed {
		minNorm *= total
	}
	for _, w := range want {
		p, _ := m.Parameters.Lookup(w.Name)
		relative := norm(m.Parameters.Slice(got, p), w.Data) / (norm(w.Data, make([]float32, len(w.Data))) + minNorm)
		if g.note(&g.Tensor, relative, relative/t.tensor) {
			g.Which = w.Name
		}
	}
	return nil
}

// training repeats the steps of a training run, with noise and dropout, and compares their losses.
// Each loss but the first depends on the previous updates.
func (g *Comparison) training(ctx context.Context, path string, m *sft.Model,
	examples []seq.Example, d tensor.Device) error {
	text, err := os.ReadFile(path)
	if err != nil {
		return err
	}
	var want struct {
		Settings train.Settings
		Steps    []struct{ Loss float64 }
	}
	if err := json.Unmarshal(text, &want); err != nil {
		return fmt.Errorf("%s: %w", path, err)
	}
	s := want.Settings
	s.Batch, s.Epochs, s.StepSize, s.DecayRate, s.Warmup, s.LogEvery = len(examples), 1, 1, 1, "0", 1
	longest := 0
	for _, e := range examples {
		longest = max(longest, e.First(), len(e.B))
	}
	const noLimit = 0
	stepper, err := train.NewStepper(m, s, d, longest, noLimit)
	if err != nil {
		return err
	}
	defer stepper.Close()
	for _, step := range want.Steps {
		loss, err := stepper.Step(ctx, examples)
		if err != nil {
			return err
		}
		deviation := math.Abs(loss/step.Loss - 1)
		g.note(&g.Loss, deviation, deviation/tolerances[g.Precision].loss)
	}
	return nil
}

// Row returns the comparison as a row of a table.
func (g *Comparison) Row() []string {
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
	return []string{g.Golden, fmt.Sprint(g.Lines), size(g.Logit), size(g.Gradient), size(g.Tensor), size(g.Loss),
		fmt.Sprintf("%.0f%%", 100*g.Worst), result}
}
