package train

import (
	"math"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"github.com/sftseq/sftseq/internal/cpu"
	"github.com/sftseq/sftseq/seq"
	"github.com/sftseq/sftseq/sft/config"
	"github.com/sftseq/sftseq/sft/internal/configtest"
	"github.com/sftseq/sftseq/sft/internal/modeltest"
)

// TestAugmentImage checks that each image is a mirrored and shifted copy, that all shifts and both
// orientations are equally frequent and independent, and that the original does not change.
func TestAugmentImage(t *testing.T) {
	const width, steps = 5, 9000
	pixels := make([]int32, width*width)
	for i := range pixels {
		pixels[i] = int32(i)
	}
	original := slices.Clone(pixels)
	c := &config.Config{Task: config.Classification, Inputs: config.Inputs{VocabSize: 256}}
	s := Settings{Seed: 3, ImageFlip: true, ImageShift: 1}
	moved := func(flip bool, right, down int) []int32 {
		out := make([]int32, width*width)
		for y := range width {
			for x := range width {
				fromX, fromY := min(max(x-right, 0), width-1), min(max(y-down, 0), width-1)
				if flip {
					fromX = width - 1 - fromX
				}
				out[width*y+x] = pixels[width*fromY+fromX]
			}
		}
		return out
	}
	counts := map[[3]int]int{}
	for step := range steps {
		got := s.addNoise(c, []seq.Example{{A: []int32{1}}, {Index: 7, A: pixels}}, step, 2)[1].A
		found := false
		for i := range 18 {
			flip, right, down := i%2, i/2%3-1, i/6-1
			if slices.Equal(got, moved(flip == 1, right, down)) {
				counts[[3]int{flip, right, down}]++
				found = true
			}
		}
		if !found {
			t.Fatalf("step %d: %v is not a mirrored or shifted image", step, got)
		}
	}
	if !slices.Equal(pixels, original) {
		t.Errorf("the augmentation changed its argument to %v, want %v", pixels, original)
	}
	for k, n := range counts {
		if math.Abs(float64(n)-steps/18) > 120 { // more than five standard deviations
			t.Errorf("flip, right, down %v: %d times, want about %d", k, n, steps/18)
		}
	}
	if len(counts) != 18 {
		t.Errorf("%d different augmentations occur, want 18", len(counts))
	}
	for name, s := range map[string]Settings{"flip": {Seed: 3, ImageFlip: true}, "shift": {Seed: 3, ImageShift: 1}} {
		seen := map[string]bool{}
		for step := range 200 {
			seen[string(tokenBytes(s.augmentImage(pixels, 7, step)))] = true
		}
		if want := map[string]int{"flip": 2, "shift": 9}[name]; len(seen) != want {
			t.Errorf("%s alone produces %d images, want %d", name, len(seen), want)
		}
	}
	sequence := func(s Settings, row uint32) (out []byte) {
		for step := range 40 {
			out = append(out, tokenBytes(s.augmentImage(pixels, row, step))...)
		}
		return out
	}
	other := s
	other.Seed = 4
	if slices.Equal(sequence(s, 1), sequence(s, 2)) || slices.Equal(sequence(s, 1), sequence(other, 1)) {
		t.Error("another row or seed has the same augmentations")
	}
}

func tokenBytes(tokens []int32) (out []byte) {
	for _, x := range tokens {
		out = append(out, byte(x))
	}
	return out
}

// TestCheckImages checks that only square images wider than the shift, without labels of pixels, can
// be augmented.
func TestCheckImages(t *testing.T) {
	split := func(task string, lengths ...int) *seq.File {
		rows, _ := writeSplits(t, task, len(lengths), func(_ *rand.Rand, split string, i int) int {
			if split == "train" {
				return lengths[i]
			}
			return 4
		})
		return rows
	}
	for _, c := range []struct {
		s    Settings
		task string
		rows []int
		want string
	}{
		{Settings{ImageFlip: true}, config.Classification, []int{4, 9, 1, 1024}, ""},
		{Settings{ImageFlip: true}, config.Classification, []int{4, 8}, "found row 1 of"},
		{Settings{ImageShift: 1}, config.Classification, []int{5}, "with 5 tokens"},
		{Settings{ImageShift: 1}, config.Classification, []int{4, 9}, ""},
		{Settings{ImageShift: 2}, config.Classification, []int{9, 4}, "image_shift 2: expected less than the width"},
		{Settings{}, config.Classification, []int{3}, ""},
		{Settings{ImageShift: 1}, config.Tagging, []int{4}, "expected one image per row"},
		{Settings{ImageFlip: true}, config.Retrieval, []int{4}, "expected one image per row"},
	} {
		model := configtest.WithTask(configtest.TinyConfig(), c.task)
		err := c.s.checkImages(model, split(c.task, c.rows...))
		if c.want == "" && err != nil || c.want != "" && (err == nil || !strings.Contains(err.Error(), c.want)) {
			t.Errorf("%v with rows of %v tokens: got error %v, want %q", c.s, c.rows, err, c.want)
		}
	}
	rows := split(config.Classification, 4, 8)
	s := validSettings()
	s.ImageFlip = true
	m := modeltest.RandomModel(configtest.TinyConfig(), 1)
	if _, err := NewTrainer(m, s, cpu.New(1), rows, rows, nil, Options{}); err == nil ||
		!strings.Contains(err.Error(), "expected square images") {
		t.Errorf("a trainer of images that are not square: got error %v, want %q", err, "expected square images")
	}
	for _, bad := range []int{-1, maxImageShift + 1} {
		s.ImageShift = bad
		if err := s.Validate(); err == nil || !strings.Contains(err.Error(), "image") {
			t.Errorf("a shift of %d: got error %v, want one that names the setting", bad, err)
		}
	}
}
