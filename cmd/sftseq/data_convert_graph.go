package main

import (
	"fmt"
	"slices"

	"github.com/urfave/cli/v2"

	"github.com/sftseq/sftseq/internal/convert"
	"github.com/sftseq/sftseq/internal/table"
	"github.com/sftseq/sftseq/seq"
)

// maxSteps is the maximum number of steps of a random walk.
const maxSteps = 256

// convertGraphCommand returns the command that converts files of graphs.
func convertGraphCommand() *cli.Command {
	return &cli.Command{
		Name: "graph", Usage: "convert JSON lines, Arrow or Parquet of graphs",
		UsageText: "sftseq data convert graph --from FILE --to DIR [flags]\n\nExample: sftseq data convert graph --from graphs.jsonl --to data/graphs",
		Description: `Reads one graph per line, plain or compressed by gzip or Zstandard:

   {"features": [[0.5, 1], [2, 0]], "edges": [[0, 1, 1.5], [1, 0, 1.5]], "label": "ring"}

Features are the numbers of each node; an edge is its source, its target and its own features. The
label is a class or a list of labels; tags have a label for each node. Arrow and Parquet have the same
fields as columns. An invalid line ends the conversion. More: docs/data-clouds-graphs.md`,
		Flags: slices.Concat(
			group(inputGroup,
				&cli.StringSliceFlag{Name: "from",
					Usage:     "read `FILE` of JSON lines, Arrow or Parquet; repeatable (required)",
					TakesFile: true},
				randomWalkFlag()),
			advancedGroup(inputGroup,
				&cli.StringFlag{Name: "feature-names", Usage: "name the features of nodes `NAME,…`",
					DefaultText: "from the file, or f0,f1,…"},
				&cli.StringFlag{Name: "edge-feature-names", Usage: "name the features of edges `NAME,…`",
					DefaultText: "from the file, or e0,e1,…"}),
			group(labelGroup,
				&cli.StringFlag{Name: "label", Value: "label",
					Usage: "predict the class, or the list of labels, in `FIELD`"},
				&cli.StringFlag{Name: "tags", Value: "tags",
					Usage: "predict the label of each node: a list in `FIELD`"},
				&cli.StringFlag{Name: "numbers", Usage: "predict the numbers in `FIELD,…`"},
				&cli.StringFlag{Name: "labels", Usage: "take labels `NAME,…` in this order",
					DefaultText: "all labels, sorted"}),
			group(splitGroup,
				&cli.StringFlag{Name: "split", Value: "0.9,0.05,0.05",
					Usage: "split at random by the fractions `TRAIN,VAL,TEST`"},
				&cli.StringFlag{Name: "split-field", Usage: "take the split of a graph from `FIELD`"},
				&cli.Uint64Flag{Name: "seed", Usage: "split by seed `N` (default: 0)"}),
			outputFlags()),
		Action: convertGraph,
	}
}

func convertGraph(c *cli.Context) error {
	if err := noArguments(c); err != nil {
		return err
	}
	if err := requireFlags(c, "from", "to"); err != nil {
		return err
	}
	o := convert.GraphOptions{From: c.StringSlice("from"), RandomWalk: c.Int("random-walk"),
		Label: c.String("label"), Tags: c.String("tags"),
		SplitField: c.String("split-field"), Seed: c.Uint64("seed"), Replace: c.Bool("force")}
	if i := slices.IndexFunc(o.From, table.ReadOnce); i >= 0 {
		return usage(c, "--from %s: expected a regular file, because graphs are read several times, found standard "+
			"input or another pipe", o.From[i])
	}
	if err := checkSteps(c); err != nil {
		return err
	}
	var err error
	for _, flag := range []struct {
		name string
		list *[]string
	}{{"numbers", &o.Numbers}, {"feature-names", &o.FeatureNames}, {"edge-feature-names", &o.EdgeFeatureNames}} {
		name, list := flag.name, flag.list
		if !c.IsSet(name) {
			continue
		}
		if c.String(name) == "" && name == "edge-feature-names" {
			*list = []string{}
			continue
		}
		if *list, err = parseLabels(c.String(name)); err == nil {
			err = seq.CheckNumberNames(*list)
		}
		if err != nil {
			return invalidFlag(c, name, err)
		}
	}
	if c.IsSet("labels") {
		if o.Labels, err = parseLabels(c.String("labels")); err == nil {
			err = seq.CheckNames(o.Labels)
		}
		if err != nil {
			return invalidFlag(c, "labels", err)
		}
	}
	if o.SplitFractions, err = parseSplitFractions(c.String("split")); err != nil {
		return invalidFlag(c, "split", err)
	}
	o.Note = func(text string) { fmt.Fprintf(c.App.ErrWriter, "warning: %s\n", text) }
	d, err := convert.ConvertGraphs(c.Context, c.String("to"), o)
	if err := reportDataset(c, d, err); err != nil {
		return err
	}
	text := ""
	if o.SplitField == "" {
		text = emptyWarning(d.Manifest, o.SplitFractions, isStratified(d.Manifest, nil))
	} else if split := firstEmptySplit(d.Manifest); split != "" {
		text = fmt.Sprintf("the split %s is empty, and training needs it: no graph has this name in the field "+
			"%q", split, o.SplitField)
	}
	if text != "" {
		fmt.Fprintf(c.App.ErrWriter, "warning: %s\n", text)
	}
	warnClasses(c, d.Manifest)
	return addBaselines(c, d)
}

// firstEmptySplit returns the first empty split of train and val, or "". Training needs both splits.
func firstEmptySplit(m *seq.Manifest) string {
	for _, split := range []string{"train", "val"} {
		if m.Splits[split].Rows == 0 {
			return split
		}
	}
	return ""
}

// randomWalkFlag returns the flag that adds random-walk features to the nodes of graphs.
func randomWalkFlag() cli.Flag {
	return &cli.IntFlag{Name: "random-walk",
		Usage: "add features to nodes: the return probabilities of random walks of 1 to `N` steps"}
}

// checkSteps returns an error if the number of random-walk steps is out of range.
func checkSteps(c *cli.Context) error {
	if n := c.Int("random-walk"); c.IsSet("random-walk") && (n < 1 || n > maxSteps) {
		return badFlag(c, "random-walk", "1 to %d steps", maxSteps)
	}
	return nil
}
