package main

import (
	"fmt"
	"slices"
	"strings"

	"github.com/sftseq/sftseq/internal/convert"
	"github.com/sftseq/sftseq/internal/table"
)

// splitsWarning tells of a directory that says itself which rows are for training and which
// for testing, where the rows are divided anew all the same; "" elsewhere.
func splitsWarning(o *convert.Options) string {
	if o.SplitColumn != "" {
		return ""
	}
	for _, path := range o.From {
		var names, known []string
		for _, name := range table.Splits(path, o.Format) {
			if split, ok := convert.KnownSplit(name); ok {
				names, known = append(names, name), append(known, split)
			}
		}
		if len(names) < 2 || !slices.Contains(known, "train") {
			continue
		}
		take := "--split-column split"
		if !slices.Contains(known, "val") {
			take += " --val-part 0.1"
		}
		return fmt.Sprintf("%s has the splits %s, but its rows are divided anew, as --split says: %s takes them as they are", path, strings.Join(names, ", "), take)
	}
	return ""
}

// withoutFolders adds to an error what to do where no file is in the folder of a class.
func withoutFolders(err error, o *convert.Options, skipped *convert.Skipped) error {
	if skipped.Reasons[convert.NoLabel] == nil || o.Label != table.FolderColumns[1] || !areFolders(o.From, o.Format) {
		return err
	}
	return fmt.Errorf("%w\nthe class of a file is the folder that it is in: --label path --label-pattern REGEX takes it out of its name", err)
}
