package main

import (
	"context"
	"fmt"
	"path/filepath"
	"slices"
	"strings"

	"github.com/urfave/cli/v2"

	"github.com/sftseq/sftseq/internal/cloud"
	"github.com/sftseq/sftseq/internal/convert"
	"github.com/sftseq/sftseq/internal/source"
	"github.com/sftseq/sftseq/internal/table"
	"github.com/sftseq/sftseq/seq"
)

// splitColumn is the column of a folder's or a table's own splits.
const splitColumn = "split"

// splitsWarning tells of a directory or a table that says itself which rows are for training
// and which for testing, where the rows are divided anew all the same; "" elsewhere. Who asks
// for --split has seen the column of a table, or does not want it.
func splitsWarning(c *cli.Context, o *convert.Options) string {
	if o.SplitColumn != "" {
		return ""
	}
	if names := splitFiles(o.From, o.Format); names != nil && !c.IsSet("split") {
		return fmt.Sprintf("the files %s are named as splits, but their rows are divided anew, as --split says: "+
			"--split-column COLUMN takes splits from a column, and --split says that the division is meant", strings.Join(names, ", "))
	}
	for _, path := range o.From {
		if name := firstSplit(c.Context, path, o); name != "" && o.Label != splitColumn && !c.IsSet("split") {
			return fmt.Sprintf("%s has a column %s (%q in its first row), but its rows are divided anew, as --split says: --split-column %s takes them as they are", path, splitColumn, name, splitColumn)
		}
		var names, known []string
		for _, name := range table.Splits(path, o.Format) {
			if split, ok := seq.KnownSplit(name); ok {
				names, known = append(names, name), append(known, split)
			}
		}
		if len(names) < 2 || !slices.Contains(known, "train") {
			continue
		}
		take := "--split-column " + splitColumn
		if !slices.Contains(known, "val") {
			take += " --val-part 0.1"
		}
		return fmt.Sprintf("%s has the splits %s, but its rows are divided anew, as --split says: %s takes them as they are", path, strings.Join(names, ", "), take)
	}
	return ""
}

// splitFiles returns the files, of those that are named or of the tables in a folder, whose names are
// splits, such as train.csv and test-00000-of-00001.parquet; nil unless train is among several.
func splitFiles(from []string, format string) (names []string) {
	splits := map[string]bool{}
	for _, path := range from {
		for _, file := range append(table.Shards(path, format), path) {
			name, _, _ := strings.Cut(filepath.Base(file), ".")
			split, ok := seq.KnownSplit(name)
			if !ok {
				name, _, _ = strings.Cut(strings.ReplaceAll(name, "_", "-"), "-")
				split, ok = seq.KnownSplit(name)
			}
			if ok && !splits[split] {
				splits[split], names = true, append(names, file)
			}
		}
	}
	if len(names) < 2 || !splits["train"] {
		return nil
	}
	return names
}

// firstSplit is what the first row of a table has in a column of splits, "" if there is none
// or it names no split.
func firstSplit(ctx context.Context, path string, o *convert.Options) string {
	if table.ReadOnce(path) || table.Splits(path, o.Format) != nil || table.IsFolder(path, o.Format) {
		return ""
	}
	t, err := table.Open(ctx, path, table.Options{Columns: []string{splitColumn}, Format: o.Format, Delimiter: o.Delimiter, MaxField: o.MaxField})
	if err != nil {
		return "" // there is no such column: the rows have been read
	}
	defer t.Close()
	var row table.Row
	if t.Next(&row) != nil || row.Err != nil {
		return ""
	}
	name := row.Values[0].Text
	if _, ok := seq.KnownSplit(name); !ok {
		return ""
	}
	return name
}

// withoutFolders adds to an error what to do where no file is in the folder of a class.
func withoutFolders(err error, o *convert.Options, left *source.Skipped) error {
	if left.Reasons[convert.NoLabel] == nil || o.Label != table.FolderColumns[1] || !areFolders(o.From, o.Format) {
		return err
	}
	return fmt.Errorf("%w\nthe class of a file is the folder that it is in: --label path --label-pattern REGEX takes it out of its name", err)
}

// cloudsWarning tells of a folder of points or surfaces, whose files are read as text; "" elsewhere.
func cloudsWarning(o *convert.Options) string {
	for _, path := range o.From {
		if !table.IsFolder(path, o.Format) {
			continue
		}
		files, err := cloud.Find(path)
		if err == nil && files.Surfaces() {
			return fmt.Sprintf("%s has files of points or surfaces, which were read as text: sftseq data convert cloud --from %s makes point clouds of them", path, shellQuote(path))
		}
	}
	return ""
}
