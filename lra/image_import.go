package lra

import (
	"context"
	"errors"
	"fmt"
	"io"
	"iter"
	"path/filepath"
	"slices"
	"strings"

	"github.com/sftseq/sftseq/internal/source"
	"github.com/sftseq/sftseq/seq"
)

// imageLayouts lists the possible layouts of a directory of images.
var imageLayouts = []struct{ train, test []string }{
	{[]string{"data_batch_1.bin", "data_batch_2.bin", "data_batch_3.bin", "data_batch_4.bin", "data_batch_5.bin"},
		[]string{"test_batch.bin"}},
	{[]string{"cifar10_gray_train.bin"}, []string{"cifar10_gray_test.bin"}},
}

// convertImage converts a directory of CIFAR-10, or a single file as one split. The last tenth of a
// directory's training images becomes the validation split.
func convertImage(ctx context.Context, spec seq.Spec, from, dir string, options ConvertOptions) (*seq.Dataset, error) {
	spec.IDs = true
	directory, err := isDir(from)
	if err != nil {
		return nil, err
	}
	if !directory {
		return convertFile(spec, from, dir, options,
			func(path string) rows { return imageRows(ctx, options.Progress, path) })
	}
	if options.Split != "" {
		return nil, errSplitOfDirectory(from, options.Split)
	}
	train, test, err := findImages(from)
	if err != nil {
		return nil, err
	}
	options.begin(sizeOf(train...) + sizeOf(test...))
	b, err := seq.CreateDataset(dir, spec, options.Replace)
	if err != nil {
		return nil, err
	}
	defer b.Abort()
	total := 0
	for _, path := range train {
		_, n, err := recordsOf(ctx, path)
		if err != nil {
			return nil, err
		}
		total += n
	}
	next, stop := iter.Pull2(imageRows(ctx, options.Progress, train...))
	defer stop()
	for _, split := range []struct {
		name string
		rows rows
	}{{"train", limit(next, total-total/10)}, {"val", limit(next, total/10)},
		{"test", imageRows(ctx, options.Progress, test...)}} {
		if err := writeSplit(b, split.name, split.rows); err != nil {
			return nil, err
		}
	}
	return b.Finish(map[string]any{"source": from})
}

// findImages returns the training and test files of the first complete layout in a directory. Without a
// complete layout, the error names a missing file of an incomplete layout, or the files of all layouts.
func findImages(dir string) (train, test []string, err error) {
	var layouts []string
	for _, l := range imageLayouts {
		names := slices.Concat(l.train, l.test)
		paths, missing := findAll(dir, names...)
		if missing == nil {
			return paths[:len(l.train)], paths[len(l.train):], nil
		}
		if err == nil && slices.ContainsFunc(names, func(name string) bool {
			_, err := findOfficial(dir, name)
			return !errors.Is(err, errMissing)
		}) {
			err = missing
		}
		layouts = append(layouts, strings.Join(names, ", "))
	}
	if err == nil {
		err = fmt.Errorf("%s: found no file of CIFAR-10: expected %s (plain, .gz or .zst)", dir,
			strings.Join(layouts, "; or "))
	}
	return nil, nil, err
}

// imageRows returns the images of the files, in the given order.
func imageRows(ctx context.Context, progress func(int64), paths ...string) rows {
	return func(yield func(seq.Example, error) bool) {
		for _, path := range paths {
			size, n, err := recordsOf(ctx, path)
			if err != nil {
				yield(seq.Example{}, err)
				return
			}
			s, err := source.Open(ctx, path, progress)
			if err != nil {
				yield(seq.Example{}, err)
				return
			}
			record := make([]byte, size)
			for i := range n {
				var e seq.Example
				if _, err = io.ReadFull(s, record); err == nil {
					e, err = decodeImage(record)
				}
				e.ID = fmt.Sprintf("%s:%d", filepath.Base(path), i) // the same numbering as in error messages
				if err != nil {
					err = fmt.Errorf("%s: record %d: %w", path, i, err)
				}
				if !yield(e, err) || err != nil {
					s.Close()
					return
				}
			}
			s.Close()
		}
	}
}

// recordsOf returns the size of a file's records and their number. It distinguishes gray from
// colour records by the length of the file.
func recordsOf(ctx context.Context, path string) (size, n int, err error) {
	s, err := source.Open(ctx, path, nil)
	if err != nil {
		return 0, 0, err
	}
	defer s.Close()
	length, err := io.Copy(io.Discard, s)
	if err != nil {
		return 0, 0, fmt.Errorf("%s: %w", path, err)
	}
	switch {
	case length > 0 && length%rgbRecord == 0:
		return rgbRecord, int(length / rgbRecord), nil
	case length > 0 && length%grayRecord == 0:
		return grayRecord, int(length / grayRecord), nil
	}
	return 0, 0, fmt.Errorf("%s: expected records of %d bytes (a label, red, green and blue) or of %d (a label and gray), found %d bytes", path, rgbRecord, grayRecord, length)
}
