package convert

import (
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"

	"github.com/sftseq/sftseq/internal/jsonlines"
	"github.com/sftseq/sftseq/internal/source"
	"github.com/sftseq/sftseq/internal/table"
	"github.com/sftseq/sftseq/seq"
)

// The data are multi-label in three cases: if each label has a column ([Options].LabelColumns), if
// labels have a separator ([Options].LabelSeparator), or if the first label found is a list.

// firstLabels is the maximum number of rows of a table that are searched for the first label.
const firstLabels = 1000

// checkMultiLabel returns an error for inconsistent multi-label options.
func (o *Options) checkMultiLabel() error {
	switch {
	case o.LabelColumns != nil && (o.Label != "" || o.Labels != nil || o.Numbers != nil ||
		o.LabelPattern != nil || o.LabelSeparator != ""):
		return errors.New("--label-columns cannot be combined with --label, --labels, --label-pattern, " +
			"--label-separator or --numbers")
	case o.LabelSeparator != "" && o.Label == "":
		return errors.New("--label-separator requires --label COLUMN")
	case o.Pair != nil && (o.LabelColumns != nil || o.LabelSeparator != ""):
		return errors.New("--label-columns and --label-separator cannot be combined with --pair: a pair has one " +
			"label")
	}
	if err := seq.CheckNames(o.LabelColumns); err != nil {
		return fmt.Errorf("--label-columns: %w", err)
	}
	return nil
}

// labelLists returns the columns whose lists are sets of labels.
func (o *Options) labelLists() []string {
	if o.Label == "" || o.Pair != nil {
		return nil
	}
	return []string{o.Label}
}

// decideFromTable decides from the first rows of a table whether the data are multi-label.
func (c *converter) decideFromTable(t table.Reader) error {
	var row table.Row
	for range firstLabels {
		switch err := t.Next(&row); {
		case err == io.EOF:
			return nil
		case err != nil:
			return err
		case c.decide(&row):
			return nil
		}
	}
	return nil
}

// decide makes the task multi-label if a row's label is a list. It returns false if the row has no
// label, or cannot be read, which the conversion reports later.
func (c *converter) decide(row *table.Row) bool {
	if row.Err != nil || c.labelAt() >= len(row.Values) || row.Values[c.labelAt()].Null {
		return false
	}
	if row.Values[c.labelAt()].Items != nil {
		c.spec.Task = seq.MultiLabel
	}
	c.labelsDecided = true
	return true
}

// decideFromChunk decides from the first chunk if openAll has not decided: the input can be read only
// once, or its first rows have no label. It runs before a worker processes the chunk.
func (c *converter) decideFromChunk(rows []table.Row) {
	for i := range rows {
		if c.labelsDecided || c.decide(&rows[i]) {
			break
		}
	}
	c.labelsDecided = true
}

// labelAt returns the index of the label column, or of the first label column.
func (c *converter) labelAt() int {
	if c.options.Pair != nil {
		return 2
	}
	return 1
}

// labelsOf returns the provisional numbers of a row's labels, in ascending order. The next call
// reuses their memory.
func (w *worker) labelsOf(row *table.Row) (labels []int32, reason *source.SkipReason) {
	w.rowLabels = w.rowLabels[:0]
	if w.rowLabels == nil {
		w.rowLabels = []int32{} // nil would mean unknown labels
	}
	if names := w.options.LabelColumns; names != nil {
		for i, v := range row.Values[w.labelAt():][:len(names)] {
			has, reason := hasLabel(v, names[i])
			if reason != nil {
				return nil, reason
			}
			if has {
				w.rowLabels = append(w.rowLabels, int32(i))
			}
		}
		return w.rowLabels, nil
	}
	v := row.Values[w.labelAt()]
	items := v.Items
	switch {
	case v.Null:
		return nil, source.Skip(NoLabel, nil)
	case items == nil && w.options.LabelSeparator != "":
		items = strings.Split(v.Text, w.options.LabelSeparator)
	case items == nil:
		items = []string{v.Text}
	}
	for i, item := range items {
		if strings.TrimSpace(item) == "" && v.Items != nil {
			return nil, source.Skip("an empty label in a list",
				fmt.Errorf("column %s: index %d: expected a name, found %q", w.options.Label, i, item))
		}
		if strings.TrimSpace(item) == "" {
			continue // "a;;b" and "" have an empty label
		}
		n, reason := w.label(table.Value{Text: item})
		if reason != nil {
			return nil, reason
		}
		w.rowLabels = append(w.rowLabels, n)
	}
	slices.Sort(w.rowLabels)
	w.rowLabels = slices.Compact(w.rowLabels)
	isFlag := func(item string) bool { _, reason := hasLabel(table.Value{Text: item}, ""); return reason == nil }
	if len(w.rowLabels) < len(v.Items) && !slices.ContainsFunc(v.Items, func(item string) bool { return !isFlag(item) }) {
		return nil, source.Skip("a list of 0 or 1 for each label",
			fmt.Errorf("column %s: expected the names of the row's labels, found %.60q: "+
				"write names, or one column per label (--label-columns)", w.options.Label, v.Items))
	}
	return w.rowLabels, nil
}

// hasLabel reports whether a row has the label of a column: 1 or true means yes, 0 or false no. Other
// values are a reason to skip the row.
func hasLabel(v table.Value, column string) (bool, *source.SkipReason) {
	text := strings.TrimSpace(v.Text)
	if v.Null || text == "" {
		return false, source.Skip(NoLabel, fmt.Errorf("column %s: found nothing", column))
	}
	switch strings.ToLower(text) {
	case "true":
		return true, nil
	case "false":
		return false, nil
	}
	x, err := parseNumber(text, 64)
	if v.Tokens != nil || err != nil || x != 0 && x != 1 {
		return false, source.Skip("neither 0 nor 1",
			fmt.Errorf("column %s: expected 0, 1, true or false, found %q", column, jsonlines.Shorten(text, 40)))
	}
	return x == 1, nil
}

// isMultiLabel reports whether the data are multi-label.
func (c *converter) isMultiLabel() bool { return c.spec.Task == seq.MultiLabel }
