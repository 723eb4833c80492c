package train

import (
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/sftseq/sftseq/internal/cpu"
	"github.com/sftseq/sftseq/internal/must"
	"github.com/sftseq/sftseq/internal/tensor"
	"github.com/sftseq/sftseq/sft"
	"github.com/sftseq/sftseq/sft/config"
	"github.com/sftseq/sftseq/sft/internal/configtest"
	"github.com/sftseq/sftseq/sft/internal/model"
)

// TestOwnMemory checks that a device's own memory is the default limit. A sequence that does not
// fit is refused before training, and the error has the length that would fit.
func TestOwnMemory(t *testing.T) {
	m := sft.NewModel(configtest.TrainingConfig(), 1)
	slots := func(d tensor.Device, length int, limit int64) (int, error) {
		s, err := NewStepper(m, runSettings(), d, length, limit)
		if err != nil {
			return 0, err
		}
		return len(s.gradients.groups) * len(s.gradients.groups[0]), nil
	}
	const length = 2 * model.MicroBatchTokens
	d := configtest.Card{Device: cpu.New(3), Limit: 1 << 40}
	if n, err := slots(d, length, 0); n != 3 || err != nil {
		t.Errorf("%d slots, want 3; error %v", n, err)
	}
	batched := batchedCard{Card: d}
	if n, err := slots(batched, length, 0); n != 12 || err != nil {
		t.Errorf("%d slots, want 12 (3 slots of 4 micro-batches); error %v", n, err)
	}
	d.Limit = 1 << 20
	_, err := slots(d, length, 0)
	var full *config.MemoryError
	if !errors.As(err, &full) {
		t.Fatalf("error %v, want a memory error", err)
	}
	weights := int64(m.Parameters.Words) * model.WordBytes
	if full.Limit != d.Limit+weights || full.Need <= full.Limit || full.Longest != length ||
		full.Fits < 1 || full.Fits >= length {
		t.Errorf("memory error %+v, want limit, need, longest and a shorter length that fits", full)
	}
	if want := fmt.Sprintf("; up to %d tokens would fit", full.Fits); !strings.HasSuffix(err.Error(), want) {
		t.Errorf("%v, expected %q", err, want)
	}
	if n, err := slots(d, full.Fits, 0); n != 1 || err != nil {
		t.Errorf("%d tokens: %d slots, want 1; error %v", full.Fits, n, err)
	}
	batched.Limit = 8 * d.Limit
	if n, err := slots(batched, full.Fits, 0); n <= 3 || n > 8 || err != nil { // the memory has room for 12
		t.Errorf("%d slots, want 4 to 8 in half of the memory; error %v", n, err)
	}
	if _, err := slots(d, full.Fits+1, 0); !errors.As(err, &full) {
		t.Errorf("%d tokens: error %v, want a memory error", full.Fits+1, err)
	}
	// The reported need is sufficient and exact: one more word of scratch does not fit.
	d.Limit = full.Need - weights
	fits := full.Longest
	if n, err := slots(d, fits, 0); n != 1 || err != nil {
		t.Errorf("%d slots, want 1; error %v", n, err)
	}
	d.ScratchWords = 1
	if _, err := slots(d, fits, 0); !errors.As(err, &full) {
		t.Errorf("error %v, want a memory error", err)
	}
	d.Limit = 1 << 40
	if _, err := slots(d, fits, weights); !errors.As(err, &full) || full.Limit != weights || full.Fits != 0 {
		t.Errorf("a limit of the size of the weights: error %v, want a memory error without a length that fits", err)
	}
}

// TestForwardFits checks that forward passes are as large as the device and its memory allow. A
// sequence that is too long is refused, and the error has the length that fits.
func TestForwardFits(t *testing.T) {
	m := sft.NewModel(configtest.TrainingConfig(), 1)
	words := func(tokens, examples int) int {
		return must.Get(model.PassWords(m.Config, m.Parameters, nil, model.InferMode, tokens, examples, 0))(t)
	}
	const limit = 1 << 12
	room := words(limit, limit/model.MinTokens)
	for name, d := range map[string]limitedCard{
		"all":    {Card: configtest.Card{Device: cpu.New(2), Limit: 1 << 40}, MaxWords: 1 << 40},
		"device": {Card: configtest.Card{Device: cpu.New(2), Limit: 1 << 40}, MaxWords: room},
		"memory": {Card: configtest.Card{Device: cpu.New(2), Limit: 2 * int64(room) * model.WordBytes},
			MaxWords: 1 << 40},
	} {
		t.Run(name, func(t *testing.T) {
			s, err := sft.NewScorer(m, d)
			must.Succeed(t, err)
			defer s.Close()
			want := limit
			if name == "all" {
				want = d.ForwardTokens()
			}
			if got := s.PassTokens(); got != want {
				t.Errorf("passes of %d tokens, expected %d", got, want)
			}
			long := make([]int32, m.Config.MaxLength)
			if len(long) <= limit {
				t.Fatalf("the longest sequence has %d tokens, too few for this test", len(long))
			}
			_, err = s.Classify(t.Context(), long)
			if name == "all" {
				must.Check(t, err)
				return
			}
			var full *config.MemoryError
			if !errors.As(err, &full) || errors.Is(err, errLimited) != (name == "device") ||
				full.Fits < limit || full.Fits >= len(long) {
				t.Fatalf("error %v, want a memory error with the length that fits", err)
			}
			if _, err := s.Classify(t.Context(), long[:full.Fits]); err != nil {
				t.Errorf("%d tokens, the length that fits: error %v", full.Fits, err)
			}
			if _, err := s.Classify(t.Context(), long[:full.Fits+1]); !errors.As(err, &full) {
				t.Errorf("%d tokens: error %v, want a memory error", full.Fits+1, err)
			}
		})
	}
}

// batchedCard is a card that runs four micro-batches together.
type batchedCard struct{ configtest.Card }

func (batchedCard) ConcurrentRuns() int { return 4 }

// limitedCard is a card that refuses programs with more than MaxWords words of activations.
type limitedCard struct {
	configtest.Card
	MaxWords int
}

var errLimited = errors.New("too wide")

func (d limitedCard) Scratch(p *tensor.Program) (int, error) {
	if p.Words(tensor.Arena) > d.MaxWords {
		return 0, errLimited
	}
	return 0, nil
}

func (d limitedCard) ForwardTokens() int { return 1 << 16 }
