package sft

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/sftseq/sftseq/internal/cpu"
	"github.com/sftseq/sftseq/internal/must"
	"github.com/sftseq/sftseq/internal/tensor"
	"github.com/sftseq/sftseq/seq"
)

// card is a device with memory of its own.
type card struct {
	tensor.Device
	budget  int64
	scratch int
}

// together is a card that runs micro-batches together.
type together struct{ card }

func (together) Together() int { return 4 }

func (d card) Budget() int64                                  { return d.budget }
func (d card) Scratch(*tensor.Program) (words int, err error) { return d.scratch, nil }

// TestOwnMemory: without a limit a device's own memory is one, and what does not
// fit is refused before anything is trained, with what would fit.
func TestOwnMemory(t *testing.T) {
	m := NewModel(trainingConfig(), 1)
	slots := func(d tensor.Device, length int, limit int64) (int, error) {
		s, err := NewStepper(m, runSettings(), d, length, limit)
		if err != nil {
			return 0, err
		}
		return len(s.gradients.groups) * len(s.gradients.groups[0]), nil
	}
	const length = 2 * microBatchTokens
	d := card{Device: cpu.New(3), budget: 1 << 40}
	if n, err := slots(d, length, 0); n != 3 || err != nil {
		t.Errorf("%d slots, error %v", n, err)
	}
	several := together{d}
	if n, err := slots(several, length, 0); n != 12 || err != nil {
		t.Errorf("%d slots where four run together in each of three, error %v", n, err)
	}
	d.budget = 1 << 20
	_, err := slots(d, length, 0)
	var full *MemoryError
	if !errors.As(err, &full) {
		t.Fatalf("error %v", err)
	}
	weights := int64(m.Parameters.Words) * wordBytes
	if full.Limit != d.budget+weights || full.Need <= full.Limit || full.Longest != length ||
		full.Fits < 1 || full.Fits >= length {
		t.Errorf("%+v", full)
	}
	if want := fmt.Sprintf("; up to %d tokens would fit", full.Fits); !strings.HasSuffix(err.Error(), want) {
		t.Errorf("%v, expected %q", err, want)
	}
	if n, err := slots(d, full.Fits, 0); n != 1 || err != nil {
		t.Errorf("%d tokens: %d slots, error %v", full.Fits, n, err)
	}
	several.budget = 8 * d.budget
	if n, err := slots(several, full.Fits, 0); n <= 3 || n > 8 || err != nil { // all 12 would fit
		t.Errorf("%d slots where those together take half at most, error %v", n, err)
	}
	if _, err := slots(d, full.Fits+1, 0); !errors.As(err, &full) {
		t.Errorf("%d tokens: error %v", full.Fits+1, err)
	}
	// What is needed is enough, and a word of scratch more is not.
	d.budget = full.Need - weights
	fits := full.Longest
	if n, err := slots(d, fits, 0); n != 1 || err != nil {
		t.Errorf("%d slots, error %v", n, err)
	}
	d.scratch = 1
	if _, err := slots(d, fits, 0); !errors.As(err, &full) {
		t.Errorf("error %v", err)
	}
	d.budget = 1 << 40
	if _, err := slots(d, fits, weights); !errors.As(err, &full) || full.Limit != weights || full.Fits != 0 {
		t.Errorf("a limit on all of the memory: error %v", err)
	}
}

// limited is a card that takes programs with so many words of activations at most.
type limited struct {
	card
	most int
}

var errLimited = errors.New("too wide")

func (d limited) Scratch(p *tensor.Program) (int, error) {
	if p.Words(tensor.Arena) > d.most {
		return 0, errLimited
	}
	return 0, nil
}

func (d limited) ForwardTokens() int { return 1 << 16 }

// TestForwardFits: forward passes are as large as the device takes and has memory
// for; a sequence that it cannot do is refused with the length of one that it can.
func TestForwardFits(t *testing.T) {
	m := NewModel(trainingConfig(), 1)
	words := func(tokens, examples int) int {
		return must.Get(passWords(m.Config, m.Parameters, nil, inferMode, tokens, examples, 0))(t)
	}
	const most = 1 << 12
	room := words(most, most/leastTokens)
	for name, d := range map[string]limited{
		"all":    {card{Device: cpu.New(2), budget: 1 << 40}, 1 << 40},
		"device": {card{Device: cpu.New(2), budget: 1 << 40}, room},
		"memory": {card{Device: cpu.New(2), budget: 2 * int64(room) * wordBytes}, 1 << 40},
	} {
		t.Run(name, func(t *testing.T) {
			s, err := NewScorer(m, d)
			must.Succeed(t, err)
			defer s.Close()
			want := most
			if name == "all" {
				want = d.ForwardTokens()
			}
			if got := s.PassTokens(); got != want {
				t.Errorf("passes of %d tokens, expected %d", got, want)
			}
			long := make([]int32, m.Config.MaxLength)
			if len(long) <= most {
				t.Fatalf("sequences of %d tokens at most", len(long))
			}
			_, err = s.Classify(t.Context(), long)
			if name == "all" {
				must.Check(t, err)
				return
			}
			var full *MemoryError
			if !errors.As(err, &full) || errors.Is(err, errLimited) != (name == "device") ||
				full.Fits < most || full.Fits >= len(long) {
				t.Fatalf("error %v", err)
			}
			if _, err := s.Classify(t.Context(), long[:full.Fits]); err != nil {
				t.Errorf("%d tokens: %v", full.Fits, err)
			}
			if _, err := s.Classify(t.Context(), long[:full.Fits+1]); !errors.As(err, &full) {
				t.Errorf("%d tokens: error %v", full.Fits+1, err)
			}
		})
	}
}

// TestPasses: a pass has no more tokens than it may, but for an example that has
// more by itself, and short sequences count as longer ones.
func TestPasses(t *testing.T) {
	var examples []seq.Example
	for _, n := range []int{40, 60, 1, 100, 101, 32, 36, 1, 1, 1, 1} {
		examples = append(examples, seq.Example{A: make([]int32, n)})
	}
	var sizes []int
	for _, p := range forwardPasses(examples, 100) {
		sizes = append(sizes, len(p))
	}
	if want := []int{2, 1, 1, 1, 3, 3}; !slices.Equal(sizes, want) {
		t.Errorf("passes of %v examples, expected %v", sizes, want)
	}
}
