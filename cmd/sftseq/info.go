package main

import (
	"encoding/json"
	"fmt"
	"io"
	"slices"
	"text/tabwriter"

	"github.com/urfave/cli/v2"

	"github.com/sftseq/sftseq/internal/bench"
	"github.com/sftseq/sftseq/internal/chunk"
	"github.com/sftseq/sftseq/sft"
	"github.com/sftseq/sftseq/sft/config"
)

func infoCommand() *cli.Command {
	return &cli.Command{
		Name:  "info",
		Usage: "show a model's configuration, size and cost",
		UsageText: `sftseq info --model DIR [--cluster W,BANDWIDTH[,LATENCY]] [--json]

Examples: sftseq info --model runs/listops
          sftseq info --model runs/listops --cluster 64,10Gbit --batch 512`,
		Description: `Shows the configuration, parameters and multiply-adds per token by part, and the memory that a
sequence or pair needs in prediction and in training. Shows the n-grams of a linear model, and the
weights of the members of an ensemble. --cluster measures a few steps here and simulates training on
1, 2, 4, … ranks, each on a machine like this one. More: docs/cluster.md`,
		Flags: slices.Concat([]cli.Flag{modelFlag()},
			group(outputGroup, &cli.BoolFlag{Name: "json", Usage: "print one JSON object"}), clusterFlags()),
		Action: info,
	}
}

func info(c *cli.Context) error {
	if err := noArguments(c); err != nil {
		return usageError{err}
	}
	for _, name := range []string{"batch", "length", "memory", "threads"} {
		if c.IsSet(name) && !c.IsSet("cluster") {
			return usage(c, "--%s belongs to --cluster", name)
		}
	}
	dir := c.String("model")
	if f, err := sft.ReadFusion(dir); dir != "" && (err != nil || f != nil) {
		if err != nil {
			return err
		}
		return infoFusion(c, dir, f)
	}
	m, err := loadModel(c)
	if err != nil {
		return err
	}
	if m.Config.IsLinear() {
		if c.IsSet("cluster") {
			return fmt.Errorf("--cluster: %w", sft.ErrLinear)
		}
		return infoLinear(c, dir, m)
	}
	i := &modelInfo{Model: givenModel(c), Config: m.Config, Parameters: parameterParts(m),
		ReceptiveField: receptiveFieldOf(m.Config)}
	for _, n := range infoLengths {
		if n > m.Config.MaxLength {
			continue
		}
		cost, err := costAt(m, n)
		if err != nil {
			return err
		}
		i.Costs = append(i.Costs, cost)
	}
	if c.IsSet("cluster") {
		if i.Cluster, err = simulate(c, m); err != nil {
			return err
		}
	}
	return show(c, i, i.write)
}

// infoLengths are the sequence lengths for which info shows the cost.
var infoLengths = []int{1 << 10, 1 << 12, 1 << 14, 1 << 16, 1 << 20}

// part is a part of the model, with its number of parameters or of multiply-adds per token.
type part struct {
	Name  string `json:"name"`
	Count int    `json:"count"`
}

// modelInfo is the output of info.
type modelInfo struct {
	Model      string      `json:"model"`
	Config     *sft.Config `json:"config"`
	Parameters []part      `json:"parameters"`
	Costs      []cost      `json:"costs"`
	// ReceptiveField is the receptive field of the convolutions, or nil without convolutions.
	ReceptiveField *receptiveField `json:"receptive_field,omitempty"`
	Cluster        *clusterInfo    `json:"cluster,omitempty"` // with --cluster
}

// receptiveField is the number of tokens, including the token itself, that influence a token through
// convolutions.
type receptiveField struct {
	Layer int `json:"layer"` // tokens in a single layer
	Model int `json:"model"` // tokens in all layers
}

func receptiveFieldOf(c *sft.Config) *receptiveField {
	if len(c.Convolutions) == 0 {
		return nil
	}
	reach, layers := 0, c.NumLayers
	for _, v := range c.Convolutions {
		reach += v.Reach()
	}
	if c.Chunks != nil {
		layers = c.Chunks.Layers // the document encoder mixes rows of chunks, not tokens
	}
	return &receptiveField{Layer: 1 + 2*reach, Model: 1 + 2*reach*layers}
}

// cost is the cost of a sequence of Length tokens. For models of pairs, the memory is for a pair with
// Length tokens in total.
type cost struct {
	Length     int    `json:"length"`
	Operations []part `json:"operations_per_token"` // multiply-adds, rounded
	Infer      int64  `json:"infer_bytes"`          // without the weights
	Train      int64  `json:"train_bytes"`          // without the weights
	// Edit is the fraction of the multiply-adds that an edit of a document with cached chunks
	// needs, for models whose chunks depend on the content.
	Edit float64 `json:"edit,omitempty"`
}

func costAt(m *sft.Model, length int) (cost, error) {
	out := cost{Length: length, Operations: operations(m.Config, length), Edit: editCost(m.Config, length)}
	for training, bytes := range map[bool]*int64{false: &out.Infer, true: &out.Train} {
		n, err := sft.PassBytes(m.Config, training, length, 1)
		if err != nil {
			return cost{}, err
		}
		*bytes = n
	}
	return out, nil
}

// parameterParts adds up the parameters by part of the model.
func parameterParts(m *sft.Model) (parts []part) {
	ngrams := m.NGramWeights()
	sizes, total := map[config.Part]int{}, ngrams
	for _, q := range m.Parameters.List {
		sizes[q.Part] += q.Size()
		total += q.Size()
	}
	for _, name := range config.Parts {
		parts = append(parts, part{string(name), sizes[name]})
	}
	if ngrams > 0 {
		parts = append(parts, part{"n-grams", ngrams})
	}
	return append(parts, part{"total", total})
}

// operations returns the multiply-adds per token of a forward pass. Operations per sampled token
// are divided among all tokens. With chunks, the operations of a chunk's exported rows are divided
// among its tokens, for a chunk of average length.
func operations(c *sft.Config, length int) []part {
	parts := layerOperations(c, length, c.NumLayers)
	if c.Chunks != nil {
		parts = localOperations(c, length)
		for i, p := range documentOperations(c, length) {
			parts[i].count += p.count
		}
		for i, p := range tokenOperations(c, length) {
			parts[i].count += p.count
		}
	}
	parts = append(parts, operationCount{"head", c.HeadOperations(length), false})
	var out []part
	total := 0.0
	for _, p := range parts {
		if p.count == 0 && slices.Contains(optionalParts, p.name) || p.attends && !c.HasAttention() {
			continue
		}
		out = append(out, part{p.name, int(p.count + .5)})
		total += p.count
	}
	return append(out, part{"total", int(total + .5)})
}

// localOperations returns the multiply-adds per token of a chunked model's local encoder.
func localOperations(c *sft.Config, length int) []operationCount {
	parts := layerOperations(c, min(length, c.Chunks.Average), c.Chunks.Layers)
	return append(parts, operationCount{"exports", 2 * float64(c.HiddenSize), false})
}

// documentOperations returns the multiply-adds per token of the document encoder's layers.
func documentOperations(c *sft.Config, length int) []operationCount {
	chunk := min(length, c.Chunks.Average)
	rowsPerToken := float64(min(c.Chunks.Exports, chunk)+1) / float64(chunk)
	parts := layerOperations(c, max(1, int(rowsPerToken*float64(length))), c.NumLayers-c.Chunks.Layers)
	for i := range parts {
		parts[i].count *= rowsPerToken
	}
	return parts
}

// tokenOperations returns the multiply-adds per token of a chunked model's token stage. The stage
// computes the local layers again. A model that pools has no token stage, and tokenOperations returns nil.
func tokenOperations(c *sft.Config, length int) []operationCount {
	if c.Pools() {
		return nil
	}
	return layerOperations(c, min(length, c.Chunks.Average), c.Chunks.Layers)
}

// editedChunks is the number of chunks of average length that an edit changes, rounded up (see
// package chunk).
const editedChunks = 2

// editCost returns the fraction of a document's multiply-adds that an edit needs: two chunks of the
// local encoder, and the whole document encoder, token stage and head. It returns 0 without chunks, and
// if an edit may move all later chunks.
func editCost(c *sft.Config, length int) float64 {
	if c.Chunks == nil || c.Chunks.Rule != string(chunk.Content) {
		return 0
	}
	sum := func(parts []operationCount) (total float64) {
		for _, p := range parts {
			if !p.attends || c.HasAttention() {
				total += p.count
			}
		}
		return total
	}
	local, document := sum(localOperations(c, length)), sum(documentOperations(c, length))+
		sum(tokenOperations(c, length))+c.HeadOperations(length)
	edited := min(1, float64(editedChunks*c.Chunks.Average)/float64(length))
	return (edited*local + document) / (local + document)
}

// operationCount is the number of multiply-adds per token of a part of the model.
type operationCount struct {
	name    string
	count   float64
	attends bool // part of attention
}

// optionalParts are the parts that operations omits if they have no multiply-adds.
var optionalParts = []string{"convolutions", "moving averages"}

// layerOperations returns the multiply-adds per token of layerCount layers. length is the number of tokens
// in the sequence.
func layerOperations(c *sft.Config, length, layerCount int) []operationCount {
	n, k := float64(length), float64(min(c.NumSampledTokens, length))
	d, h, layers := float64(c.HiddenSize), float64(c.NumHeads), float64(layerCount)
	relative := 0.0
	if c.Relative != "none" {
		// The factor and the summand each have tables F and G (tensor.Sinusoid), with n and 2n different
		// entries of SinusoidDim/2 multiply-adds. For each pair of a token and a duplet (tensor.Duplet), the
		// factor and the summand then need two operations each.
		relative = layers * h * (2*3*float64(c.SinusoidDim)/2 + 2*2*k)
	}
	taps := 0.0
	for _, v := range c.Convolutions {
		taps += float64(v.KernelSize)
	}
	return []operationCount{
		{"convolutions", layers * d * taps, false},
		{"moving averages", layers * d * 2 * 2 * float64(c.MovingAverages), false},
		{"sampler", layers * d, true},
		{"projections", layers * (2*d*d + (2*d*d+d*h)*k/n), true},
		{"attention", layers * 2 * k * d, true},
		{"relative", relative, true},
		{"mlp", layers * 2 * d * float64(c.IntermediateSize), false},
	}
}

// write formats the information as text.
func (i *modelInfo) write(w io.Writer) error {
	shown := *i.Config
	shown.Tokenizer = summary(shown.Tokenizer)
	text, err := json.MarshalIndent(&shown, "", "  ")
	if err != nil {
		return err
	}
	tabs := tabwriter.NewWriter(w, 0, 0, 2, ' ', tabwriter.AlignRight)
	t := &lineWriter{w: tabs}
	t.add("%s\n%s\n\nparameters", i.Model, text)
	for _, p := range i.Parameters {
		if p.Count > 0 {
			t.add("%s\t%d\t", p.Name, p.Count)
		}
	}
	if n := i.Config.NGrams; n != nil {
		weights := i.Parameters[len(i.Parameters)-2].Count
		t.add("\nembeddings of n-grams: %d of %d slots, %s of memory", weights/i.Config.HiddenSize, n.Slots,
			bench.FormatBytes(4*int64(weights)))
	}
	if f := i.ReceptiveField; f != nil {
		t.add("\nreceptive field of the convolutions in tokens: %d in a layer, %d in all layers", f.Layer, f.Model)
	}
	if len(i.Costs) > 0 {
		edits := ""
		if i.Costs[0].Edit > 0 {
			edits = ",\nand the fraction of the multiply-adds that serve needs after an edit"
		}
		t.add("\nmultiply-adds per token, and memory of a sequence or pair without the weights%s", edits)
		head := "length\t"
		for _, p := range i.Costs[0].Operations {
			head += p.Name + "\t"
		}
		head += "infer\ttrain\t"
		if i.Costs[0].Edit > 0 {
			head += "edit\t"
		}
		t.add("%s", head)
	}
	for _, c := range i.Costs {
		row := fmt.Sprintf("%d\t", c.Length)
		for _, p := range c.Operations {
			row += fmt.Sprintf("%d\t", p.Count)
		}
		row += fmt.Sprintf("%s\t%s\t", bench.FormatBytes(c.Infer), bench.FormatBytes(c.Train))
		if c.Edit > 0 {
			row += fmt.Sprintf("%.1f%%\t", 100*c.Edit)
		}
		t.add("%s", row)
	}
	if t.err != nil {
		return t.err
	}
	if err := tabs.Flush(); err != nil || i.Cluster == nil {
		return err
	}
	return i.Cluster.write(w)
}
