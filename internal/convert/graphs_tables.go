package convert

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"slices"
	"strconv"
	"strings"

	"github.com/sftseq/sftseq/internal/graphlines"
	"github.com/sftseq/sftseq/internal/jsonlines"
	"github.com/sftseq/sftseq/internal/table"
	"github.com/sftseq/sftseq/seq"
)

// files reads graphs from files of JSON lines, Arrow or Parquet.
type files struct{ options *GraphOptions }

// Each calls visit with each graph of all files, in order.
func (f files) Each(ctx context.Context, visit func(*graphlines.Row) error) error {
	o := f.options
	for _, path := range o.From {
		if isTable(path) {
			if err := f.table(ctx, path, visit); err != nil {
				return err
			}
			continue
		}
		lines := graphlines.Reader{From: []string{path}, Label: o.Label, Tags: o.Tags, Numbers: o.Numbers,
			SplitField: o.SplitField}
		if err := lines.Each(ctx, visit); err != nil {
			return err
		}
	}
	return nil
}

// isTable reports whether a file is Arrow or Parquet, judging by its name.
func isTable(path string) bool {
	format, err := table.FormatOf(path)
	return err == nil && (format == "arrow" || format == "parquet")
}

// table reads the graphs of a table, which has a column for each field of JSON lines. The
// features of edges are in the column edge_features.
func (f files) table(ctx context.Context, path string, visit func(*graphlines.Row) error) error {
	existing, err := columnsOf(ctx, path)
	if err != nil {
		return err
	}
	o := f.options
	columns := []string{seq.ColumnFeatures, seq.ColumnEdges}
	optional := []string{seq.ColumnEdgeFeatures, seq.ColumnID, o.Label, o.Tags}
	if o.Numbers != nil {
		columns, optional = append(columns, o.Numbers...), optional[:2]
	}
	if o.SplitField != "" {
		columns = append(columns, o.SplitField)
	}
	for _, name := range optional {
		if slices.Contains(existing, name) && !slices.Contains(columns, name) {
			columns = append(columns, name)
		}
	}
	t, err := table.Open(ctx, path,
		table.Options{Columns: columns, Features: []string{seq.ColumnFeatures, seq.ColumnEdgeFeatures},
			Edges: []string{seq.ColumnEdges},
			Lists: []string{o.Label, o.Tags}, Gaps: []string{o.Tags}})
	if err != nil {
		return err
	}
	defer t.Close()
	if err := o.checkNames(t, path); err != nil {
		return err
	}
	var labels []string // names of numeric labels
	if err := table.MetadataNames(t, path, seq.KeyLabelNames, &labels); err != nil {
		return err
	}
	var in table.Row // reused for every row
	for {
		if err := t.Next(&in); err == io.EOF {
			return nil
		} else if err != nil {
			return err
		}
		if err := ctx.Err(); err != nil {
			return err
		}
		x, err := (&tableRow{&in, columns, labels, o}).graph()
		if err = cmp.Or(in.Err, err); err == nil {
			err = visit(x)
		}
		if err != nil {
			return fmt.Errorf("%s: %w", in.Position(), err)
		}
	}
}

// columnsOf returns the names of a table's columns.
func columnsOf(ctx context.Context, path string) ([]string, error) {
	t, err := table.Open(ctx, path, table.Options{})
	if err != nil {
		return nil, err
	}
	return t.Columns(), t.Close()
}

// tableRow is a row of a table with graphs.
type tableRow struct {
	*table.Row
	columns []string
	labels  []string // names that numeric labels index; nil means that the labels are names
	options *GraphOptions
}

// value returns the value of a column; ok is false if the column is missing or the value is null.
func (r *tableRow) value(column string) (v table.Value, ok bool) {
	at := slices.Index(r.columns, column)
	if at < 0 || at >= len(r.Values) || r.Values[at].Null {
		return v, false
	}
	return r.Values[at], true
}

// graph returns the graph of the row.
func (r *tableRow) graph() (*graphlines.Row, error) {
	features, ok := r.value(seq.ColumnFeatures)
	if !ok {
		return nil, errors.New("expected features, a list of numbers for each node")
	}
	edges, ok := r.value(seq.ColumnEdges)
	if !ok {
		return nil, errors.New("expected edges, a list of source and target for each edge")
	}
	x := &graphlines.Row{Example: seq.Example{Label: seq.NoLabel, Features: features.Features,
		Edges: make([]seq.Edge, len(edges.Edges))}}
	for i, ends := range edges.Edges {
		x.Edges[i] = seq.Edge{Source: ends[0], Target: ends[1]}
	}
	if slices.Contains(r.columns, seq.ColumnEdgeFeatures) {
		numbers, _ := r.value(seq.ColumnEdgeFeatures)
		if len(numbers.Features) != len(x.Edges) {
			return nil, fmt.Errorf("%s: expected features of %d edges, found features of %d", seq.ColumnEdgeFeatures,
				len(x.Edges), len(numbers.Features))
		}
		for i, v := range numbers.Features {
			if len(v) > 0 {
				x.Edges[i].Features = v
			}
		}
	}
	if id, ok := r.value(seq.ColumnID); ok {
		x.ID = strings.Clone(id.Text) // id shares the memory of its row
	}
	if name := r.options.SplitField; name != "" {
		split, _ := r.value(name)
		x.Split = strings.Clone(split.Text)
	}
	return x, r.readTargets(x)
}

// readTargets sets the labels or numbers of x from the row.
func (r *tableRow) readTargets(x *graphlines.Row) (err error) {
	o := r.options
	for _, name := range o.Numbers {
		v, _ := r.value(name)
		number, reason := Number(name, v)
		if reason != nil {
			return errors.New(reason.String())
		}
		x.Amounts = append(x.Amounts, number)
	}
	if o.Numbers != nil {
		return nil
	}
	fields := []string{o.Label, o.Tags}
	if o.Label == o.Tags { // in the files of a data set, one column holds either kind of labels
		fields = fields[1:]
	}
	for _, name := range fields {
		v, ok := r.value(name)
		if !ok {
			continue
		}
		if x.Field != "" {
			return fmt.Errorf("found both %s and %s, expected one of them", x.Field, name)
		}
		x.Field, x.List = name, v.Items != nil
		switch {
		case name == o.Tags && !x.List:
			return fmt.Errorf("%s: expected a list, found %s", name, jsonlines.Shorten(v.Text, 40))
		case name == o.Tags && len(v.Items) != len(x.Features):
			return fmt.Errorf("%s: expected a list of %d, one for each node, found %d", name,
				len(x.Features), len(v.Items))
		}
		names := v.Items
		if !x.List {
			names = []string{v.Text}
		}
		x.Names = make([]string, 0, len(names))
		for i, label := range names {
			missing := v.Gaps != nil && v.Gaps[i]
			if label == "" && !missing {
				return fmt.Errorf("%s: expected a string, a number or a boolean, found an empty string", name)
			}
			if label, err = r.named(label, missing, v.JSON); err != nil {
				return fmt.Errorf("%s: %w", name, err)
			}
			x.Names = append(x.Names, label)
			if name == o.Tags {
				x.Named = append(x.Named, !missing)
			}
		}
	}
	if x.Field == "" {
		return fmt.Errorf("expected %s (a class or a list of labels) or %s (a list with a label for each node)", o.Label,
			o.Tags)
	}
	return nil
}

// named returns the name of a label. If the metadata have label names, a number is an index into
// them.
func (r *tableRow) named(label string, missing, number bool) (string, error) {
	if r.labels == nil || missing || !number && slices.Contains(r.labels, label) {
		return strings.Clone(label), nil // label shares the memory of its row
	}
	if !number {
		return "", fmt.Errorf("found %q, expected one of %s (%s in the metadata)", jsonlines.Shorten(label, 40),
			jsonlines.QuoteNames(r.labels), seq.KeyLabelNames)
	}
	index, err := strconv.Atoi(label)
	if err != nil || index < 0 || index >= len(r.labels) {
		return "", fmt.Errorf("found %s, expected an index from 0 to %d into %s (%s in the metadata)",
			jsonlines.Shorten(label, 40), len(r.labels)-1, jsonlines.QuoteNames(r.labels), seq.KeyLabelNames)
	}
	return r.labels[index], nil
}

// nameByTable reads the names of features and labels from the metadata of the first file, if it is a
// table. Names in the options take precedence. Without a column of edge features, edges have no features.
func (o *GraphOptions) nameByTable(ctx context.Context) error {
	if !isTable(o.From[0]) {
		return nil
	}
	t, err := table.Open(ctx, o.From[0], table.Options{})
	if err != nil {
		return err
	}
	defer t.Close()
	for _, option := range o.named() {
		if *option.names != nil || option.key == seq.KeyLabelNames && o.Numbers != nil {
			continue
		}
		if err := table.MetadataNames(t, o.From[0], option.key, option.names); err != nil {
			return err
		}
		if *option.names != nil {
			o.metadataKeys = append(o.metadataKeys, option.key)
		}
	}
	if o.EdgeFeatureNames == nil && !slices.Contains(t.Columns(), seq.ColumnEdgeFeatures) {
		o.EdgeFeatureNames = []string{}
	}
	return nil
}

// namedOption is an option that lists names, with the key in a table's metadata that may set the option.
type namedOption struct {
	key   string
	names *[]string
}

// named returns the options that the metadata of a table may set.
func (o *GraphOptions) named() []namedOption {
	return []namedOption{{seq.KeyFeatureNames, &o.FeatureNames}, {seq.KeyEdgeFeatureNames, &o.EdgeFeatureNames},
		{seq.KeyLabelNames, &o.Labels}}
}

// checkNames returns an error if a table's feature names differ from the names in the first table,
// because the features would be mixed up.
func (o *GraphOptions) checkNames(t table.Reader, path string) error {
	for _, option := range o.named() {
		if option.key == seq.KeyLabelNames || !slices.Contains(o.metadataKeys, option.key) {
			continue
		}
		var names []string
		if err := table.MetadataNames(t, path, option.key, &names); err != nil {
			return err
		}
		if names != nil && !slices.Equal(names, *option.names) {
			return fmt.Errorf("%s: %s: expected %s as in %s, found %s", path, option.key,
				jsonlines.QuoteNames(*option.names), o.From[0], jsonlines.QuoteNames(names))
		}
	}
	return nil
}
