package lra

import (
	"encoding/json"
	"fmt"

	"github.com/sftseq/sftseq/seq"
	"github.com/sftseq/sftseq/sft"
	"github.com/sftseq/sftseq/sft/config"
	"github.com/sftseq/sftseq/sft/train"
)

// Image is the task of classifying a photograph of CIFAR-10 (Krizhevsky 2009) from its 1,024 gray
// pixels, row by row.
var Image = &Task{
	Name:        "image",
	Description: "The class of a gray image of 32×32 pixels (CIFAR-10), read pixel by pixel.",
	Kind:        seq.Classification,
	Tokenizer:   json.RawMessage(`{"type":"pixel"}`),
	Labels:      imageClasses,
	Presets:     []*Preset{imageQuick, imageHour, imagePaper},
	Import: &Importer{
		Usage: "convert CIFAR-10's binary batches, in color or grayscale, to grayscale",
		Description: `Reads the official binary batches (data_batch_1.bin … data_batch_5.bin and
test_batch.bin: a label and 1,024 red, green and blue bytes each) and makes them gray
as the Long Range Arena does. Also reads gray records (cifar10_gray_train.bin and
cifar10_gray_test.bin: a label and 1,024 bytes). The files may be compressed.
The last tenth of the training images is for validation. A single file becomes one
split, the test split unless --split names another.`,
		Example: "sftseq data convert image --from cifar-10-batches-bin --to data/image",
		convert: convertImage,
	},
}

// imageClasses lists the classes in the order of their labels.
var imageClasses = []string{"airplane", "automobile", "bird", "cat", "deer", "dog", "frog", "horse", "ship", "truck"}

// Sizes of an image in pixels, and of gray and RGB records in bytes. A record is a label byte,
// followed by the pixels.
const (
	imagePixels = 32 * 32
	grayRecord  = 1 + imagePixels
	rgbRecord   = 1 + 3*imagePixels
)

// grayLevel returns the gray level that TensorFlow computes for a pixel, all in float32: it multiplies
// the bytes by 1/255 and their weighted sum by 255.5, and truncates the product.
func grayLevel(r, g, b byte) byte {
	const scale = float32(1) / 255
	v := float32(float32(0.2989)*(float32(r)*scale)) + float32(float32(0.5870)*(float32(g)*scale)) +
		float32(float32(0.1140)*(float32(b)*scale))
	return byte(float32(v * 255.5))
}

// decodeImage returns a record's row: its label and its gray pixels.
func decodeImage(record []byte) (seq.Example, error) {
	if int(record[0]) >= len(imageClasses) {
		return seq.Example{}, fmt.Errorf("expected a label from 0 to %d, found %d", len(imageClasses)-1, record[0])
	}
	pixels := record[1:]
	e := seq.Example{A: make([]int32, imagePixels), Label: int32(record[0])}
	for i := range e.A {
		if len(record) == grayRecord {
			e.A[i] = int32(pixels[i])
		} else {
			e.A[i] = int32(grayLevel(pixels[i], pixels[imagePixels+i], pixels[2*imagePixels+i]))
		}
	}
	return e, nil
}

// imagePaper is the published configuration.
var imagePaper = &Preset{
	Name:        "paper",
	Description: "published: 8 layers of 128 channels, 50 epochs",
	Config: modified(encoderConfig(8, 128, 512, 256), func(c *sft.Config) {
		c.DropToken, c.AttentionDropout, c.EmbeddingDropout, c.FeedForward = 0.3, 0.1, 0.1, 0.2
	}),
	Settings: paperSettings(50, 64, 0.02),
}

// imageQuick is a small version of the published model. Its layers also read the pixels around each
// pixel; the pixel below is 32 tokens ahead.
var imageQuick = &Preset{
	Name:        "quick",
	Description: "a small model",
	Config:      imageQuickConfig(),
	Settings:    imageSettings(2),
	Result:      &Result{58.73, "nearest class mean", 24.22, 18},
}

// imageHour is the model of imageQuick, trained for longer on mirrored and shifted images. Without this
// augmentation it overfits from the fourth epoch on.
var imageHour = &Preset{
	Name:        "hour",
	Description: "the same, for longer, on augmented images",
	Config:      imageQuickConfig(),
	Settings:    imageHourSettings(),
	Result:      &Result{70.89, "nearest class mean", 24.22, 72},
}

func imageHourSettings() train.Settings {
	s := imageSettings(8)
	s.ImageFlip, s.ImageShift = true, 2
	return s
}

func imageQuickConfig() sft.Config {
	c := encoderConfig(4, 64, 128, 16)
	c.Convolutions = []config.Convolution{{KernelSize: 5, Dilation: 1}, {KernelSize: 5, Dilation: 32}}
	c.FeedForward = 0.1
	c.MovingAverages = 4
	return c
}

func imageSettings(epochs int) train.Settings {
	s := cosineSettings(epochs, 0.02)
	s.LearningRate, s.EmbeddingInit = 3e-3, config.FourierInit
	return s
}
