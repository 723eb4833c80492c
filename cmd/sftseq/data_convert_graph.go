package main

import (
	"fmt"
	"slices"

	"github.com/urfave/cli/v2"

	"github.com/sftseq/sftseq/internal/convert"
	"github.com/sftseq/sftseq/internal/graph"
	"github.com/sftseq/sftseq/internal/table"
	"github.com/sftseq/sftseq/seq"
)

// mostSteps bounds a random walk.
const mostSteps = 256

// convertGraphCommand converts files of graphs.
func convertGraphCommand() *cli.Command {
	return &cli.Command{
		Name: "graph", Usage: "from JSON lines, Arrow or Parquet of graphs",
		UsageText: "sftseq data convert graph --from FILE --to DIR [flags]\n\nExample: sftseq data convert graph --from graphs.jsonl --to data/graphs",
		Description: `Reads a graph a line, plain or compressed by gzip or Zstandard:

   {"features": [[0.5, 1], [2, 0]], "edges": [[0, 1, 1.5], [1, 0, 1.5]], "label": "ring"}

Features are a list of numbers for each node. An edge is the place of its source among them,
from 0, that of its target, and its own features, which may be none; where edges have no
direction, each is there twice. The label is a class, or a list of any number of labels that
hold; tags are a list of a label for each node, null where it has none. With --numbers fields
of a line are numbers, which a model of a regression predicts. The same graph is never in two
splits. What is wrong with a line ends the conversion, with the file and the line.

Files .arrow and .parquet have the same fields as columns: features and edges are lists of lists
of numbers, an edge being its source and its target, and edge_features, if there are some, have a
list of numbers for each edge. Names of features are those of the metadata feature_names and
edge_feature_names, JSON lists, unless flags name them; numbers of labels stand for those of
label_names, if the file has these.

--random-walk 24 adds the probabilities that a random walk from a node is back after 1 to 24 steps,
which say where the node is in its graph.`,
		Flags: []cli.Flag{
			&cli.StringSliceFlag{Name: "from", Usage: "`FILE` of JSON lines, Arrow or Parquet, as often as there are (required)", TakesFile: true},
			&cli.StringFlag{Name: "to", Usage: "`DIR` of the data set (required)", TakesFile: true},
			&cli.StringFlag{Name: "label", Value: "label", Usage: "`FIELD` of the class, or of a list of labels"},
			&cli.StringFlag{Name: "labels", Usage: "what labels and tags are called, `NAME,NAME,…`, in their order", DefaultText: "those that are found, sorted"},
			&cli.StringFlag{Name: "tags", Value: "tags", Usage: "`FIELD` of a list of a label for each node"},
			&cli.StringFlag{Name: "numbers", Usage: "`FIELD,…` of numbers to predict, in place of labels"},
			&cli.StringFlag{Name: "feature-names", Usage: "`NAME,…` of the numbers of a node", DefaultText: "f0,f1,…"},
			&cli.StringFlag{Name: "edge-feature-names", Usage: "`NAME,…` of the numbers of an edge, or empty", DefaultText: "e0,e1,…"},
			randomWalkFlag(),
			&cli.StringFlag{Name: "split", Value: "0.9,0.05,0.05", Usage: "parts for `TRAIN,VAL,TEST`"},
			&cli.StringFlag{Name: "split-field", Usage: "`FIELD` that says which split a graph is in"},
			&cli.Uint64Flag{Name: "seed", Usage: "seed of --split"},
			noBaselinesFlag(),
			&cli.BoolFlag{Name: "force", Usage: "replace a complete data set"},
		},
		Action: convertGraph,
	}
}

func convertGraph(c *cli.Context) error {
	if err := noArguments(c); err != nil {
		return err
	}
	if err := needFlags(c, "from", "to"); err != nil {
		return err
	}
	o := graph.Options{From: c.StringSlice("from"), RandomWalk: c.Int("random-walk"), Label: c.String("label"), Tags: c.String("tags"),
		SplitField: c.String("split-field"), Seed: c.Uint64("seed"), Replace: c.Bool("force")}
	if at := slices.IndexFunc(o.From, table.ReadOnce); at >= 0 {
		return usage(c, "--from %s: expected a file, which is read several times; standard input and other pipes can be read once only", o.From[at])
	}
	if err := checkSteps(c); err != nil {
		return err
	}
	var err error
	for name, list := range map[string]*[]string{"numbers": &o.Numbers, "feature-names": &o.FeatureNames, "edge-feature-names": &o.EdgeFeatureNames} {
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
			return usage(c, "--%s: %w", name, err)
		}
	}
	if c.IsSet("labels") {
		if o.Labels, err = parseLabels(c.String("labels")); err == nil {
			err = convert.CheckLabels(o.Labels)
		}
		if err != nil {
			return usage(c, "--labels: %w", err)
		}
	}
	if o.Shares, err = parseShares(c.String("split")); err != nil {
		return usage(c, "--split %q: %w", c.String("split"), err)
	}
	d, err := graph.Convert(c.Context, c.String("to"), o)
	if err := reportDataset(c, d, err); err != nil {
		return err
	}
	text := ""
	if o.SplitField == "" {
		text = emptyWarning(d.Manifest, o.Shares, "more rows, another --split or another --seed help")
	} else if split := firstEmpty(d.Manifest); split != "" {
		text = fmt.Sprintf("no row is in %s, which training needs: the field %q has no such name", split, o.SplitField)
	}
	if text != "" {
		fmt.Fprintf(c.App.ErrWriter, "warning: %s\n", text)
	}
	return newBaselines(c, d)
}

// firstEmpty is a split that train needs and that has no row, or "".
func firstEmpty(m *seq.Manifest) string {
	for _, split := range []string{"train", "val"} {
		if m.Splits[split].Rows == 0 {
			return split
		}
	}
	return ""
}

// randomWalkFlag adds features to the nodes of graphs.
func randomWalkFlag() cli.Flag {
	return &cli.IntFlag{Name: "random-walk", Usage: "add features to nodes: the return probabilities of random walks of 1 to `STEPS`"}
}

// checkSteps refuses a random walk without steps, or with too many.
func checkSteps(c *cli.Context) error {
	if n := c.Int("random-walk"); c.IsSet("random-walk") && (n < 1 || n > mostSteps) {
		return usage(c, "--random-walk %d: expected 1 to %d steps", n, mostSteps)
	}
	return nil
}
