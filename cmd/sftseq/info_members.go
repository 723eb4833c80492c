package main

import (
	"encoding/json"
	"fmt"
	"io"
	"path/filepath"
	"slices"
	"text/tabwriter"

	"github.com/urfave/cli/v2"

	"github.com/sftseq/sftseq/internal/atomicfile"
	"github.com/sftseq/sftseq/internal/bench"
	"github.com/sftseq/sftseq/internal/linear"
	"github.com/sftseq/sftseq/sft"
)

// linearInfo is the output of info for a linear model.
type linearInfo struct {
	Model    string         `json:"model"`
	Config   *linear.Config `json:"config"`
	Features int            `json:"features"`
	Weights  int            `json:"weights_per_feature"`
	Memory   int64          `json:"memory_bytes"` // memory of the n-grams and their weights
}

// maxLinearConfig is the maximum size of a linear model's config.json in bytes.
const maxLinearConfig = 16 << 20

// infoLinear describes the linear model in a directory.
func infoLinear(c *cli.Context, dir string, m *sft.Model) error {
	text, err := atomicfile.ReadRegular(filepath.Join(membersOf(dir)[0], "config.json"), maxLinearConfig)
	if err != nil {
		return err
	}
	config, err := linear.ParseConfig(text)
	if err != nil {
		return err
	}
	shape := m.Parameters.List[0].Shape
	i := &linearInfo{Model: givenModel(c), Config: config, Features: shape[0], Weights: shape[1],
		Memory: config.Memory(shape[0])}
	config.Extra = removeZeros(config.Extra)
	return show(c, i, i.write)
}

func (info *linearInfo) write(w io.Writer) error {
	shown := *info.Config
	shown.Tokenizer = summary(shown.Tokenizer)
	text, err := json.MarshalIndent(&shown, "", "  ")
	if err != nil {
		return err
	}
	o := info.Config.NGrams
	l := &lineWriter{w: w}
	l.add("%s\n%s\n\nlinear model of n-grams of %d to %d %s", info.Model, text, o.MinN, o.MaxN, o.Units)
	l.add("features  %d of %d slots, %s each", info.Features, o.Slots, countOf(info.Weights, "weight"))
	l.add("memory    %s", bench.FormatBytes(info.Memory))
	return l.err
}

// removeZeros removes settings with zero values from a provenance, because the training of a linear model
// sets only the seed. It returns extra unchanged if extra has no settings.
func removeZeros(extra json.RawMessage) json.RawMessage {
	var provenance, settings map[string]json.RawMessage
	if json.Unmarshal(extra, &provenance) != nil || json.Unmarshal(provenance["settings"], &settings) != nil {
		return extra
	}
	for name, value := range settings {
		if name != "seed" && slices.Contains([]string{"0", `""`, "null", "false"}, string(value)) {
			delete(settings, name)
		}
	}
	kept, err := json.Marshal(settings)
	if err != nil {
		return extra
	}
	provenance["settings"] = kept
	if text, err := json.Marshal(provenance); err == nil {
		return text
	}
	return extra
}

// fusionInfo is the output of info for a fusion.
type fusionInfo struct {
	Model   string       `json:"model"`
	Config  *sft.Fusion  `json:"config"`
	Members []memberInfo `json:"members"`
}

// memberInfo is a member of a fusion.
type memberInfo struct {
	Name       string `json:"name"`
	Type       string `json:"type"`
	Parameters int    `json:"parameters"`
}

// infoFusion describes the members of a fusion.
func infoFusion(c *cli.Context, dir string, f *sft.Fusion) error {
	if c.IsSet("cluster") {
		return fmt.Errorf("--cluster: %s", describeRuns(dir, "--model "))
	}
	i := &fusionInfo{Model: givenModel(c), Config: f}
	for _, name := range f.Members {
		m, err := loadWithContext(c.Context, filepath.Join(dir, name))
		if err != nil {
			return err
		}
		total := m.NGramWeights()
		for _, p := range m.Parameters.List {
			total += p.Size()
		}
		i.Members = append(i.Members, memberInfo{Name: name, Type: m.Config.ModelType, Parameters: total})
	}
	return show(c, i, i.write)
}

func (info *fusionInfo) write(w io.Writer) error {
	tabs := tabwriter.NewWriter(w, 0, 0, 2, ' ', 0)
	l := &lineWriter{w: tabs}
	l.add("%s\nweighted sum of the logits of %d models, divided by %.4g\n", info.Model,
		len(info.Members), info.Config.Temperature)
	l.add("member\ttype\tparameters\tweight\tvalidation loss")
	for i, m := range info.Members {
		loss := "unknown"
		if i < len(info.Config.Losses) {
			loss = fmt.Sprintf("%.4f", info.Config.Losses[i])
		}
		l.add("%s\t%s\t%d\t%.4g\t%s", m.Name, m.Type, m.Parameters, info.Config.Weights[i], loss)
	}
	l.add("sum\t\t\t\t%.4f", info.Config.Loss)
	if l.err != nil {
		return l.err
	}
	if err := tabs.Flush(); err != nil {
		return err
	}
	_, err := fmt.Fprintf(w, "\nmore about a member: sftseq info --model %s\n",
		shellQuote(filepath.Join(info.Model, info.Members[len(info.Members)-1].Name)))
	return err
}
