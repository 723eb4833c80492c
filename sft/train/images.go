package train

import (
	"errors"
	"fmt"
	"math"

	"github.com/sftseq/sftseq/internal/philox"
	"github.com/sftseq/sftseq/seq"
	"github.com/sftseq/sftseq/sft/config"
)

// maxImageShift is the maximum value of ImageShift in pixels.
const maxImageShift = 1024

// augmentsImages reports whether training changes images.
func (s *Settings) augmentsImages() bool { return s.ImageFlip || s.ImageShift > 0 }

// checkImages returns an error if the settings augment images and a row is not a single square image
// wider than ImageShift, or its pixels have labels.
func (s *Settings) checkImages(c *config.Config, rows *seq.File) error {
	if !s.augmentsImages() {
		return nil
	}
	if c.HasFeatures() || c.PerToken() || rows.Spec().Pair() {
		return errors.New("image_flip and image_shift: expected one image per row, without labels of its pixels")
	}
	for i, n := range rows.Lengths() {
		width := imageWidth(int(n))
		if width <= s.ImageShift {
			return fmt.Errorf("image_shift %d: expected less than the width of an image, found row %d of %s with %d "+
				"tokens", s.ImageShift, i, rows.Name(), n)
		}
		if width*width != int(n) {
			return fmt.Errorf("image_flip and image_shift: expected square images, found row %d of %s with %d tokens",
				i, rows.Name(), n)
		}
	}
	return nil
}

// imageWidth returns the largest width of a square image of at most n pixels.
func imageWidth(n int) int { return int(math.Sqrt(float64(n))) }

// augmentImage returns the pixels of a square image, row by row, after augmentation. ImageFlip mirrors
// it from left to right with probability 1/2. ImageShift moves it along each axis by a uniform number of
// pixels from −ImageShift to ImageShift, and repeats the pixels of the border. Both are functions of
// (seed, row, step) only.
func (s *Settings) augmentImage(pixels []int32, row uint32, step int) []int32 {
	width := imageWidth(len(pixels))
	w := philox.Words(s.Seed, philox.Counter(0, imageNoise, 0, philox.StreamNoise, row, uint32(step)))
	flip := s.ImageFlip && w[0]&1 == 1
	shift := func(word uint32) int {
		return int(uint64(word)*uint64(2*s.ImageShift+1)>>32) - s.ImageShift
	}
	right, down := shift(w[1]), shift(w[2])
	inside := func(i int) int { return max(0, min(i, width-1)) }
	out := make([]int32, len(pixels))
	for y := range width {
		from := pixels[width*inside(y-down):][:width]
		for x := range width {
			at := inside(x - right)
			if flip {
				at = width - 1 - at
			}
			out[width*y+x] = from[at]
		}
	}
	return out
}

// imageNoise is the tower in the random counters of images. [philox.Counter] keeps only a tower's lowest
// bit, so an image and its first token have the same draws: the flip and the shift correlate with the
// noise on this token.
const imageNoise = 2
