package bench

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
)

// peerFile is the program that does the same in PyTorch.
const peerFile = "sft_torch_cpu.py"

// Peer runs the PyTorch program.
type Peer struct {
	python, script string
	threads        int
}

// installPeer is what a machine without PyTorch is told.
const installPeer = "install Python 3 and PyTorch with its matrix products (Debian: apt-get install python3-torch libopenblas0-pthread)"

// FindPeer looks for the program: its file, or the directory it lies in.
func FindPeer(path string, threads int) (*Peer, error) {
	info, err := os.Stat(path)
	if err != nil {
		return nil, err
	}
	if info.IsDir() {
		path = filepath.Join(path, peerFile)
		if _, err := os.Stat(path); err != nil {
			return nil, fmt.Errorf("expected a directory with %s, or that file: %w", peerFile, err)
		}
	}
	python, err := exec.LookPath("python3")
	if err != nil {
		return nil, fmt.Errorf("PyTorch is measured by a Python program: %s: %w", installPeer, err)
	}
	return &Peer{python, path, threads}, nil
}

// Variant is how the PyTorch program computes the same model.
type Variant struct{ Relative, Score string }

// Variants lists those with the sinusoid terms: it depends on the machine which
// is the fastest. (The third score, naive, is slower everywhere.)
func Variants() []Variant {
	return []Variant{{"sin", "cdist"}, {"sin", "loop"}, {"table", "cdist"}, {"table", "loop"}}
}

// String is such as "rel=sin score=loop", as the program writes it.
func (v Variant) String() string { return fmt.Sprintf("rel=%s score=%s", v.Relative, v.Score) }

// Figures are what the program measured, in seconds by name.
type Figures struct {
	Torch   string // PyTorch's version
	seconds map[string]float64
}

// PeerListOps is the batch that the program's ListOps model has: sequences and
// their tokens.
const (
	PeerBatch  = 8
	PeerLength = 2048
)

// ListOps is one measurement of the paper's model of ListOps, with as few
// repetitions as the program makes.
func (p *Peer) ListOps(ctx context.Context, v Variant) (forward, backward float64, f *Figures, err error) {
	if f, err = p.run(ctx, "listops", v); err != nil {
		return 0, 0, nil, err
	}
	name := fmt.Sprintf("listops %v threads=%d ", v, p.threads)
	if forward, err = f.second(name + "fwd s"); err != nil {
		return 0, 0, nil, err
	}
	backward, err = f.second(name + "fwd+bwd s")
	return forward, backward, f, err
}

// Table is one measurement of the paper's runtime table: seconds a layer of
// PyTorch's own transformer, and of the program's SFT layer by k.
func (p *Peer) Table(ctx context.Context, v Variant) (transformer float64, sft map[int]float64, f *Figures, err error) {
	if f, err = p.run(ctx, "table", v); err != nil {
		return 0, nil, nil, err
	}
	if transformer, err = f.second(fmt.Sprintf("table transformer full-%d fwd s/layer", TableLength)); err != nil {
		return 0, nil, nil, err
	}
	sft = map[int]float64{}
	for _, l := range Layers(LayerShapes["usual"], TableLength) {
		if l.Kind == "sft" {
			if sft[l.K], err = f.second(fmt.Sprintf("table sft %v k=%d fwd s/layer", v, l.K)); err != nil {
				return 0, nil, nil, err
			}
		}
	}
	return transformer, sft, f, nil
}

// run starts the program anew.
func (p *Peer) run(ctx context.Context, what string, v Variant) (*Figures, error) {
	dir, err := os.MkdirTemp("", "sftseq-bench-")
	if err != nil {
		return nil, err
	}
	defer os.RemoveAll(dir)
	out := filepath.Join(dir, "figures.json")
	c := exec.CommandContext(ctx, p.python, p.script, "bench", what, "--rel", v.Relative, "--score", v.Score,
		"--threads", strconv.Itoa(p.threads), "--reps", "1", "--json", out)
	var complaint bytes.Buffer
	c.Stdout, c.Stderr = io.Discard, &complaint
	if err := c.Run(); err != nil {
		if ctx.Err() != nil {
			return nil, ctx.Err()
		}
		return nil, p.explain(err, complaint.String())
	}
	file, err := os.Open(out)
	if err != nil {
		return nil, fmt.Errorf("%s wrote no figures: %w", p.script, err)
	}
	defer file.Close()
	f, err := ReadFigures(file)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", p.script, err)
	}
	return f, nil
}

// explain makes an error of what a failed program wrote.
func (p *Peer) explain(err error, complaint string) error {
	lines := strings.Split(strings.TrimSpace(complaint), "\n")
	last := lines[len(lines)-1]
	if strings.Contains(complaint, "no torch") || strings.Contains(complaint, "No module named 'torch'") {
		return fmt.Errorf("%s: no PyTorch found: %s", p.script, installPeer)
	}
	return fmt.Errorf("%s: %w: %s", p.script, err, last)
}

// ReadFigures reads what the program writes: a JSON object of seconds, among
// which lies what it ran on.
func ReadFigures(r io.Reader) (*Figures, error) {
	var values map[string]any
	if err := json.NewDecoder(r).Decode(&values); err != nil {
		return nil, fmt.Errorf("the figures: expected a JSON object: %w", err)
	}
	f := &Figures{seconds: map[string]float64{}}
	f.Torch, _ = values["torch"].(string)
	if f.Torch == "" {
		return nil, errors.New(`the figures: key "torch" is missing, a version was expected`)
	}
	for name, v := range values {
		if s, ok := v.(float64); ok {
			f.seconds[name] = s
		}
	}
	return f, nil
}

// second is a time by its name.
func (f *Figures) second(name string) (float64, error) {
	s, ok := f.seconds[name]
	if !ok {
		return 0, fmt.Errorf("the figures: %q is missing", name)
	}
	if !(s > 0) || math.IsInf(s, 0) {
		return 0, fmt.Errorf("the figures: %q is %v, expected a time", name, s)
	}
	return s, nil
}
