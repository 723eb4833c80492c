package graphlines

import (
	"context"
	"fmt"
	"strconv"

	"github.com/sftseq/sftseq/internal/jsonlines"
	"github.com/sftseq/sftseq/seq"
)

// Category is a categorical feature of nodes or edges, with values from 0 to Kinds − 1.
type Category struct {
	Name  string
	Kinds int
}

// Indicators returns the names of the one-hot features of categories, in order. Each value of each
// category has a feature that is 1 for nodes or edges with this value and 0 otherwise. A linear
// layer over these features is a sum of embeddings.
func Indicators(categories []Category) (names []string) {
	for _, c := range categories {
		for kind := range c.Kinds {
			names = append(names, fmt.Sprintf("%s_%d", c.Name, kind))
		}
	}
	return names
}

// Known reads graphs with a known specification from JSON lines.
type Known struct {
	// Spec is the specification of the rows. Its FeatureNames begin with the indicators of Nodes,
	// if there are categories, and end with the steps of the random walk.
	Spec         seq.Spec
	Nodes, Edges []Category // nil leaves the numbers unchanged
	RandomWalk   int        // number of return probabilities in the features of a node
}

// Read calls visit for each graph of a file. The targets are in the field label or tags, or for a
// regression in the fields that Spec.NumberNames lists. A label is a name, or an index into the label
// names. The error for an invalid line names the file and the line. progress may be nil.
func (k *Known) Read(ctx context.Context, path string, progress func(bytes int64),
	visit func(seq.Example) error) error {
	labels := map[string]int32{}
	for i := range k.Spec.LabelNames {
		labels[strconv.Itoa(i)] = int32(i)
	}
	for i, name := range k.Spec.LabelNames {
		labels[name] = int32(i)
	}
	before := k.Spec // specification of the row before its random walk
	before.FeatureNames = before.FeatureNames[:len(before.FeatureNames)-k.RandomWalk]
	r := Reader{From: []string{path}, Label: "label", Tags: "tags", Numbers: k.Spec.NumberNames, Progress: progress}
	return r.Each(ctx, func(x *Row) error {
		if err := k.setTargets(labels, x); err != nil {
			return err
		}
		if err := k.features(x); err != nil {
			return err
		}
		if err := seq.NewBlock(&before).Append(x.Example); err != nil {
			return err
		}
		if err := AppendWalk(ctx, x.Features, x.Edges, k.RandomWalk); err != nil { // requires valid edges
			return err
		}
		return visit(x.Example)
	})
}

// setTargets sets the targets of a row.
func (k *Known) setTargets(labels map[string]int32, x *Row) error {
	if k.Spec.Task != seq.Regression {
		field, list := "label", k.Spec.Task == seq.MultiLabel
		if k.Spec.Task == seq.Tagging {
			field, list = "tags", true
		}
		if x.Field != field || x.List != list {
			return fmt.Errorf("found %s, expected %s", describeField(x.Field, x.List), describeField(field, list))
		}
	}
	if x.Number(k.Spec.Task, labels) {
		if k.Spec.Task == seq.MultiLabel && len(x.Labels) < len(x.Names) {
			return fmt.Errorf("%s: found %.60q, expected distinct labels", x.Field, x.Names)
		}
		return nil
	}
	for i, name := range x.Names {
		if _, ok := labels[name]; !ok && (x.Named == nil || x.Named[i]) {
			return fmt.Errorf("%s: found %.40q, expected one of %s, or an index from 0 to %d", x.Field, name,
				jsonlines.QuoteNames(k.Spec.LabelNames), len(k.Spec.LabelNames)-1)
		}
	}
	return nil
}

// describeField returns the name of a target field for an error.
func describeField(field string, list bool) string {
	switch {
	case field == "tags":
		return "tags (a list with a label for each node)"
	case list:
		return field + " (a list of labels)"
	}
	return field + " (a class)"
}

// features replaces the categories of nodes and edges by indicators. It checks the size of the row
// first, because the indicators may take far more memory than the categories.
func (k *Known) features(x *Row) (err error) {
	if err := k.Spec.CheckTokenCount(len(x.Features)); err != nil {
		return fmt.Errorf("features: %w", err)
	}
	if err := k.Spec.CheckEdgeCount(len(x.Edges)); err != nil {
		return fmt.Errorf("edges: %w", err)
	}
	for i, numbers := range x.Features {
		if x.Features[i], err = indicate(numbers, k.Nodes, len(k.Spec.FeatureNames)-k.RandomWalk); err != nil {
			return fmt.Errorf("features: node %d: %w", i, err)
		}
	}
	for i := range x.Edges {
		e := &x.Edges[i]
		if e.Features, err = indicate(e.Features, k.Edges, len(k.Spec.EdgeFeatureNames)); err != nil {
			return fmt.Errorf("edges: edge %d: %w", i, err)
		}
	}
	return nil
}

// indicate converts the values of categories to their indicators, whose total number is width. Without
// categories it returns the numbers unchanged.
func indicate(numbers []float32, categories []Category, width int) ([]float32, error) {
	expected := len(categories)
	if categories == nil {
		expected = width
	}
	if len(numbers) != expected {
		return nil, fmt.Errorf("found %d numbers, expected %d", len(numbers), expected)
	}
	if categories == nil {
		return numbers, nil
	}
	out, first := make([]float32, width), 0
	for i, c := range categories {
		v := numbers[i]
		if !(v >= 0 && v < float32(c.Kinds)) || v != float32(int(v)) {
			return nil, fmt.Errorf("%s: found %v, expected a whole number from 0 to %d", c.Name, v, c.Kinds-1)
		}
		out[first+int(v)] = 1
		first += c.Kinds
	}
	return out, nil
}
