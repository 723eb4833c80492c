package main

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"runtime"

	"github.com/urfave/cli/v2"

	"github.com/sftseq/sftseq/device"
	"github.com/sftseq/sftseq/internal/atomicfile"
	"github.com/sftseq/sftseq/internal/chart"
	"github.com/sftseq/sftseq/internal/study"
)

// pointsName is the file of a study's points.
const pointsName = "points.jsonl"

func studyCommand() *cli.Command {
	return &cli.Command{
		Name:  "study",
		Usage: "repeat the measurements of the paper",
		UsageText: `sftseq study NAME [flags]

Example: sftseq study gradients
         sftseq study convergence --task listops --steps 500 --seeds 1,2,3`,
		Description: `Each study is one of the paper's figures, tables or theorems. It prints a table, and
writes its points to points.jsonl, one JSON object a line, and a picture of them into
--out. Below the table it says what the paper found, and what of the paper's set-up is
other here. docs/paper.md has what we measured.`,
		Subcommands: []*cli.Command{studyRankCommand(), studySimilarityCommand(), studyConvergenceCommand(), studySamplingCommand(), studyRuntimeCommand(), studyCostCommand(),
			studyGradientsCommand(), studyPseudoconvexityCommand(), studyInferenceCommand(), studyRelativeCommand()},
	}
}

// studyFlags are those of a study, whose name is that of its folder.
func studyFlags(name string, more ...cli.Flag) []cli.Flag {
	return append(more,
		&cli.Uint64Flag{Name: "seed", Value: 1, Usage: "seed of all random numbers"},
		&cli.StringFlag{Name: "out", Value: filepath.Join("studies", name), Usage: "`DIR` of the points and the picture", TakesFile: true})
}

// programFlags are those of a study that is a program of its own, without a model.
func programFlags(name string, more ...cli.Flag) []cli.Flag {
	return append(studyFlags(name, more...), threadsFlag())
}

// studyThreads is --threads of a study without a model.
func studyThreads(c *cli.Context) (int, error) {
	n, err := countFlag(c, "threads", 0, device.MostThreads)
	if n == 0 {
		n = runtime.GOMAXPROCS(0)
	}
	return n, err
}

// countFlag is a whole number within limits.
func countFlag(c *cli.Context, name string, low, high int) (int, error) {
	n := c.Int(name)
	if n < low || n > high {
		return 0, usage(c, "--%s %d, expected %d to %d", name, n, low, high)
	}
	return n, nil
}

// studyReport is what a study has found: a table, its points and a picture.
type studyReport struct {
	*results
	name, dir string
	points    bytes.Buffer
}

func newStudyReport(c *cli.Context, text int, columns ...string) (*studyReport, error) {
	if err := noArguments(c); err != nil {
		return nil, err
	}
	if c.String("out") == "" {
		return nil, usage(c, "--out is empty, a directory was expected")
	}
	return &studyReport{results: newResults(c, text, columns...), name: c.Command.Name, dir: c.String("out")}, nil
}

// add takes a point, and its row of the table unless that is empty.
func (s *studyReport) add(point any, row ...string) error {
	if row != nil {
		s.rows = append(s.rows, row)
	}
	return json.NewEncoder(&s.points).Encode(point)
}

// finish writes the files and prints the table. The points come last: where they are, the
// study is complete.
func (s *studyReport) finish(figure chart.Figure, notes ...string) error {
	if err := os.MkdirAll(s.dir, 0o777); err != nil {
		return err
	}
	picture, points := filepath.Join(s.dir, s.name+".svg"), filepath.Join(s.dir, pointsName)
	if err := savePicture(figure.Scene(), picture); err != nil {
		return err
	}
	if err := atomicfile.Write(points, func(w io.Writer) error { _, err := w.Write(s.points.Bytes()); return err }); err != nil {
		return err
	}
	return s.results.finish(append(notes, fmt.Sprintf("%s and %s", points, picture))...)
}

// spreadText is a mean with its ends, "3.10 (3 to 4)", or the value that all have.
func spreadText(s study.Spread, format string) string {
	mean := fmt.Sprintf(format, s.Mean)
	if s.Min == s.Max {
		return mean
	}
	return fmt.Sprintf("%s (%s to %s)", mean, fmt.Sprintf(format, s.Min), fmt.Sprintf(format, s.Max))
}

// studyChart is a chart of a study's usual size.
func studyChart(name string, x, y chart.Axis) chart.Chart {
	return chart.Chart{Name: name, X: x, Y: y, Width: 460, Height: 320}
}

// addLine adds a line to a chart, in the style of the n-th.
func addLine(c *chart.Chart, n int, name string, points []chart.Datum) {
	c.Series = append(c.Series, chart.Series{Name: name, Style: chart.StyleOf(n), Points: points})
}
