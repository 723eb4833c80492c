package lra

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"path/filepath"

	"github.com/sftseq/sftseq/internal/cloud"
	"github.com/sftseq/sftseq/seq"
)

// validationFraction is the expected fraction of the training shapes that become validation shapes,
// for tasks without a validation split.
const validationFraction = 0.1

// convertModelNet converts the release of ModelNet40 that consists of points.
func convertModelNet(ctx context.Context, spec seq.Spec, from, dir string,
	options ConvertOptions) (*seq.Dataset, error) {
	return convertClouds(ctx, spec, from, dir, options, []string{cloud.ModelNetClasses},
		cloud.Options{ValPart: validationFraction})
}

// convertShapeNetPart converts ShapeNetPart, whose release includes a validation split.
func convertShapeNetPart(ctx context.Context, spec seq.Spec, from, dir string,
	options ConvertOptions) (*seq.Dataset, error) {
	files := []string{cloud.ShapeNetCategories}
	for _, split := range []string{"train", "val", "test"} {
		files = append(files, fmt.Sprintf(cloud.ShapeNetLists, split))
	}
	return convertClouds(ctx, spec, from, dir, options, files, cloud.Options{Parts: true, Drawn: true})
}

// convertClouds converts a directory of shapes. The directory must contain the files whose
// names are in lists.
func convertClouds(ctx context.Context, spec seq.Spec, from, dir string, options ConvertOptions, lists []string,
	o cloud.Options) (*seq.Dataset, error) {
	if options.Split != "" {
		return nil, errSplitOfDirectory(from, options.Split)
	}
	if err := cloud.CheckDir(from); err != nil {
		return nil, err
	}
	for _, name := range lists {
		directory, err := isDir(filepath.Join(from, name))
		switch {
		case errors.Is(err, fs.ErrNotExist):
			return nil, fmt.Errorf("%s: %s is missing", from, name)
		case err != nil:
			return nil, err
		case directory:
			return nil, fmt.Errorf("%s: expected a file %s, found a directory", from, name)
		}
	}
	files, err := cloud.Find(from)
	if err != nil {
		return nil, err
	}
	o.Points, o.Seed, o.Spec, o.Replace = options.Points, options.Seed, &spec, options.Replace
	o.Begin, o.Progress = options.Begin, options.Progress
	d, skipped, err := cloud.Convert(ctx, files, dir, o)
	if err == nil && options.LeftOut != nil {
		options.LeftOut(skipped.String())
	}
	return d, err
}
