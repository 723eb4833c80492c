package main

import (
	"fmt"
	"strings"

	"github.com/urfave/cli/v2"

	"github.com/sftseq/sftseq/internal/cloud"
)

// convertCloudCommand makes point clouds of files with points or surfaces.
func convertCloudCommand() *cli.Command {
	return &cli.Command{
		Name: "cloud", Usage: "from folders of point clouds or surfaces",
		UsageText: "sftseq data convert cloud --from DIR --to DIR [flags]\n\nExample: sftseq data convert cloud --from ModelNet40 --to data/modelnet --points 1024",
		Description: fmt.Sprintf(`Reads files %s in a folder with a folder for each class.
A folder called train, val or test on the way to a file says its split, as in
chair/train/chair_0001.off; otherwise its name and --seed do. Of a surface points are drawn
that are uniform on it, with normals; of points the farthest ones are taken, or all, with
their normals if they have some (lines x y z nx ny nz). A cloud is centred and divided by
its radius.`, strings.Join(cloud.Endings(), ", ")),
		Flags: []cli.Flag{
			&cli.StringFlag{Name: "from", Usage: "`DIR` with a folder for each class (required)", TakesFile: true},
			&cli.StringFlag{Name: "to", Usage: "`DIR` of the data set (required)", TakesFile: true},
			&cli.IntFlag{Name: "points", Value: 1024, Usage: "points of a cloud"},
			&cli.Float64Flag{Name: "val-part", Value: 0.1, Usage: "share of validation, of files that no folder puts into a split"},
			&cli.Float64Flag{Name: "test-part", Value: 0.1, Usage: "share of the test, likewise"},
			&cli.Uint64Flag{Name: "seed", Usage: "seed of the random numbers"},
			noBaselinesFlag(),
			&cli.BoolFlag{Name: "force", Usage: "replace a complete data set"},
		},
		Action: convertCloud,
	}
}

func convertCloud(c *cli.Context) error {
	if err := noArguments(c); err != nil {
		return err
	}
	if err := needFlags(c, "from", "to"); err != nil {
		return err
	}
	o := cloud.Options{Points: c.Int("points"), Seed: c.Uint64("seed"), ValPart: c.Float64("val-part"), TestPart: c.Float64("test-part"), Replace: c.Bool("force")}
	if err := o.Validate(); err != nil {
		return usage(c, "%w", err)
	}
	d, err := cloud.Convert(c.Context, c.String("from"), c.String("to"), o)
	if err := reportDataset(c, d, err); err != nil {
		return err
	}
	return newBaselines(c, d)
}
