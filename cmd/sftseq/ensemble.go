package main

import (
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/urfave/cli/v2"

	"github.com/sftseq/sftseq/internal/serve"
	"github.com/sftseq/sftseq/sft"
)

// models is the model in the directory --model, or an ensemble of the models in its subfolders.
type models struct {
	*sft.Model // the first model
	others     []*sft.Model
	fusion     *sft.Fusion // weights of the summed logits; nil means that predictions are averaged
}

// fillFlag is a flag that needs a single model of sftseq pretrain.
const fillFlag = "--fill"

// explainFlag is a flag that ensembles with summed logits support, but ensembles with averaged
// probabilities do not.
const explainFlag = "--explain"

// loadModels reads --model, a model or an ensemble. single is the name of a flag or command that needs
// a single model, or "". If single is set, an ensemble is an error, except that --explain and
// --evidence accept an ensemble that sums logits.
func loadModels(c *cli.Context, single string) (m models, err error) {
	dir := c.String("model")
	members := membersOf(dir)
	fusion, err := sft.ReadFusion(dir)
	if dir != "" && err != nil {
		return m, err
	}
	if single == fillFlag && len(members) > 1 {
		return m, fmt.Errorf("%s: %s is a folder of %d models: expected one model of sftseq pretrain", single, dir,
			len(members))
	}
	if single != "" && len(members) > 1 && (fusion == nil || single != explainFlag && single != evidenceFlag) {
		return m, fmt.Errorf("%s: %s", single, describeRuns(dir, "--model "))
	}
	if fusion != nil {
		m.fusion = fusion.Kept()
	}
	if dir == "" || len(members) == 1 && members[0] == dir {
		m.Model, err = loadModel(c)
		return m, err
	}
	names := baseNames(members)
	others := fmt.Sprintf("; or choose one of the folder's models with --model (%s)", shortList(names, 10))
	hashes := map[string]string{}
	for i, member := range members {
		model, err := loadWithContext(c.Context, member)
		if err != nil {
			intact := slices.Delete(slices.Clone(names), i, i+1)
			return models{}, fmt.Errorf("%s: reading %s of the ensemble: %w (restore it or train it again, or choose "+
				"another model of the folder with --model: %s)", dir, names[i], err, shortList(intact, 10))
		}
		if i > 0 && m.fusion == nil {
			if m.Config.IsLinear() != model.Config.IsLinear() {
				return models{}, missingWeights(dir, names)
			}
			if err := m.Config.SameInputsAndOutputs(model.Config); err != nil {
				return models{}, fmt.Errorf("%s: expected models that form an ensemble, and %s does not fit: %w%s",
					dir, names[i], err, others)
			}
		}
		hash := serve.Hash(model)
		if twin, ok := hashes[hash]; ok {
			return models{}, fmt.Errorf("%s: expected different models, and %s is the same as %s%s",
				dir, names[i], twin, others)
		}
		hashes[hash] = names[i]
		if i == 0 {
			m.Model = model
		} else {
			m.others = append(m.others, model)
		}
	}
	// NewEnsemble would set the mean thresholds, too, but eval --verify creates no scorer.
	thresholds := sft.MeanThresholds(m.list())
	if m.fusion != nil {
		thresholds = m.fusion.Thresholds
	}
	for _, model := range m.list() {
		model.Config.Thresholds = thresholds
	}
	fmt.Fprintf(c.App.ErrWriter, "%s: %s\n", dir, describeMembers(names))
	return m, nil
}

// missingWeights returns the error for the models of an unfinished run of train custom.
func missingWeights(dir string, names []string) error {
	data := "DIR"
	if recorded := recordedData(dir); recorded != "" {
		data = shellQuote(recorded)
	}
	return fmt.Errorf("%s: the training of this ensemble is unfinished: config.json, with the weights of the models, "+
		"is missing (finish it with sftseq train custom --data %s --out %s --resume, or choose one model with --model: %s)",
		dir, data, shellQuote(dir), shortList(names, 10))
}

// scorer loads the models onto a device.
func (m models) scorer(d sft.Device) (*sft.Scorer, error) {
	if m.fusion != nil {
		return sft.NewFusion(m.list(), m.fusion, d)
	}
	return sft.NewEnsemble(m.list(), d)
}

// hash returns a hash of the models and, if their logits are summed, of the weights and the temperature.
func (m models) hash() string {
	hash := serve.Hash(m.list()...)
	if m.fusion == nil {
		return hash
	}
	sum := sha256.Sum256(fmt.Appendf(nil, "%s %v %v", hash, m.fusion.Weights, m.fusion.Temperature))
	return hex.EncodeToString(sum[:])
}

// isLinear reports whether all models are linear.
func (m models) isLinear() bool {
	return !slices.ContainsFunc(m.list(), func(model *sft.Model) bool { return !model.Config.IsLinear() })
}

// describeMembers returns a text that names the models of a folder.
func describeMembers(names []string) string {
	if len(names) == 1 {
		return "the model " + names[0]
	}
	return fmt.Sprintf("ensemble of %d models: %s", len(names), shortList(names, 10))
}

// isSingle reports whether m is a single model, not an ensemble.
func (m models) isSingle() bool { return m.others == nil }

// list returns m.Model, followed by the other models.
func (m models) list() []*sft.Model { return append([]*sft.Model{m.Model}, m.others...) }

// truncate makes the models truncate long sequences instead of rejecting them.
func (m models) truncate() {
	m.Config.Truncate()
	for _, other := range m.others {
		other.Config.Truncate()
	}
}

// membersOf returns the model directories of an ensemble, or dir itself. It includes subfolders with only
// one of config.json and model.safetensors, such as unfinished runs, but excludes fusion members of weight 0.
func membersOf(dir string) (members []string) {
	if f, err := sft.ReadFusion(dir); dir != "" && err == nil && f != nil {
		for _, name := range f.Kept().Members {
			members = append(members, filepath.Join(dir, name))
		}
		return members
	}
	if _, err := os.Stat(filepath.Join(dir, "config.json")); dir == "" || !errors.Is(err, fs.ErrNotExist) {
		return []string{dir}
	}
	pattern := filepath.Join(escapeGlob(dir), "[^.]*")
	for _, name := range []string{"config.json", "model.safetensors"} {
		paths, _ := filepath.Glob(filepath.Join(pattern, name))
		for _, path := range paths {
			members = append(members, filepath.Dir(path))
		}
	}
	slices.Sort(members)
	if members = slices.Compact(members); members == nil {
		return []string{dir}
	}
	return members
}

// escapeGlob escapes the name of a directory for a glob pattern.
var escapeGlob = strings.NewReplacer(`\`, `\\`, `*`, `\*`, `?`, `\?`, `[`, `\[`).Replace

func baseNames(paths []string) (names []string) {
	for _, path := range paths {
		names = append(names, filepath.Base(path))
	}
	return names
}

// tokenizerDir returns the directory in which the tokenizer file of --model would be.
func tokenizerDir(c *cli.Context) string { return membersOf(c.String("model"))[0] }
