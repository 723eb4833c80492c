package convert

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"

	"github.com/sftseq/sftseq/internal/table"
	"github.com/sftseq/sftseq/seq"
)

// prepare checks the options, and opens every input that can be read more than once.
func (c *converter) prepare(ctx context.Context) error {
	o := &c.options
	if o.Series != nil {
		if err := c.nameSeries(ctx); err != nil {
			return err
		}
	}
	if o.SplitFractions == nil {
		o.SplitFractions = DefaultSplitFractions
	}
	if o.head == 0 {
		o.head = headBytes
	}
	for _, step := range []func() error{o.check, c.describe, c.nameLabels} {
		if err := step(); err != nil {
			return err
		}
	}
	if _, err := os.Stat(filepath.Join(o.To, seq.ManifestName)); err == nil && !o.Replace {
		return fmt.Errorf("%s: %w", o.To, seq.ErrExists)
	}
	return c.openAll(ctx)
}

// check returns an error for missing or inconsistent options.
func (o *Options) check() error {
	sources := 0
	for _, isSet := range []bool{o.Text != "", o.Tokens != "", o.Features != "", o.Pair != nil} {
		if isSet {
			sources++
		}
	}
	switch {
	case len(o.From) == 0:
		return errors.New("expected at least one file to read, found none")
	case sources != 1:
		return fmt.Errorf("expected one input (a text column, a token column, a feature column or a pair), found %d", sources)
	case o.Pair != nil && len(o.Pair) != 2:
		return fmt.Errorf("a pair: expected two columns, found %q", o.Pair)
	case o.Numbers != nil && (o.Label != "" || o.Pair != nil):
		return errors.New("numbers cannot be combined with a label or a pair")
	case !(o.Val >= 0 && o.Val < 1):
		return fmt.Errorf("validation fraction: expected at least 0 and less than 1, found %v", o.Val)
	case o.MaxLength < 0:
		return fmt.Errorf("maximum length: expected at least 0 tokens, found %d", o.MaxLength)
	}
	for _, column := range slices.Concat([]string{o.Text, o.Tokens, o.Features}, o.Pair, o.Series) {
		if column != "" && slices.Contains(slices.Concat([]string{o.Label, o.Tags, o.Spans}, o.Numbers,
			o.LabelColumns), column) {
			return fmt.Errorf("column %q: expected different columns for the input and the target, found the same",
				column)
		}
	}
	return o.checkMultiLabel()
}

// targets returns the columns of labels, ids, splits and numbers, which are not steps of a series.
func (o *Options) targets() (out []string) {
	for _, column := range slices.Concat([]string{o.Label, o.ID, o.SplitColumn}, o.Numbers, o.LabelColumns) {
		if column != "" {
			out = append(out, column)
		}
	}
	return out
}

// describe sets the task and the columns to read. SplitColumn, if set, follows all other
// columns except the id column.
func (c *converter) describe() error {
	o := &c.options
	c.spec = seq.Spec{Task: seq.Classification, Name: o.Name, IDs: true}
	if o.Pair != nil {
		c.columns, c.spec.Task = append(c.columns, o.Pair...), seq.Retrieval
	} else {
		c.columns = append(c.columns, o.Text+o.Tokens+o.Features) // at most one of the three is not empty
	}
	if o.Numbers != nil {
		if err := seq.CheckNumberNames(o.Numbers); err != nil {
			return fmt.Errorf("numbers: %w", err)
		}
		c.columns, c.spec.Task, c.spec.NumberNames = append(c.columns, o.Numbers...), seq.Regression, o.Numbers
	}
	c.columns = append(c.columns, o.LabelColumns...)
	if o.isTagging() {
		if err := c.checkTags(); err != nil {
			return err
		}
		c.spec.Task = seq.Tagging
	}
	if o.Features != "" {
		if err := seq.CheckFeatureNames(o.FeatureNames); err != nil {
			return fmt.Errorf("features: %w", err)
		}
		c.spec.FeatureNames = o.FeatureNames
	}
	if o.Tokens != "" && o.Vocab < 1 {
		return errors.New("--tokens requires --vocab N, the number of token ids")
	}
	for _, name := range []string{o.Label, o.SplitColumn} {
		if name != "" {
			c.columns = append(c.columns, name)
		}
	}
	c.splitAt = len(c.columns) - 1
	if c.idAt = slices.Index(c.columns, o.ID); c.idAt < 0 && o.ID != "" {
		c.idAt = len(c.columns)
		c.columns = append(c.columns, o.ID)
	}
	c.names = table.NewNames(o.From)
	return nil
}

// nameLabels sets c.labels from the label names in the options, changes the task to multi-label if the options
// require it, and checks the fractions of the splits.
func (c *converter) nameLabels() error {
	o := &c.options
	if err := seq.CheckNames(o.Labels); err != nil {
		return fmt.Errorf("labels: %w", err)
	}
	c.labels = newLabels(o.Labels)
	if o.Tags != "" && o.Labels != nil {
		if c.decideMarksFrom(o.Labels); c.hasEndMarks {
			c.labels = newLabels(namesInBIO(o.Labels))
		}
	}
	if o.LabelColumns != nil {
		c.labels = newLabels(o.LabelColumns)
	}
	if o.LabelColumns != nil || o.LabelSeparator != "" {
		c.spec.Task = seq.MultiLabel
	}
	c.labelsDecided = c.isMultiLabel() || o.labelLists() == nil
	return CheckSplitFractions(o.SplitFractions)
}

// openAll opens each input except standard input and pipes, so that an error in a late file is found
// before hours of work on earlier files. The first rows decide whether the data are multi-label.
func (c *converter) openAll(ctx context.Context) error {
	for _, path := range c.options.From {
		if table.ReadOnce(path) {
			continue
		}
		t, err := table.Open(ctx, path, c.tableOptions(nil))
		column := (*table.ColumnError)(nil)
		if errors.As(err, &column) && column.IsList && column.Column == c.options.Label {
			return fmt.Errorf("%w (lists of labels cannot be combined with a pair)", err)
		}
		if err != nil {
			return err
		}
		if !c.labelsDecided {
			err = c.decideFromTable(t)
		}
		if err := errors.Join(err, t.Close()); err != nil {
			return err
		}
	}
	return nil
}
