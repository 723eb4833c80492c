package main

import (
	"bufio"
	"bytes"
	"encoding/json"
	"fmt"
	"io"

	"github.com/sftseq/sftseq/device"
	"github.com/sftseq/sftseq/internal/bench"
	"github.com/sftseq/sftseq/internal/golden"
	"github.com/sftseq/sftseq/internal/tensor/conformance"
)

// results holds the lines of the GPU kit by part. Each line is a JSON object that run.sh or a command of
// the part has printed, with the name of the part.
type results struct {
	systems   []kitSystem
	devices   []bench.DeviceResult
	checks    []conformance.Summary
	golden    []golden.Comparison
	listops   []bench.ModelResult
	profiles  []bench.ModelResult
	presets   []bench.ModelResult
	lengths   []bench.ModelResult
	torch     []torchResult // results for the preset of ListOps
	taskTorch []torchResult // results for other presets
	kernels   []bench.KernelMeasurement
	ceilings  []kitCeilings
	losses    []kitLoss
	parts     []kitPart
	failures  []kitFailure
	lines     int // number of readable lines
	truncated int // number of unreadable lines
}

// kitSystem is a line about the environment of a run. It has the date, the version of sftseq and the
// system, or only Says: the GPU with its driver, the version of PyTorch, or why PyTorch is not measured.
type kitSystem struct {
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
	Device       string  `json:"device"` // cpu, or the name of a GPU
	Version      string  `json:"torch"`
	Seconds      float64 `json:"seconds"`
	TokensPerSec float64 `json:"tokens_per_s"`
	PeakGiB      float64 `json:"peak_gib"`
}

type kitCeilings struct {
	Ceilings  *bench.Ceilings  `json:"ceilings"`
	Precision device.Precision `json:"precision"`
}

// kitLoss is the result of a training run. Loss is the mean loss at the end, and Last the number of steps
// in this mean.
type kitLoss struct {
	Precision device.Precision `json:"precision"`
	Batch     int              `json:"batch"`
	Steps     int              `json:"steps"`
	Last      int              `json:"last"`
	Loss      float64          `json:"loss"`
	Seconds   float64          `json:"seconds"`
}

// kitPart is the outcome of a part.
type kitPart struct {
	Name    string `json:"name"`
	Result  string `json:"result"` // ok, incomplete, out of time or skipped
	Seconds int    `json:"seconds"`
	Planned int    `json:"planned"` // seconds
	Limit   int    `json:"limit"`   // seconds
	Note    string `json:"note"`    // for example skipped measurements, and the reason
}

// kitFailure is a failed command.
type kitFailure struct {
	Part    string `json:"part"`
	Command string `json:"command"`
	Status  int    `json:"status"`
	Error   string `json:"error"`
}

// read reads lines, and counts unreadable lines: truncated by an interruption, or with an unknown part.
func (r *results) read(in io.Reader) error {
	lines := bufio.NewScanner(in)
	lines.Buffer(nil, 1<<20)
	for lines.Scan() {
		if line := bytes.TrimSpace(lines.Bytes()); len(line) > 0 {
			if err := r.decode(line); err != nil {
				r.truncated++
				continue
			}
			r.lines++
		}
	}
	return lines.Err()
}

func (r *results) decode(line []byte) error {
	var kind struct {
		Part     string          `json:"part"`
		Command  string          `json:"command"`
		Ceilings json.RawMessage `json:"ceilings"`
	}
	if err := json.Unmarshal(line, &kind); err != nil {
		return err
	}
	if kind.Command != "" {
		return appendTo(&r.failures)(line)
	}
	if kind.Ceilings != nil && kind.Part == "kernels" {
		return appendTo(&r.ceilings)(line)
	}
	about := appendTo(&r.systems)
	store, ok := map[string]func([]byte) error{
		"kit": about, "driver": about, "python": about, "devices": appendTo(&r.devices),
		"check": appendTo(&r.checks), "golden": appendTo(&r.golden),
		"listops": appendTo(&r.listops), "profile": appendTo(&r.profiles), "presets": appendTo(&r.presets),
		"lengths": appendTo(&r.lengths),
		"peer":    appendTo(&r.torch), "peers": appendTo(&r.taskTorch), "kernels": appendTo(&r.kernels),
		"loss": appendTo(&r.losses), "parts": appendTo(&r.parts),
	}[kind.Part]
	if !ok {
		return fmt.Errorf("unknown part %q", kind.Part)
	}
	return store(line)
}

// appendTo returns a function that decodes a line and appends the result to a list.
func appendTo[T any](list *[]T) func(line []byte) error {
	return func(line []byte) error {
		var v T
		err := json.Unmarshal(line, &v)
		if err == nil {
			*list = append(*list, v)
		}
		return err
	}
}
