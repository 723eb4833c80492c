package convert

import (
	"context"
	"encoding/binary"
	"io"
	"slices"
	"strings"

	"github.com/sftseq/sftseq/internal/stratify"
	"github.com/sftseq/sftseq/internal/table"
)

// With the default fractions, the validation and test splits of a small data set each have at least
// minRows rows, or 1/minRowsDivisor of all rows if this is less.
const (
	minRowsDivisor = 10
	minRows        = 50
)

// assignSplits assigns the texts of a small data set to splits, stratified by class, unless an input
// can be read only once.
func (c *converter) assignSplits(ctx context.Context) error {
	fractions := c.options.SplitFractions
	if c.options.SplitColumn != "" {
		fractions = c.options.valFractions()
	}
	minSplitRows := 0
	if slices.Equal(fractions, DefaultSplitFractions) {
		minSplitRows = minRows
	}
	filled := slices.DeleteFunc(slices.Clone(fractions), func(s SplitFraction) bool { return s.Fraction == 0 })
	if len(filled) < 2 || slices.ContainsFunc(c.options.From, table.ReadOnce) {
		return nil
	}
	var strata stratify.Strata
	for _, path := range c.options.From {
		if err := c.addStrata(ctx, path, &strata); err != nil || strata.Len() > stratify.MaxRows {
			return err
		}
	}
	c.assignedSplits = strata.Assign(fractions, min(minSplitRows, strata.Len()/minRowsDivisor))
	return nil
}

// addStrata adds the hashes of a file's texts to strata, except texts whose split the split column
// determines.
func (c *converter) addStrata(ctx context.Context, path string, strata *stratify.Strata) error {
	options := c.tableOptions(nil)
	options.MissingColumn = nil // the conversion reports missing columns
	t, err := table.Open(ctx, path, options)
	if err != nil {
		return err
	}
	defer t.Close()
	w := worker{converter: c}
	var row table.Row
	for ctx.Err() == nil && strata.Len() <= stratify.MaxRows {
		if err := t.Next(&row); err == io.EOF {
			break
		} else if err != nil {
			return err
		}
		if c.joinWords(&row); row.Err != nil || row.Values[firstText].Null {
			continue
		}
		w.digest = [len(w.digest)]byte{}
		if _, reason := w.split(&row); reason != nil || w.digest == [len(w.digest)]byte{} {
			continue
		}
		if class, ok := c.classOf(&row); ok {
			strata.Add(class, binary.BigEndian.Uint64(w.digest[:]))
		}
	}
	return ctx.Err()
}

// classOf returns the class by which a row's split is stratified: the text of the label, or "" if rows
// have no class or a list of labels. It returns false if the label is missing or invalid.
func (c *converter) classOf(row *table.Row) (string, bool) {
	if c.options.Label == "" || c.options.Numbers != nil || c.options.isTagging() {
		return "", true
	}
	v := row.Values[len(c.texts(row))]
	if v.Items != nil || v.Tokens != nil || v.Null {
		return "", c.isMultiLabel()
	}
	text, ok := extract(c.options.LabelPattern, v.Text)
	return strings.TrimSpace(text), ok && strings.TrimSpace(text) != ""
}
