package convert

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"sftseq/seq"
)

// finish writes the data set from the spool, with the labels in their final order.
func (c *converter) finish(ctx context.Context, spool string) (*seq.Dataset, error) {
	files, err := filepath.Glob(spoolFile(spool, "*"))
	if err != nil {
		return nil, err
	}
	if len(files) == 0 {
		return nil, fmt.Errorf("no row of %d can be used\n%s", c.skipped.Rows, strings.TrimSpace(c.skipped.String()))
	}
	slices.Sort(files)
	names, final := c.labels.sorted()
	if c.options.Label != "" {
		c.spec.LabelNames = names
	}
	b, err := seq.CreateDataset(c.options.To, c.spec, c.options.Replace)
	if err != nil {
		return nil, err
	}
	for _, file := range files {
		if err := copySplit(ctx, b, file, final); err != nil {
			return nil, err
		}
		if err := os.Remove(file); err != nil { // the disk need not hold both
			return nil, err
		}
	}
	left := map[string]int64{}
	for kind, k := range c.skipped.Reasons {
		left[kind] = k.Rows
	}
	provenance := map[string]any{"source": c.options.From, "columns": c.columns, "rows": c.skipped.Rows, "left_out": left}
	if c.options.SplitColumn == "" {
		provenance["split_seed"], provenance["shares"] = c.options.Seed, c.options.Shares
	}
	return b.Finish(provenance)
}

// copySplit writes a split of the spool with other numbers of labels.
func copySplit(ctx context.Context, b *seq.DatasetBuilder, file string, final []int32) error {
	in, err := seq.Open(file)
	if err != nil {
		return err
	}
	defer in.Close()
	out, err := b.Split(strings.TrimSuffix(filepath.Base(file), ".arrow"))
	if err != nil {
		return err
	}
	defer out.Abort()
	for {
		rows, err := in.Next()
		if err == io.EOF {
			return out.Close()
		}
		if err = errors.Join(err, ctx.Err()); err != nil {
			return err
		}
		for i := range rows.Len() {
			e := rows.Example(i)
			if e.Label != seq.NoLabel {
				e.Label = final[e.Label]
			}
			if err := out.Write(e); err != nil {
				return err
			}
		}
	}
}
