package main

import (
	"strings"

	"github.com/urfave/cli/v2"

	"github.com/sftseq/sftseq/internal/graph"
	"github.com/sftseq/sftseq/internal/superpixel"
	"github.com/sftseq/sftseq/lra"
	"github.com/sftseq/sftseq/seq"
)

// What images may be cut into.
const (
	mostPieces      = 1 << 16
	mostCompactness = 1e6
)

// convertSuperpixelsCommand makes graphs of images.
func convertSuperpixelsCommand() *cli.Command {
	return &cli.Command{
		Name: lra.Superpixels.Name, Usage: "graphs of the images of a data set",
		UsageText: "sftseq data convert superpixels --from DIR --to DIR [flags]\n\nExample: " + lra.Superpixels.Import.Example,
		Description: `Cuts each image of a data set, such as data convert image makes of CIFAR-10, into superpixels:
connected pieces of about one size whose pixels are alike (SLIC, Achanta et al. 2012). They are
the nodes of a graph, with the features
   ` + strings.Join(superpixel.PieceFeatureNames, ", ") + `
and those with a common border have edges in both directions, with the features
   ` + strings.Join(superpixel.BorderFeatureNames, ", ") + `
Splits, classes and the order of the rows are those of the images.`,
		Flags: []cli.Flag{
			&cli.StringFlag{Name: "from", Usage: "`DIR` of a data set of gray images (required)", TakesFile: true},
			&cli.StringFlag{Name: "to", Usage: "`DIR` of the data set (required)", TakesFile: true},
			&cli.IntFlag{Name: "pieces", Value: 64, Usage: "cut an image into about `N`"},
			&cli.Float64Flag{Name: "compactness", Value: 10, Usage: "how much places count beside light: the light, from 0 to 100, that the distance of two pieces is `WORTH`"},
			&cli.IntFlag{Name: "width", Usage: "`PIXELS` in a row of an image", DefaultText: "images are squares"},
			&cli.IntFlag{Name: "rows", Usage: "the first `N` images of each split", DefaultText: "all"},
			&cli.IntFlag{Name: "random-walk", Usage: "return probabilities of a random walk of 1 to `STEPS` as features of the nodes"},
			noBaselinesFlag(),
			&cli.BoolFlag{Name: "force", Usage: "replace a complete data set"},
		},
		Action: convertSuperpixels,
	}
}

func convertSuperpixels(c *cli.Context) error {
	if err := noArguments(c); err != nil {
		return err
	}
	if err := needFlags(c, "from", "to"); err != nil {
		return err
	}
	if err := checkSteps(c); err != nil {
		return err
	}
	for name, most := range map[string]int{"pieces": mostPieces, "width": 1 << 30, "rows": 1 << 30} {
		if n := c.Int(name); c.IsSet(name) && (n < 1 || n > most) {
			return usage(c, "--%s %d: expected 1 to %d", name, n, most)
		}
	}
	compactness := c.Float64("compactness")
	if !(compactness > 0 && compactness <= mostCompactness) {
		return usage(c, "--compactness %v: expected more than 0 and at most %.0f", compactness, float64(mostCompactness))
	}
	if err := refuseTable(c.String("from")); err != nil {
		return err
	}
	images, err := seq.OpenDataset(c.String("from"))
	if err != nil {
		return err
	}
	total := int64(0)
	for _, s := range images.Manifest.Splits {
		if n := int64(c.Int("rows")); n > 0 {
			total += min(n, s.Rows)
		} else {
			total += s.Rows
		}
	}
	bar := newProgress(total, "cutting images", "rows")
	d, err := graph.SuperpixelSet(c.Context, c.String("to"), graph.ImageOptions{
		From: c.String("from"), Options: superpixel.Options{Pieces: c.Int("pieces"), Compactness: compactness},
		Width: c.Int("width"), Rows: c.Int("rows"), RandomWalk: c.Int("random-walk"), Replace: c.Bool("force"), Progress: bar.Add})
	bar.Finish()
	if err := reportDataset(c, d, err); err != nil {
		return err
	}
	return newBaselines(c, d)
}
