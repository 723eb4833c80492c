package sft

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"path/filepath"
	"syscall"

	"github.com/sftseq/sftseq/internal/atomicfile"
	"github.com/sftseq/sftseq/internal/jsonlines"
	"github.com/sftseq/sftseq/internal/metrics"
	"github.com/sftseq/sftseq/seq"
	"github.com/sftseq/sftseq/sft/config"
)

// Fusion is the config.json of an ensemble that sums logits, or standardised numbers, with fitted
// weights:
//
//	z = Σ_m w_m z_m / T
//
// where z_m are the logits of model m. The weights w_m ≥ 0 and the temperature T are fitted on the
// validation split; T is 1 for numbers. Each model reads a sequence through its own input window.
// [Fusion.Kept] drops models with the weight 0, so that they are not run.
type Fusion struct {
	ModelType   string    `json:"model_type"`
	Members     []string  `json:"members"` // folders of the models; callers cut rows to the first model's input window
	Weights     []float64 `json:"weights"`
	Temperature float64   `json:"temperature"`
	// Thresholds holds, for multi-label, the minimum probability at which each label is predicted;
	// nil means 0.5.
	Thresholds []float64 `json:"thresholds,omitempty"`
	// Losses are the members' losses on the validation split, and Loss is the loss of the sum: mean
	// cross-entropy per row, mean binary cross-entropy per label, or mean squared error per
	// standardised number.
	Losses []float64 `json:"validation_losses"`
	Loss   float64   `json:"validation_loss"`
	// Accuracies are the members' accuracies on the validation split, and Accuracy is the sum's
	// accuracy; nil and 0 without classes.
	Accuracies []float64 `json:"validation_accuracies,omitempty"`
	Accuracy   float64   `json:"validation_accuracy,omitempty"`
	// Rows is the number of validation rows that the weights were fitted on.
	Rows int `json:"validation_rows,omitempty"`
}

// maxFusionBytes limits the size of a fusion's config.json, maxMembers the number of its members,
// and maxWeight each weight.
const (
	maxFusionBytes = 1 << 16
	maxMembers     = 64
	maxWeight      = 1e6
)

// ReadFusion reads the fusion of a folder. It returns nil if config.json is missing or is not the
// configuration of a fusion.
func ReadFusion(dir string) (*Fusion, error) {
	path := filepath.Join(dir, "config.json")
	text, err := atomicfile.ReadRegular(path, config.MaxBytes)
	if errors.Is(err, fs.ErrNotExist) || errors.Is(err, syscall.ENOTDIR) { // loading the model reports the error
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	var kind struct {
		ModelType string `json:"model_type"`
	}
	if json.Unmarshal(text, &kind) != nil || kind.ModelType != config.FusionType {
		return nil, nil
	}
	f := &Fusion{}
	if len(text) > maxFusionBytes {
		return nil, fmt.Errorf("%s: %d bytes, at most %d are allowed", path, len(text), maxFusionBytes)
	}
	d := json.NewDecoder(bytes.NewReader(text))
	d.DisallowUnknownFields()
	if err := d.Decode(f); err != nil {
		return nil, fmt.Errorf("%s: %w", path, jsonlines.TypeError(err))
	}
	if err := f.validate(); err != nil {
		return nil, fmt.Errorf("%s: %w", path, err)
	}
	return f, nil
}

func (f *Fusion) validate() error {
	bad := func(key string, found any, expected string) error {
		return &config.Error{Key: key, Found: fmt.Sprint(found), Expected: expected}
	}
	switch n := len(f.Members); {
	case n < 2 || n > maxMembers:
		return bad("members", fmt.Sprintf("%d models", n), fmt.Sprintf("2 to %d", maxMembers))
	case len(f.Weights) != n:
		return bad("weights", fmt.Sprintf("%d weights", len(f.Weights)),
			fmt.Sprintf("one for each of the %d members", n))
	case !(f.Temperature >= metrics.MinTemperature && f.Temperature <= metrics.MaxTemperature):
		return bad("temperature", f.Temperature,
			fmt.Sprintf("%g to %g", metrics.MinTemperature, metrics.MaxTemperature))
	}
	seen := map[string]bool{}
	for _, name := range f.Members {
		if name == "" || name[0] == '.' || filepath.Base(name) != name || seen[name] {
			return bad("members", fmt.Sprintf("%q", name), "distinct names of folders next to config.json")
		}
		seen[name] = true
	}
	for i, p := range f.Thresholds {
		if !(p >= 0 && p <= 1) {
			return bad(fmt.Sprintf("thresholds[%d]", i), p, "a probability from 0 to 1")
		}
	}
	sum := 0.0
	for i, w := range f.Weights {
		if !(w >= 0 && w <= maxWeight) {
			return bad(fmt.Sprintf("weights[%d]", i), w, fmt.Sprintf("0 to %g", maxWeight))
		}
		sum += w
	}
	if sum == 0 {
		return bad("weights", "only zeros", "at least one weight above 0")
	}
	return nil
}

// Save writes the fusion as config.json into the folder dir.
func (f *Fusion) Save(dir string) error {
	if err := f.validate(); err != nil {
		return err
	}
	text, err := json.MarshalIndent(f, "", "  ")
	if err != nil {
		return err
	}
	return atomicfile.WriteBytes(filepath.Join(dir, "config.json"), append(text, '\n'))
}

// Kept returns the fusion without the members of weight 0. It has the same predictions.
func (f *Fusion) Kept() *Fusion {
	kept := *f
	kept.Members, kept.Weights, kept.Losses, kept.Accuracies = nil, nil, nil, nil
	for i, w := range f.Weights {
		if w == 0 {
			continue
		}
		kept.Members, kept.Weights = append(kept.Members, f.Members[i]), append(kept.Weights, w)
		if i < len(f.Losses) {
			kept.Losses = append(kept.Losses, f.Losses[i])
		}
		if i < len(f.Accuracies) {
			kept.Accuracies = append(kept.Accuracies, f.Accuracies[i])
		}
	}
	return &kept
}

// NewFusion copies the models of a fusion to a device, in the order of its members. The scorer of a
// single model with layers supports every method, including those that an ensemble refuses.
func NewFusion(models []*Model, f *Fusion, device Device) (*Scorer, error) {
	if len(models) != len(f.Weights) {
		return nil, fmt.Errorf("found %d models, expected one for each of the %d weights", len(models), len(f.Weights))
	}
	for i, m := range models {
		if err := checkMember(models[0].Config, m.Config); err != nil {
			return nil, fmt.Errorf("model %d of the fusion: %w", i+1, err)
		}
		first, other := models[0].Config.ReadWindow(), memberWindow(m.Config) // callers cut rows to first
		if !first.Holds(other) {
			return nil, fmt.Errorf("model %d of the fusion reads the window %s of a row, expected a part of "+
				"the first model's window %s", i+1, other, first)
		}
	}
	if n := len(f.Thresholds); f.Thresholds != nil && n != models[0].Config.NumLabels {
		return nil, fmt.Errorf("the fusion has %d thresholds, expected one for each of the %d labels", n,
			models[0].Config.NumLabels)
	}
	first := *models[0].Config
	first.Thresholds = f.Thresholds
	if f.hasOneRunner(models[0]) {
		first.Temperature = f.temperature(&first)
		return newMembers(models, &first, device)
	}
	s, err := newMembers(models, &first, device)
	if err == nil {
		s.fusion = f
	}
	return s, err
}

// hasOneRunner reports whether m is the only member, has layers and is not a regression model. Its
// temperature can then replace the weight.
func (f *Fusion) hasOneRunner(m *Model) bool {
	return len(f.Weights) == 1 && m.linear == nil && !m.Config.IsRegression()
}

// temperature returns the temperature of a single member that is equivalent to the weight and
// temperature of the fusion.
func (f *Fusion) temperature(c *Config) float64 {
	return c.LogitDivisor() * f.Temperature / f.Weights[0]
}

// Apply changes the temperature and thresholds of m, the only member of a fusion, so that m alone
// predicts the same as the fusion. It does nothing if hasOneRunner is false.
func (f *Fusion) Apply(m *Model) {
	if f.hasOneRunner(m) {
		m.Config.Temperature = f.temperature(m.Config)
		m.Config.Thresholds = f.Thresholds
	}
}

// checkMember returns an error if the logits of the models with the configurations c and other
// cannot be added.
func checkMember(c *Config, other *Config) error {
	if c.PerToken() || c.MasksTokens() {
		return fmt.Errorf("its task is %s: expected one prediction for each row", c.Task)
	}
	return c.SameData(other)
}

// Sum returns the weighted sum of the members' logits, divided by the temperature. logits has one
// slice for each member.
func (f *Fusion) Sum(logits [][]float32) []float32 {
	out := make([]float32, len(logits[0]))
	for c := range out {
		z := 0.0
		for m, w := range f.Weights {
			z += w * float64(logits[m][c])
		}
		out[c] = float32(z / f.Temperature)
	}
	return out
}

// memberWindow returns the window through which a member of a fusion reads sequences. The window
// truncates long sequences, even if the member's configuration refuses them.
func memberWindow(c *Config) seq.Window {
	truncating := *c
	truncating.Truncate()
	return truncating.ReadWindow()
}

// truncate returns copies of examples with only the tokens that the model reads.
func truncate(c *Config, examples []seq.Example) []seq.Example {
	w, out := memberWindow(c), make([]seq.Example, len(examples))
	for i, e := range examples {
		e.A, e.B = seq.Cut(w, e.A), seq.Cut(w, e.B)
		out[i] = e
	}
	return out
}
