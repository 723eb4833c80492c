package lra

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"github.com/sftseq/sftseq/internal/cloud"
	"github.com/sftseq/sftseq/seq"
)

// componentsOutside is the part of the files of a class that validation has at most, and the test; of three
// series or more one is there even if it has more files.
const componentsOutside = 0.1

// componentsOfSeries is how many files of a series are taken at most. There are series of eighty connectors
// that differ in their number of pins, and most others have few files.
const componentsOfSeries = 8

// convertComponents reads the meshes of the task's classes.
func convertComponents(ctx context.Context, spec seq.Spec, from, dir string, options ConvertOptions) (*seq.Dataset, error) {
	files, err := findComponents(from, options, spec.LabelNames)
	if err != nil {
		return nil, err
	}
	if others := files.Among(spec.LabelNames); len(others) > 0 && options.LeftOut != nil {
		leftOut := options.LeftOut
		options.LeftOut = func(text string) {
			leftOut(fmt.Sprintf("left out, no classes of %s: %s\n%s", spec.Name, listed(others), text))
		}
	}
	return writeClouds(ctx, files, spec, dir, options, cloud.Options{ValPart: componentsOutside, TestPart: componentsOutside, Series: true, SeriesFiles: componentsOfSeries, Color: true, Size: true, Period: true, Aligned: true, Spacing: true})
}

// convertComponentParts reads the meshes whose materials have names.
func convertComponentParts(ctx context.Context, spec seq.Spec, from, dir string, options ConvertOptions) (*seq.Dataset, error) {
	var classes []string
	for _, tag := range spec.LabelNames {
		class, _, _ := strings.Cut(tag, "/")
		classes = append(classes, class)
	}
	files, err := findComponents(from, options, slices.Compact(classes))
	if err != nil {
		return nil, err
	}
	return writeClouds(ctx, files, spec, dir, options, cloud.Options{ValPart: componentsOutside, TestPart: componentsOutside, Series: true, Parts: true})
}

// findComponents lists the meshes of a directory that has folders of some classes at least.
func findComponents(from string, options ConvertOptions, classes []string) (*cloud.Files, error) {
	files, err := findClouds(from, options, nil)
	if err != nil {
		return nil, err
	}
	if !slices.ContainsFunc(files.Classes, func(name string) bool { return slices.Contains(classes, name) }) {
		found := "no folders with meshes"
		if len(files.Classes) > 0 {
			found = "meshes in " + listed(files.Classes)
		}
		return nil, fmt.Errorf("%s: expected kicad-packages3d's folder usr/share/kicad/3dmodels, with folders such as %s, found %s (other meshes: sftseq data convert cloud)",
			from, classes[0], found)
	}
	return files, nil
}

// listed joins the first few of many names.
func listed(names []string) string {
	const most = 20
	if len(names) <= most {
		return strings.Join(names, ", ")
	}
	return fmt.Sprintf("%s and %d more", strings.Join(names[:most], ", "), len(names)-most)
}
