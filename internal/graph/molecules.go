package graph

import (
	"context"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"

	"github.com/sftseq/sftseq/internal/convert"
	"github.com/sftseq/sftseq/internal/graphlines"
	"github.com/sftseq/sftseq/internal/molecule"
	"github.com/sftseq/sftseq/internal/source"
	"github.com/sftseq/sftseq/internal/table"
	"github.com/sftseq/sftseq/seq"
)

// molecules reads the rows of tables that have a molecule each, as SMILES.
type molecules struct {
	options *Options
	left    *source.Skipped
	names   *table.Names
	columns []string // the molecule, its answers, then the split and the id where a column has them
	answers int      // columns of them
	decided bool     // the first label is known, which says whether rows have one or
	several bool     // any number of them
}

func newMolecules(o *Options, left *source.Skipped) *molecules {
	m := &molecules{options: o, left: left, names: table.NewNames(o.From), columns: []string{o.SMILES}}
	if o.Numbers != nil {
		m.columns = append(m.columns, o.Numbers...)
	} else {
		m.columns = append(m.columns, o.Label)
	}
	m.answers = len(m.columns) - 1
	for _, name := range []string{o.SplitField, o.ID} {
		if name != "" {
			m.columns = append(m.columns, name)
		}
	}
	return m
}

// Each calls take with every molecule that can be used.
func (m *molecules) Each(ctx context.Context, take func(*graphlines.Row) error) error {
	for _, path := range m.options.From {
		if err := m.file(ctx, path, take); err != nil {
			return err
		}
	}
	return nil
}

func (m *molecules) file(ctx context.Context, path string, take func(*graphlines.Row) error) error {
	read := table.Options{Columns: m.columns, Header: m.options.Header, Absent: m.absent}
	if m.options.Numbers == nil {
		read.Lists = []string{m.options.Label}
	}
	t, err := table.Open(ctx, path, read)
	if err != nil {
		return err
	}
	defer t.Close()
	var in table.Row // whose memory is used again
	for {
		if err := t.Next(&in); err == io.EOF {
			return nil
		} else if err != nil {
			return err
		}
		if err := ctx.Err(); err != nil {
			return err
		}
		m.left.Read++
		x, why := m.molecule(&in)
		switch {
		case why != nil && m.options.Strict:
			return fmt.Errorf("%s: %v", in.Place(), why)
		case why != nil:
			m.left.Add(in.Place(), why)
			continue
		}
		if err := take(x); err != nil {
			return fmt.Errorf("%s: %w", in.Place(), err)
		}
	}
}

// absent takes a column that no row of a file has, and what the first rows have.
func (m *molecules) absent(file, column string, found []string) {
	m.left.Note(table.AbsentText(file, column, found))
}

// molecule makes a graph of a row.
func (m *molecules) molecule(in *table.Row) (*graphlines.Row, *source.SkipReason) {
	if in.Err != nil {
		return nil, source.Skip("the row cannot be read", in.Err)
	}
	text := strings.TrimSpace(in.Values[0].Text)
	if text == "" {
		return nil, source.Skip("no molecule", nil)
	}
	features, edges, err := molecule.Graph(text)
	if err != nil {
		return nil, source.Skip("no molecule in SMILES", fmt.Errorf("column %s: %w", m.options.SMILES, err))
	}
	x := &graphlines.Row{Example: seq.Example{Label: seq.NoLabel, Features: features, Edges: edges}}
	if m.options.SplitField != "" {
		x.Split = strings.Clone(in.Values[1+m.answers].Text)
	}
	id, _ := m.names.ID(in, slices.Index(m.columns, m.options.ID))
	x.ID = strings.Clone(id.Text) // it shares the memory of its row
	return x, m.answer(x, in.Values[1:][:m.answers])
}

// answer reads what a model is to answer.
func (m *molecules) answer(x *graphlines.Row, values []table.Value) *source.SkipReason {
	if m.options.Numbers == nil {
		return m.label(x, values[0])
	}
	for i, v := range values {
		number, why := convert.Number(m.options.Numbers[i], v)
		if why != nil {
			return why
		}
		x.Amounts = append(x.Amounts, number)
	}
	return nil
}

// label reads a class, or the labels that hold: a list, or a text with a separator between them.
func (m *molecules) label(x *graphlines.Row, v table.Value) *source.SkipReason {
	x.Field = m.options.Label
	if v.Null {
		return source.Skip(convert.NoLabel, nil)
	}
	items := v.Items
	if items == nil && m.options.LabelSeparator != "" {
		items = strings.Split(v.Text, m.options.LabelSeparator)
	}
	if !m.decided {
		m.decided, m.several = true, items != nil
	}
	switch x.List = m.several; {
	case items == nil:
		items = []string{v.Text}
	case !m.several:
		return source.Skip("a list of labels", errors.New("expected the class of the molecule, as the first one has"))
	}
	x.Names = []string{} // a list may have none
	for _, item := range items {
		if label := strings.TrimSpace(item); label != "" {
			x.Names = append(x.Names, strings.Clone(label)) // it shares the memory of its row
		}
	}
	if !x.List && len(x.Names) == 0 {
		return source.Skip(convert.NoLabel, nil)
	}
	return nil
}
