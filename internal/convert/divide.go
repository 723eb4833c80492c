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

// The validation and the test split of the default shares have at least minRows rows, but at most
// 1/minPart of all rows.
const (
	minPart = 10 // maximum fraction of the data, as a divisor
	minRows = 50
)

// divide assigns the texts of a small data set to splits, stratified by class.
func (c *converter) divide(ctx context.Context) error {
	shares := c.options.Shares
	if c.options.SplitColumn != "" {
		shares = c.options.valShares()
	}
	least := 0
	if slices.Equal(shares, DefaultShares) {
		least = minRows
	}
	filled := slices.DeleteFunc(slices.Clone(shares), func(s Share) bool { return s.Part == 0 })
	if len(filled) < 2 || slices.ContainsFunc(c.options.From, table.ReadOnce) {
		return nil
	}
	var strata stratify.Strata
	for _, path := range c.options.From {
		if err := c.divideFile(ctx, path, &strata); err != nil || strata.Len() > stratify.MaxRows {
			return err
		}
	}
	c.divided = strata.Assign(shares, min(least, strata.Len()/minPart))
	return nil
}

// divideFile adds the texts of a file without predetermined splits.
func (c *converter) divideFile(ctx context.Context, path string, strata *stratify.Strata) error {
	how := c.table(nil)
	how.MissingColumn = nil // the conversion reports absent columns
	t, err := table.Open(ctx, path, how)
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
		if c.words(&row); row.Err != nil || row.Values[firstText].Null {
			continue
		}
		w.digest = [len(w.digest)]byte{}
		if _, why := w.split(&row); why != nil || w.digest == [len(w.digest)]byte{} {
			continue
		}
		if class, ok := c.classOf(&row); ok {
			strata.Add(class, binary.BigEndian.Uint64(w.digest[:]))
		}
	}
	return ctx.Err()
}

// classOf returns the class by which a row's split is stratified; "" for rows without classes. It
// returns false if the row has no valid class and is left out.
func (c *converter) classOf(row *table.Row) (string, bool) {
	if c.options.Label == "" || c.options.Numbers != nil || c.options.tags() {
		return "", true
	}
	v := row.Values[len(c.texts(row))]
	if v.Items != nil || v.Tokens != nil || v.Null {
		return "", c.manyLabels()
	}
	text, ok := taken(c.options.LabelPattern, v.Text)
	return strings.TrimSpace(text), ok && strings.TrimSpace(text) != ""
}
