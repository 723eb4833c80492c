package main

import (
	"bufio"
	"bytes"
	"encoding/json"
	"fmt"
	"io"

	"github.com/urfave/cli/v2"

	"github.com/sftseq/sftseq/device"
	"github.com/sftseq/sftseq/internal/bench"
	"github.com/sftseq/sftseq/internal/golden"
)

func benchReportCommand() *cli.Command {
	return &cli.Command{
		Name:      "report",
		Usage:     "print the results of the GPU kit as tables",
		ArgsUsage: "results.jsonl",
		UsageText: `sftseq bench report results.jsonl

Example: sftseq bench report results/results.jsonl > report.txt`,
		Description: `Reads the JSON lines that run.sh of make bench-gpu-kit has written, as far as it
came, and prints them as tables of Markdown: what the device is and whether it
computes as it should, tokens a second beside PyTorch's, the share of each kernel,
and what failed.`,
		Action: benchReport,
	}
}

// kitResults are the lines of the GPU kit, by what they are of. Each line has the
// name of a part, and what the part's command printed.
type kitResults struct {
	about    []kitAbout
	devices  []deviceLine
	checks   []kernelCheck
	golden   []golden.Comparison
	listops  []modelResult
	profiles []modelResult
	presets  []modelResult
	lengths  []modelResult
	torch    []torchResult // of the preset of ListOps
	torches  []torchResult // of the others
	kernels  []kernelResult
	ceilings []kitCeilings
	losses   []kitLoss
	parts    []kitPart
	failures []kitFailure
	lines    int // that could be read
	torn     int // that could not
}

// kitAbout is where and when the kit ran, and what drivers and PyTorch say.
type kitAbout struct {
	Date    string `json:"date"`
	Version string `json:"version"`
	System  string `json:"system"`
	Quick   bool   `json:"quick"`
	Says    string `json:"says"`
}

// torchResult is a line of sft_torch_gpu.py.
type torchResult struct {
	What         string  `json:"what"`  // train or infer
	Model        string  `json:"model"` // sft or transformer
	Task         string  `json:"task"`
	Batch        int     `json:"batch"`
	Length       int     `json:"length"`
	Type         string  `json:"dtype"`
	Compiled     bool    `json:"compiled"`
	Device       string  `json:"device"` // cpu, or a name
	Version      string  `json:"torch"`
	Seconds      float64 `json:"seconds"`
	TokensPerSec float64 `json:"tokens_per_s"`
	PeakGiB      float64 `json:"peak_gib"`
}

type kitCeilings struct {
	Ceilings  *bench.Ceilings  `json:"ceilings"`
	Precision device.Precision `json:"precision"`
}

// kitLoss is what a run came to: the mean loss over its last steps.
type kitLoss struct {
	Precision device.Precision `json:"precision"`
	Batch     int              `json:"batch"`
	Steps     int              `json:"steps"`
	Last      int              `json:"last"`
	Loss      float64          `json:"loss"`
	Seconds   float64          `json:"seconds"`
}

// kitPart is how a part ended.
type kitPart struct {
	Name    string `json:"name"`
	Result  string `json:"result"` // ok, incomplete, out of time or skipped
	Seconds int    `json:"seconds"`
	Planned int    `json:"planned"`
	Limit   int    `json:"limit"`
	Note    string `json:"note"` // what was left out, and why
}

// kitFailure is a command that failed.
type kitFailure struct {
	Part    string `json:"part"`
	Command string `json:"command"`
	Status  int    `json:"status"`
	Error   string `json:"error"`
}

func benchReport(c *cli.Context) error {
	if c.NArg() != 1 {
		return usage(c, "%d arguments, expected the one file results.jsonl", c.NArg())
	}
	f, name, err := openFile(c, c.Args().First())
	if err != nil {
		return err
	}
	defer f.Close()
	r := &kitResults{}
	if err := r.read(f); err != nil {
		return fmt.Errorf("%s: %w", name, err)
	}
	if r.lines == 0 {
		return fmt.Errorf("%s: no results of the GPU kit", name)
	}
	_, err = io.WriteString(c.App.Writer, r.markdown())
	return err
}

// read reads lines. One that is torn, by a run that was stopped, is counted.
func (r *kitResults) read(in io.Reader) error {
	lines := bufio.NewScanner(in)
	lines.Buffer(nil, 1<<20)
	for lines.Scan() {
		if line := bytes.TrimSpace(lines.Bytes()); len(line) > 0 {
			if err := r.line(line); err != nil {
				r.torn++
				continue
			}
			r.lines++
		}
	}
	return lines.Err()
}

func (r *kitResults) line(line []byte) error {
	var kind struct {
		Part     string          `json:"part"`
		Command  string          `json:"command"`
		Ceilings json.RawMessage `json:"ceilings"`
	}
	if err := json.Unmarshal(line, &kind); err != nil {
		return err
	}
	if kind.Command != "" {
		return keep(line, &r.failures)
	}
	switch kind.Part {
	case "kit", "driver", "python":
		return keep(line, &r.about)
	case "devices":
		return keep(line, &r.devices)
	case "check":
		return keep(line, &r.checks)
	case "golden":
		return keep(line, &r.golden)
	case "listops":
		return keep(line, &r.listops)
	case "profile":
		return keep(line, &r.profiles)
	case "presets":
		return keep(line, &r.presets)
	case "lengths":
		return keep(line, &r.lengths)
	case "peer":
		return keep(line, &r.torch)
	case "peers":
		return keep(line, &r.torches)
	case "kernels":
		if kind.Ceilings != nil {
			return keep(line, &r.ceilings)
		}
		return keep(line, &r.kernels)
	case "loss":
		return keep(line, &r.losses)
	case "parts":
		return keep(line, &r.parts)
	}
	return fmt.Errorf("%q is no part", kind.Part)
}

// keep decodes a line and puts it behind the others.
func keep[T any](line []byte, to *[]T) error {
	var v T
	if err := json.Unmarshal(line, &v); err != nil {
		return err
	}
	*to = append(*to, v)
	return nil
}
