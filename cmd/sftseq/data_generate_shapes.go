package main

import (
	"github.com/urfave/cli/v2"

	"github.com/sftseq/sftseq/lra"
)

// generateShapesCommand makes point clouds of known solids.
func generateShapesCommand() *cli.Command {
	usual := lra.UsualShapes
	return &cli.Command{
		Name: lra.ShapesName, Usage: "point clouds of nine kinds of solids",
		UsageText: "sftseq data generate shapes --out DIR [flags]\n\nExample: sftseq data generate shapes --out data/shapes\n         sftseq train custom --data data/shapes --out runs/shapes\n         sftseq data generate shapes --parts --out data/parts",
		Description: `Draws points, uniform on the surfaces of balls, bolts, boxes, cones, cylinders, dumbbells,
mugs, tables and tori of random sizes, with normals, turned at random. The columns x, y, z,
nx, ny and nz are the features of a point. With --parts each point has a tag, the solid and its
part, such as mug/handle, in place of a class of the cloud. The same seed gives the same files.`,
		Flags: []cli.Flag{
			&cli.StringFlag{Name: "out", Usage: "`DIR` of the data set (required)", TakesFile: true},
			&cli.IntFlag{Name: "train", Value: usual.Train, Usage: "clouds for training"},
			&cli.IntFlag{Name: "val", Value: usual.Val, Usage: "clouds for validation"},
			&cli.IntFlag{Name: "test", Value: usual.Test, Usage: "clouds for testing"},
			&cli.IntFlag{Name: "points", Value: usual.Points, Usage: "points of a cloud"},
			&cli.IntFlag{Name: "noise", Value: usual.Noise, Usage: "standard deviation of coordinates, in thousandths of the radius"},
			&cli.BoolFlag{Name: "upright", Usage: "do not turn the solids"},
			&cli.BoolFlag{Name: "parts", Usage: "label each point with its part, in place of each cloud with its class"},
			&cli.Uint64Flag{Name: "seed", Usage: "seed of the random numbers"},
			noBaselinesFlag(),
			&cli.BoolFlag{Name: "force", Usage: "replace a complete data set"},
		},
		Action: generateShapes,
	}
}

func generateShapes(c *cli.Context) error {
	if err := noArguments(c); err != nil {
		return err
	}
	if err := needFlags(c, "out"); err != nil {
		return err
	}
	o := lra.ShapesOptions{Train: c.Int("train"), Val: c.Int("val"), Test: c.Int("test"), Points: c.Int("points"),
		Noise: c.Int("noise"), Upright: c.Bool("upright"), Parts: c.Bool("parts"), Seed: c.Uint64("seed"), Replace: c.Bool("force")}
	if err := o.Validate(); err != nil {
		return usage(c, "%w", err)
	}
	bar := newProgress(int64(o.Train)+int64(o.Val)+int64(o.Test), "generating "+lra.ShapesName, "clouds")
	o.Progress = bar.Add
	d, err := lra.GenerateShapes(c.Context, c.String("out"), o)
	bar.Finish()
	if err := reportDataset(c, d, err); err != nil {
		return err
	}
	return newBaselines(c, d)
}
