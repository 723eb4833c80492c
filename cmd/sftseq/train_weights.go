package main

import (
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"math"
	"os"
	"slices"
	"strings"

	"github.com/urfave/cli/v2"

	"github.com/sftseq/sftseq/internal/atomicfile"
	"github.com/sftseq/sftseq/internal/jsonlines"
	"github.com/sftseq/sftseq/seq"
	"github.com/sftseq/sftseq/sft/train"
)

// balanced is the value of --class-weights for weights inversely proportional to class frequencies. For
// multi-label tasks it has another meaning: see labelWeights.
const balanced = "balanced"

// maxWeightsBytes is the maximum size of a file of weights.
const maxWeightsBytes = 16 << 20

// classWeights returns the weights of --class-weights, or nil if the flag is not set. For
// multi-label tasks, it returns the result of [labelWeights]. Other weights have a mean of 1 over the labels of the
// training split, so the scale of the loss and the effect of the learning rate are unchanged.
func classWeights(c *cli.Context, set *seq.Dataset) ([]float64, error) {
	from, names := c.String("class-weights"), set.Manifest.LabelNames
	if from == "" {
		return nil, nil
	}
	if set.Manifest.Task == seq.MultiLabel {
		return labelWeights(from, set)
	}
	rows := make([]float64, len(names))
	counts := set.Manifest.Splits["train"].Labels
	total := 0.0
	for i, name := range names {
		rows[i] = float64(counts[name])
		total += rows[i]
	}
	if total == 0 {
		return nil, fmt.Errorf("--class-weights: %s: expected training rows with labels, counted in dataset.json, "+
			"found none (convert the data again)", set.Dir)
	}
	weights := make([]float64, len(names))
	if from == balanced {
		for i, n := range rows {
			if weights[i] = 1; n > 0 {
				weights[i] = 1 / n
			}
		}
	} else if err := readWeights(from, names, weights); err != nil {
		return nil, fmt.Errorf("--class-weights: %w", err)
	}
	sum := 0.0
	for i, n := range rows {
		sum += n * weights[i]
	}
	if mean := sum / total; mean > 0 && !math.IsInf(mean, 0) {
		for i, n := range rows {
			if weights[i] /= mean; from == balanced && n == 0 {
				weights[i] = 1 // a class without rows is not learned
			}
		}
		return weights, nil
	}
	return nil, fmt.Errorf("--class-weights %s: expected weights whose sum over the training rows is finite "+
		"and above 0, found %g",
		from, sum)
}

// checkWeights returns an error if the weights of --class-weights differ from those of the run's
// checkpoint.
func checkWeights(c *cli.Context, set *seq.Dataset, from *train.Checkpoint) error {
	weights, err := classWeights(c, set)
	if err == nil && weights != nil && !slices.Equal(weights, from.Settings.ClassWeights) {
		err = fmt.Errorf("--class-weights %s: the run was started with other weights, and a resumed run cannot "+
			"change them",
			c.String("class-weights"))
	}
	return err
}

// readWeights reads the class weights in the JSON object of a file into the parameter weights. A class
// without an entry has the weight 1.
func readWeights(path string, names []string, weights []float64) error {
	if strings.HasPrefix(path, "{") {
		return fmt.Errorf("expected balanced, or the path of a JSON file, found JSON: %s (write it to a file)", path)
	}
	text, err := atomicfile.ReadRegular(path, maxWeightsBytes)
	if errors.Is(err, os.ErrNotExist) {
		return fmt.Errorf("%w (expected balanced, or a JSON file such as {%q: 2.5})", err, names[0])
	}
	if err != nil {
		return err
	}
	expected := fmt.Sprintf("expected a JSON object of classes and their weights, such as {%q: 2.5}", names[0])
	values, err := parseObject(text, expected)
	if err != nil {
		return fmt.Errorf("%s%w", path, err)
	}
	for i := range weights {
		weights[i] = 1
	}
	for _, name := range slices.Sorted(maps.Keys(values)) { // in a fixed order, so that errors are reproducible
		i := slices.Index(names, name)
		if i < 0 {
			return fmt.Errorf("%s: class %q: expected one of %s", path, name, shortList(names, 20))
		}
		var weight *float64
		if err := json.Unmarshal(values[name], &weight); err != nil || weight == nil || !(*weight >= 0) {
			return fmt.Errorf("%s: class %q: expected a number of at least 0, found %s", path, name,
				jsonlines.Kind(values[name]))
		}
		weights[i] = *weight
	}
	return nil
}

// describeWeights formats weights as "class weights: bad 0.5, good 1.5".
func describeWeights(names []string, weights []float64) string {
	words := make([]string, len(weights))
	for i, w := range weights {
		words[i] = fmt.Sprintf("%s %.4g", names[i], w)
	}
	return "class weights: " + shortList(words, 12)
}
