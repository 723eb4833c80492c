// Package graphlines reads graphs from JSON lines. Each line is an object with the features of the
// nodes, the edges, and the targets of a model. The package does not depend on the packages that
// read tables, so that package lra does not depend on them either.
package graphlines

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"slices"

	"github.com/sftseq/sftseq/internal/jsonlines"
	"github.com/sftseq/sftseq/internal/source"
	"github.com/sftseq/sftseq/seq"
)

// Row is a graph with the names of its targets.
type Row struct {
	seq.Example
	Names   []string  // class, positive labels, or a tag per node
	Named   []bool    // by index in Names: false for a null tag; nil means that no name is null
	List    bool      // whether Names was read from a list
	Field   string    // name of the field that Names was read from
	Split   string    // text of the split field
	Amounts []float32 // numbers to predict, in the order of Reader.Numbers
}

// Number sets the targets of a row for a task: Numbers to Amounts, and Label or Labels to the indices that
// labels maps Names to. It returns false if a name is unknown, or if a classification does not have exactly
// one name.
func (x *Row) Number(task string, labels map[string]int32) (known bool) {
	x.Numbers = x.Amounts
	if task == seq.Regression {
		return true
	}
	numbers := make([]int32, len(x.Names))
	for i, name := range x.Names {
		if numbers[i] = seq.NoLabel; x.Named != nil && !x.Named[i] {
			continue
		}
		if numbers[i], known = labels[name]; !known {
			return false
		}
	}
	switch task {
	case seq.Classification:
		if len(numbers) != 1 {
			return false
		}
		x.Label = numbers[0]
	case seq.MultiLabel:
		slices.Sort(numbers)
		x.Labels = slices.Compact(numbers)
	case seq.Tagging:
		x.Labels = numbers
	}
	return true
}

// Reader reads the rows of several files in order.
type Reader struct {
	From        []string          // paths of the files
	Label, Tags string            // fields with the class or labels of a graph, and with a tag per node
	Numbers     []string          // fields with numbers to predict, instead of labels
	SplitField  string            // field with the split of a graph; "" reads none
	Progress    func(bytes int64) // called with the number of bytes of each read; may be nil

	fields map[string]bool
}

// Each calls visit for every row. An error in a line, or of visit, names the file and the line.
func (r *Reader) Each(ctx context.Context, visit func(*Row) error) error {
	r.fields = map[string]bool{"id": true, "features": true, "edges": true, r.Label: true, r.Tags: true}
	for _, name := range r.Numbers {
		r.fields[name] = true
	}
	if r.SplitField != "" {
		r.fields[r.SplitField] = true
	}
	for _, path := range r.From {
		if err := r.file(ctx, path, visit); err != nil {
			return err
		}
	}
	return nil
}

func (r *Reader) file(ctx context.Context, path string, visit func(*Row) error) error {
	in, err := source.Open(ctx, path, r.Progress)
	if err != nil {
		return err
	}
	defer in.Close()
	lines := jsonlines.NewReader(in, jsonlines.MaxLine)
	for {
		line, err := lines.Next()
		if err == io.EOF {
			return nil
		}
		var x *Row
		if err == nil {
			x, err = r.parse(line)
		}
		if err == nil {
			err = visit(x)
		}
		if err != nil {
			if ctx.Err() != nil {
				return ctx.Err()
			}
			return fmt.Errorf("%s:%d: %w", in.Name, lines.Line(), err)
		}
	}
}

// parse reads a line.
func (r *Reader) parse(line []byte) (*Row, error) {
	fields, err := jsonlines.Fields(line, r.fields)
	if err != nil {
		return nil, err
	}
	for name, value := range fields {
		if string(value) == "null" {
			delete(fields, name)
		}
	}
	x := &Row{Example: seq.Example{Label: seq.NoLabel}}
	if fields["features"] == nil {
		return nil, errors.New("expected features, a list of numbers for each node")
	}
	if x.Features, err = jsonlines.Features(fields["features"]); err != nil {
		return nil, fmt.Errorf("features: %w", err)
	}
	if fields["edges"] == nil {
		return nil, errors.New("expected edges, a list of source, target and features for each edge")
	}
	if x.Edges, err = seq.ParseEdges(fields["edges"]); err != nil {
		return nil, fmt.Errorf("edges: %w", err)
	}
	if value := fields["id"]; value != nil {
		if x.ID, err = textOf(value); err != nil {
			return nil, fmt.Errorf("id: %w", err)
		}
	}
	if name := r.SplitField; name != "" {
		if x.Split, err = textOf(fields[name]); err != nil {
			return nil, fmt.Errorf("%s: %w", name, err)
		}
	}
	return x, r.readTargets(x, fields)
}

// readTargets reads the targets of a row.
func (r *Reader) readTargets(x *Row, fields map[string]json.RawMessage) (err error) {
	for _, name := range r.Numbers {
		var v *float32
		if fields[name] == nil || json.Unmarshal(fields[name], &v) != nil || v == nil {
			return fmt.Errorf("%s: expected a number, found %.40s", name, found(fields[name]))
		}
		x.Amounts = append(x.Amounts, *v)
	}
	if r.Numbers != nil {
		return nil
	}
	for _, name := range []string{r.Label, r.Tags} {
		value := fields[name]
		if value == nil {
			continue
		}
		if x.Field != "" {
			return fmt.Errorf("found both %s and %s, expected one of them", x.Field, name)
		}
		x.Field = name
		if x.List = value[0] == '['; !x.List && name != r.Tags {
			x.Names = make([]string, 1)
			if x.Names[0], err = textOf(value); err != nil {
				return fmt.Errorf("%s: %w", name, err)
			}
			continue
		}
		if err := x.listOf(value, name == r.Tags); err != nil {
			return fmt.Errorf("%s: %w", name, err)
		}
	}
	if x.Field == "" {
		return fmt.Errorf("expected %s (a class or a list of labels) or %s (a list with a label for each node)", r.Label,
			r.Tags)
	}
	return nil
}

// listOf reads a list of labels, or of tags, which may be null.
func (x *Row) listOf(value json.RawMessage, tags bool) error {
	if !x.List {
		return fmt.Errorf("expected a list, found %.40s", value)
	}
	x.Names = []string{}
	for element := range jsonlines.Elements(value) {
		unknown := tags && string(element) == "null"
		name := ""
		if !unknown {
			var err error
			if name, err = textOf(element); err != nil {
				return fmt.Errorf("index %d: %w", len(x.Names), err)
			}
		}
		x.Names, x.Named = append(x.Names, name), append(x.Named, !unknown)
	}
	if tags && len(x.Names) != len(x.Features) {
		return fmt.Errorf("expected a list of %d, one for each node, found %d", len(x.Features), len(x.Names))
	}
	return nil
}

// textOf returns the value of a JSON string, or the JSON text of a number or boolean.
func textOf(value json.RawMessage) (string, error) {
	if len(value) == 0 {
		return "", errors.New("expected a string, a number or a boolean, found nothing")
	}
	switch value[0] {
	case '"':
		text, err := jsonlines.Text(value)
		if err == nil && text == "" {
			err = errors.New("expected a string, a number or a boolean, found an empty string")
		}
		return text, err
	case '[', '{', 'n':
		return "", fmt.Errorf("expected a string, a number or a boolean, found %.40s", value)
	}
	return string(value), nil
}

// found returns a description of a value for an error.
func found(value json.RawMessage) string {
	if value == nil {
		return "nothing"
	}
	return string(value)
}
