// Package graph makes data sets of graphs: of JSON lines, an object each with the features of its nodes,
// its edges, and what a model is to answer; and of tables of molecules.
package graph

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"

	"github.com/sftseq/sftseq/internal/jsonlines"
	"github.com/sftseq/sftseq/internal/source"
	"github.com/sftseq/sftseq/seq"
)

// maxLine bounds a line, which one graph is in.
const maxLine = 256 << 20

// row is a graph, with its answers by their names.
type row struct {
	seq.Example
	labels []string  // its class, the labels that hold, or a tag for each node
	known  []bool    // of tags: which nodes have one
	list   bool      // labels was a list
	answer string    // the field that labels are of
	split  string    // the text of the field that says it
	number []float32 // in the order of the options
}

// reader reads the rows of files, one after another.
type reader struct {
	options *Options
	fields  map[string]bool
}

func newReader(o *Options) *reader {
	r := &reader{options: o, fields: map[string]bool{"id": true, "features": true, "edges": true, o.Label: true, o.Tags: true}}
	for _, name := range o.Numbers {
		r.fields[name] = true
	}
	if o.SplitField != "" {
		r.fields[o.SplitField] = true
	}
	return r
}

// each calls take with every row. The error has the file and the line.
func (r *reader) each(ctx context.Context, take func(*row) error) error {
	for _, path := range r.options.From {
		if err := r.file(ctx, path, take); err != nil {
			return err
		}
	}
	return nil
}

func (r *reader) file(ctx context.Context, path string, take func(*row) error) error {
	in, err := source.Open(ctx, path, r.options.Progress)
	if err != nil {
		return err
	}
	defer in.Close()
	lines := jsonlines.NewReader(in, maxLine)
	for {
		line, err := lines.Next()
		if err == io.EOF {
			return nil
		}
		var x *row
		if err == nil {
			x, err = r.parse(line)
		}
		if err == nil {
			err = take(x)
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
func (r *reader) parse(line []byte) (*row, error) {
	fields, err := jsonlines.Fields(line, r.fields)
	if err != nil {
		return nil, err
	}
	for name, value := range fields {
		if string(value) == "null" {
			delete(fields, name)
		}
	}
	x := &row{Example: seq.Example{Label: seq.NoLabel}}
	if fields["features"] == nil {
		return nil, errors.New("expected features, a list of numbers for each node")
	}
	if x.Features, err = jsonlines.Features(fields["features"]); err != nil {
		return nil, fmt.Errorf("features: %w", err)
	}
	if fields["edges"] == nil {
		return nil, errors.New("expected edges, a list of source, target and features for each")
	}
	if x.Edges, err = seq.ParseEdges(fields["edges"]); err != nil {
		return nil, fmt.Errorf("edges: %w", err)
	}
	if value := fields["id"]; value != nil {
		if x.ID, err = textOf(value); err != nil {
			return nil, fmt.Errorf("id: %w", err)
		}
	}
	if name := r.options.SplitField; name != "" {
		if x.split, err = textOf(fields[name]); err != nil {
			return nil, fmt.Errorf("%s: %w", name, err)
		}
	}
	return x, r.answers(x, fields)
}

// answers reads what a model is to answer.
func (r *reader) answers(x *row, fields map[string]json.RawMessage) (err error) {
	for _, name := range r.options.Numbers {
		var v *float32
		if fields[name] == nil || json.Unmarshal(fields[name], &v) != nil || v == nil {
			return fmt.Errorf("%s: expected a number, found %.40s", name, found(fields[name]))
		}
		x.number = append(x.number, *v)
	}
	if r.options.Numbers != nil {
		return nil
	}
	for _, name := range []string{r.options.Label, r.options.Tags} {
		value := fields[name]
		if value == nil {
			continue
		}
		if x.answer != "" {
			return fmt.Errorf("both %s and %s, expected one of them", x.answer, name)
		}
		x.answer = name
		if x.list = value[0] == '['; !x.list && name != r.options.Tags {
			x.labels = make([]string, 1)
			if x.labels[0], err = textOf(value); err != nil {
				return fmt.Errorf("%s: %w", name, err)
			}
			continue
		}
		if err := x.listOf(value, name == r.options.Tags); err != nil {
			return fmt.Errorf("%s: %w", name, err)
		}
	}
	if x.answer == "" {
		return fmt.Errorf("expected %s, a class or a list of labels, or %s, a list of a label for each node", r.options.Label, r.options.Tags)
	}
	return nil
}

// listOf reads a list of labels, or of tags, of which some may be null.
func (x *row) listOf(value json.RawMessage, tags bool) error {
	if !x.list {
		return fmt.Errorf("expected a list, found %.40s", value)
	}
	x.labels = []string{}
	for element := range jsonlines.Elements(value) {
		unknown := tags && string(element) == "null"
		name := ""
		if !unknown {
			var err error
			if name, err = textOf(element); err != nil {
				return fmt.Errorf("index %d: %w", len(x.labels), err)
			}
		}
		x.labels, x.known = append(x.labels, name), append(x.known, !unknown)
	}
	if tags && len(x.labels) != len(x.Features) {
		return fmt.Errorf("expected one for each of the %d nodes, found %d", len(x.Features), len(x.labels))
	}
	return nil
}

// textOf is a string of JSON, or what a number or true and false are written as.
func textOf(value json.RawMessage) (string, error) {
	if len(value) == 0 {
		return "", errors.New("expected a text or a number, found nothing")
	}
	switch value[0] {
	case '"':
		text, err := jsonlines.Text(value)
		if err == nil && text == "" {
			err = errors.New("expected a text or a number, found an empty text")
		}
		return text, err
	case '[', '{', 'n':
		return "", fmt.Errorf("expected a text or a number, found %.40s", value)
	}
	return string(value), nil
}

// found is a value in an error.
func found(value json.RawMessage) string {
	if value == nil {
		return "nothing"
	}
	return string(value)
}
