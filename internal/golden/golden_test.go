package golden

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"math"
	"os"
	"path/filepath"
	"testing"

	"github.com/sftseq/sftseq/device"
	"github.com/sftseq/sftseq/internal/cpu"
	"github.com/sftseq/sftseq/internal/must"
	"github.com/sftseq/sftseq/internal/tensor"
)

const folders = "../../sft/testdata/golden"

// counted is a device that counts the memory blocks that have not been freed.
type counted struct {
	tensor.Device
	held *int
}

func (d counted) Allocate(words int) (tensor.Memory, error) {
	m, err := d.Device.Allocate(words)
	if err == nil {
		*d.held++
	}
	return countedMemory{m, d.held}, err
}

func (d counted) Prepare(p *tensor.Program) (tensor.Executable, error) {
	x, err := d.Device.Prepare(p)
	return countedRun{x}, err
}

type countedRun struct{ tensor.Executable }

func (x countedRun) Run(ctx context.Context, mem tensor.Binding, from, to int) error {
	for s, m := range mem {
		if m != nil {
			mem[s] = m.(countedMemory).Memory
		}
	}
	return x.Executable.Run(ctx, mem, from, to)
}

type countedMemory struct {
	tensor.Memory
	held *int
}

func (m countedMemory) Free() {
	m.Memory.Free()
	*m.held--
}

// TestFrees checks that Compare frees all device memory of a model.
func TestFrees(t *testing.T) {
	for _, name := range []string{"ties", "train"} {
		d := counted{cpu.New(1), new(int)}
		if _, err := Compare(t.Context(), filepath.Join(folders, name), d, device.FP32, nil); err != nil ||
			*d.held != 0 {
			t.Errorf("%s: %d memory blocks were not freed; error %v", name, *d.held, err)
		}
	}
}

// TestMixed compares a float32 device as if it computed in mixed precision, with the tokens sampled by
// another float32 device. No sampled token differs, and the errors are far below the tolerance.
func TestMixed(t *testing.T) {
	exact := func() (tensor.Device, error) { return cpu.New(2), nil }
	for _, name := range []string{"ties", "train"} {
		g, err := Compare(t.Context(), filepath.Join(folders, name), cpu.New(1), device.Mixed, exact)
		if err != nil || g.Flips != 0 || !(g.Worst > 0 && g.Worst < 1e-2) {
			t.Errorf("%s: got error %v, comparison %+v, want no flips and errors below 1%% of the tolerance", name,
				err, g)
		}
	}
}

// TestNote checks that NaN and infinity count as the largest error, and that the comparison remains valid JSON.
func TestNote(t *testing.T) {
	for _, undefined := range []float64{math.NaN(), math.Inf(1)} {
		testNote(t, undefined)
	}
}

func testNote(t *testing.T, undefined float64) {
	g := &Comparison{}
	for _, c := range []struct {
		err     float64
		largest bool
	}{{1, true}, {1, false}, {0.5, false}, {2, true}, {undefined, true}, {9, false}} {
		if got := g.note(&g.Loss, c.err, c.err); got != c.largest {
			t.Errorf("%v: got largest %v, want %v", c.err, got, c.largest)
		}
	}
	if !(g.Worst > 1e300) || !(*g.Loss > 1e300) {
		t.Errorf("%v: got largest error %v and fraction %v, want the maximum float64", undefined, *g.Loss, g.Worst)
	}
	must.Get(json.Marshal(g))(t, undefined)
}

// TestMoreLogits checks that expected logits without an input are an error.
func TestMoreLogits(t *testing.T) {
	dir := t.TempDir()
	must.Succeed(t, os.CopyFS(dir, os.DirFS(filepath.Join(folders, "ties"))))
	path := filepath.Join(dir, logitsFile)
	text := must.Get(os.ReadFile(path))(t)
	last := text[bytes.LastIndexByte(bytes.TrimSpace(text), '\n')+1:]
	must.Succeed(t, os.WriteFile(path, append(text, last...), 0o666))
	must.Fail(t, fmt.Sprintf("%s: expected %d lines, one per input, found more", path, bytes.Count(text, []byte("\n"))))(
		Compare(t.Context(), dir, cpu.New(1), device.FP32, nil))
}
