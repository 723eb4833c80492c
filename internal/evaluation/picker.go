package evaluation

import (
	"context"
	"fmt"

	"github.com/sftseq/sftseq/internal/report"
	"github.com/sftseq/sftseq/seq"
	"github.com/sftseq/sftseq/sft"
)

// Rule describes the selection of a Picker to the reader of a page.
const Rule = "The rows are chosen by a rule: the classes take turns in the order of their labels, and each " +
	"alternates between its next correctly and its next wrongly predicted row, while it has both."

// Picker selects example rows of an evaluation.
type Picker struct {
	maxRows int
	found   [][2][]picked // first correctly and first wrongly predicted rows of each class
}

// picked is the index and the id of a row.
type picked struct {
	row uint32
	id  string
}

// NewPicker returns a picker of at most maxRows rows.
func NewPicker(classes, maxRows int) *Picker { return &Picker{maxRows, make([][2][]picked, classes)} }

// See adds a row and the model's output for it.
func (p *Picker) See(x *seq.Example, _ int, logits []float32) {
	wrong := 0
	if sft.Argmax(logits) != int(x.Label) {
		wrong = 1
	}
	if rows := &p.found[x.Label][wrong]; len(*rows) < p.maxRows {
		*rows = append(*rows, picked{x.Index, x.ID})
	}
}

// rows returns the selected rows, at most maxRows, and removes them from found.
func (p *Picker) rows() (out []picked) {
	for round := 0; ; round++ {
		before := len(out)
		for class := range p.found {
			kind := (class + round) % 2
			if len(p.found[class][kind]) == 0 {
				kind = 1 - kind
			}
			if rows := &p.found[class][kind]; len(*rows) > 0 && len(out) < p.maxRows {
				out, *rows = append(out, (*rows)[0]), (*rows)[1:]
			}
		}
		if len(out) == before {
			return out
		}
	}
}

// Explain reads the selected rows again and explains them. It returns nil if no rows are selected or
// the scorer cannot explain. It handles one row at a time to bound the memory of explanations.
func (p *Picker) Explain(ctx context.Context, scorer *sft.Scorer, path string) ([]report.Example, error) {
	rows := p.rows()
	if len(rows) == 0 || scorer.CanExplain() != nil {
		return nil, nil
	}
	window, opened := scorer.Config().ReadWindow(), scorer.Config().ReadWindow()
	if window.Tail > 0 { // the page shows the positions of tokens in the whole row
		opened = seq.Window{}
	}
	f, err := seq.OpenWindow(path, opened)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	var out []report.Example
	for _, row := range rows {
		x, err := f.Example(int(row.row))
		if err != nil {
			return nil, err
		}
		read := x
		read.A, read.B, read.Features = seq.Cut(window, x.A), seq.Cut(window, x.B), seq.Cut(window, x.Features)
		outputs, err := scorer.Explain(ctx, []seq.Example{read})
		if err != nil {
			return nil, fmt.Errorf("%s: row %d: %w", path, row.row, err)
		}
		for i := range outputs[0].Explanations {
			outputs[0].Explanations[i].InRow(window, max(len(x.Features), len([][]int32{x.A, x.B}[i])))
		}
		e := report.Example{Row: row.row, ID: row.id, Label: x.Label, Tokens: [][]int32{x.A}, Features: x.Features,
			Edges: x.Edges, Output: outputs[0]}
		if x.B != nil {
			e.Tokens = append(e.Tokens, x.B)
		}
		out = append(out, e)
	}
	return out, nil
}
