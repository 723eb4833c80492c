package lra

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"fmt"
	"image/color"
	"image/png"
	"io"
	"io/fs"
	"iter"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"github.com/sftseq/sftseq/internal/atomicfile"
	"github.com/sftseq/sftseq/internal/source"
	"github.com/sftseq/sftseq/seq"
)

// pathfinderImage is an image that the metadata list, with its label.
type pathfinderImage struct {
	path  string
	label int32
}

// convertPathfinder converts an official folder. The first 80% of the images become the training
// split, the next 10% the validation split and the last 10% the test split.
func convertPathfinder(ctx context.Context, spec seq.Spec, from, dir string,
	options ConvertOptions) (*seq.Dataset, error) {
	if directory, err := isDir(from); err != nil || !directory {
		if err == nil {
			err = fmt.Errorf("%s: expected a directory with metadata/ and images", from)
		}
		return nil, err
	}
	if options.Split != "" {
		return nil, errSplitOfDirectory(from, options.Split)
	}
	images, total, err := pathfinderImages(ctx, from)
	if err != nil {
		return nil, err
	}
	options.begin(total)
	b, err := seq.CreateDataset(dir, spec, options.Replace)
	if err != nil {
		return nil, err
	}
	defer b.Abort()
	next, stop := iter.Pull2(readPathfinder(ctx, images, options.Progress))
	defer stop()
	tenth := len(images) / 10
	for _, s := range []struct {
		name string
		rows int
	}{{"train", len(images) - 2*tenth}, {"val", tenth}, {"test", tenth}} {
		if err := writeSplit(b, s.name, limit(next, s.rows)); err != nil {
			return nil, err
		}
	}
	return b.Finish(map[string]any{"source": from})
}

// pathfinderImages returns the nonempty images of a folder in the order of the metadata, and their
// total size in bytes.
func pathfinderImages(ctx context.Context, dir string) (images []pathfinderImage, total int64, err error) {
	metadata := filepath.Join(dir, "metadata")
	if _, err := os.ReadDir(metadata); err != nil && !errors.Is(err, fs.ErrNotExist) { // Glob ignores this error
		return nil, 0, fmt.Errorf("%s: %w", metadata, atomicfile.Cause(err))
	}
	files, err := filepath.Glob(filepath.Join(metadata, "*.npy"))
	if err != nil || len(files) == 0 {
		return nil, 0, fmt.Errorf("%s: expected metadata files such as metadata/0.npy, found none", dir)
	}
	number := func(path string) int {
		n, err := strconv.Atoi(strings.TrimSuffix(filepath.Base(path), ".npy"))
		if err != nil {
			return 1 << 30
		}
		return n
	}
	slices.SortFunc(files, func(a, b string) int { return cmp.Or(number(a)-number(b), strings.Compare(a, b)) })
	for _, file := range files {
		err := forEachLine(ctx, file, nil, func(line string) error {
			image, err := parsePathfinder(line)
			if err != nil {
				return err
			}
			image.path = filepath.Join(dir, image.path)
			info, err := os.Stat(image.path)
			if err != nil {
				return err
			}
			if !info.Mode().IsRegular() {
				return fmt.Errorf("expected a file, found %s with mode %s", image.path, info.Mode())
			}
			if info.Size() > 0 {
				images, total = append(images, image), total+info.Size()
			}
			return nil
		})
		if err != nil {
			return nil, 0, err
		}
	}
	if len(images) < 10 {
		return nil, 0, fmt.Errorf("%s: expected at least 10 images, found %d", dir, len(images))
	}
	return images, total, nil
}

// parsePathfinder parses a line of the metadata: folder, file, number, label and further fields.
func parsePathfinder(line string) (image pathfinderImage, err error) {
	fields := strings.Fields(line)
	if len(fields) < 4 {
		return image, fmt.Errorf("expected folder, file, number and label, found %d fields", len(fields))
	}
	if fields[3] != "0" && fields[3] != "1" {
		return image, fmt.Errorf("expected the label 0 or 1, found %.20q", fields[3])
	}
	path := filepath.Join(filepath.FromSlash(fields[0]), filepath.FromSlash(fields[1]))
	if !filepath.IsLocal(path) {
		return image, fmt.Errorf("expected a file below the folder, found %.60q", path)
	}
	return pathfinderImage{path, int32(fields[3][0] - '0')}, nil
}

// maxImage is the maximum number of bytes that are read from an image file. Real files are much
// smaller.
const maxImage = 1 << 20

// readPathfinder returns the rows of the images. An error names the image's file.
func readPathfinder(ctx context.Context, images []pathfinderImage, progress func(int64)) rows {
	return func(yield func(seq.Example, error) bool) {
		for _, i := range images {
			e, err := i.read(ctx, progress)
			if err != nil {
				err = fmt.Errorf("%s: %w", i.path, err)
			}
			if !yield(e, err) || err != nil {
				return
			}
		}
	}
}

// read decodes the image's file.
func (i *pathfinderImage) read(ctx context.Context, progress func(int64)) (e seq.Example, err error) {
	file, err := os.Open(i.path)
	if err != nil {
		return e, err
	}
	defer file.Close()
	text, err := io.ReadAll(io.LimitReader(source.Watch(ctx, file, progress), maxImage))
	if err != nil {
		return e, err
	}
	header, err := png.DecodeConfig(bytes.NewReader(text)) // check the size before allocating the pixels
	if err != nil {
		return e, err
	}
	if header.Width != size || header.Height != size {
		return e, fmt.Errorf("expected %d×%d pixels, found %d×%d", size, size, header.Width, header.Height)
	}
	decoded, err := png.Decode(bytes.NewReader(text))
	if err != nil {
		return e, err
	}
	e.Label = i.label
	for y := range size {
		for x := range size {
			e.A = append(e.A, int32(color.GrayModel.Convert(decoded.At(x, y)).(color.Gray).Y))
		}
	}
	return e, nil
}
