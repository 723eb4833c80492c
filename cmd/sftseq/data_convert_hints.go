package main

import (
	"context"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/urfave/cli/v2"

	"github.com/sftseq/sftseq/internal/cloud"
	"github.com/sftseq/sftseq/internal/convert"
	"github.com/sftseq/sftseq/internal/source"
	"github.com/sftseq/sftseq/internal/table"
	"github.com/sftseq/sftseq/seq"
	"github.com/sftseq/sftseq/tokenizers"
)

// splitColumn is the name of the column that has the splits of a folder or a table.
const splitColumn = "split"

// splitsWarning returns a warning if the input has splits, given by names of files or folders or by a
// column, but the rows are split again at random. Otherwise it returns "". Setting --split silences the
// warnings about files and columns.
func splitsWarning(c *cli.Context, o *convert.Options) string {
	if o.SplitColumn != "" {
		return ""
	}
	if names := splitFiles(o.From, o.Format); names != nil && !c.IsSet("split") {
		return fmt.Sprintf("the files %s have names of splits, but their rows are split again by --split: "+
			"%s, take the splits from a column with --split-column COLUMN, or set --split to silence this warning",
			strings.Join(names, ", "), splitByNameAdvice(names, o.Format))
	}
	for _, path := range o.From {
		if column, name := firstSplit(c.Context, path, o); name != "" && !c.IsSet("split") {
			return fmt.Sprintf("%s has a column %s (first value %q), but its rows are split again by --split: "+
				"keep the existing splits with --split-column %s", path, column, name, shellQuote(column))
		}
		if table.HubSplits(path, o.Format) != nil { // kept, unless --split is set
			continue
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
		flags := "--split-column " + splitColumn
		if !slices.Contains(known, "val") {
			flags += " --val-part 0.1"
		}
		return fmt.Sprintf("%s has the splits %s, but its rows are split again by --split: keep the existing splits "+
			"with %s", path, strings.Join(names, ", "), flags)
	}
	if names := unreadSplits(o.From, o.Format); names != nil && !c.IsSet("split") {
		verb := "is"
		if len(names) > 2 {
			verb = "are"
		}
		return fmt.Sprintf("the rows of %s are split again by --split, and %s beside it %s not read: %s, or set "+
			"--split to silence this warning",
			names[0], strings.Join(names[1:], ", "), verb, splitByNameAdvice(names, o.Format))
	}
	return ""
}

// hubValPart is the fraction of training rows that become the validation split if a data set of the
// Hub has none.
const hubValPart = 0.1

// keepSplits uses the splits of a folder laid out as on the Hugging Face Hub, unless flags define
// splits.
func keepSplits(c *cli.Context, o *convert.Options) {
	if o.SplitColumn != "" || c.IsSet("split") || c.IsSet("split-pattern") || len(o.From) != 1 {
		return
	}
	names := table.HubSplits(o.From[0], o.Format)
	if names == nil {
		return
	}
	o.SplitColumn = splitColumn
	note := fmt.Sprintf("%s: keeping the splits %s", o.From[0], strings.Join(names, ", "))
	isVal := func(name string) bool { split, _ := seq.KnownSplit(name); return split == "val" }
	if !c.IsSet("val-part") && !slices.ContainsFunc(names, isVal) {
		o.Val = hubValPart
		note += fmt.Sprintf(", with %v of the rows of train moved to val (--val-part)", o.Val)
	}
	fmt.Fprintf(c.App.ErrWriter, "%s; --split splits the rows again\n", note)
}

// splitFiles returns the first file of each split if the names of files differ only in the split, such as
// reviews_train.csv and reviews_test.csv. It examines the given files and the files in the given folders.
// It returns nil unless there are several splits, one of them train.
func splitFiles(from []string, format string) (names []string) {
	var files []string
	for _, path := range from {
		files = append(append(files, table.Shards(path, format)...), path)
	}
	groups := map[string][]string{} // first file of each split, by the file name without the split
	splits := map[string]bool{}
	var order []string
	for _, file := range files {
		_, split, rest := splitOfFile(file)
		if key := rest + "/" + split; split != "" && !splits[key] {
			if splits[key] = true; groups[rest] == nil {
				order = append(order, rest)
			}
			groups[rest] = append(groups[rest], file)
		}
	}
	for _, rest := range order {
		if splits[rest+"/train"] && len(groups[rest]) > 1 {
			names = append(names, groups[rest]...)
		}
	}
	return names
}

// unreadSplits returns the first given training file whose folder also has files of other splits,
// followed by these files, which the conversion does not read. It returns nil if no training file
// has such neighbours.
func unreadSplits(from []string, format string) []string {
	for _, path := range from {
		_, split, rest := splitOfFile(path)
		entries, err := os.ReadDir(filepath.Dir(path))
		if split != "train" || err != nil {
			continue
		}
		ownFormat, err := table.FormatOf(path)
		names := []string{path}
		for _, entry := range entries {
			other := filepath.Join(filepath.Dir(path), entry.Name())
			_, split, otherRest := splitOfFile(other)
			otherFormat, otherErr := table.FormatOf(other)
			if entry.Type().IsRegular() && split != "" && split != "train" && otherRest == rest &&
				(format != "" || err == nil && otherErr == nil && otherFormat == ownFormat) {
				names = append(names, other)
			}
		}
		if len(names) > 1 {
			return names
		}
	}
	return nil
}

// splitOfFile returns the word of a path that names a split, the split, and the remaining words of the file
// name, joined by hyphens. It examines the last word of the file name, the first word, and then the folder's
// name; split is "" if none of them names a split. Numbers and "of" do not count as words.
func splitOfFile(path string) (word, split, rest string) {
	base := filepath.Base(path)
	for _, ending := range []string{".gz", ".zst", ".zstd"} {
		base = strings.TrimSuffix(base, ending)
	}
	words := strings.FieldsFunc(strings.TrimSuffix(base, filepath.Ext(base)),
		func(r rune) bool { return strings.ContainsRune("-_. ", r) })
	words = slices.DeleteFunc(words, func(word string) bool {
		return word == "of" ||
			strings.Trim(word, "0123456789") == ""
	})
	for _, i := range []int{len(words) - 1, 0} {
		if i >= 0 && i < len(words) {
			if split, ok := seq.KnownSplit(words[i]); ok {
				return words[i], split, strings.Join(slices.Delete(slices.Clone(words), i, i+1), "-")
			}
		}
	}
	folder := filepath.Base(filepath.Dir(path))
	split, _ = seq.KnownSplit(folder)
	return folder, split, strings.Join(words, "-")
}

// splitByNameAdvice returns advice with the flags that derive splits from file names.
func splitByNameAdvice(files []string, format string) string {
	var words []string
	dir := filepath.Dir(files[0])
	for _, file := range files {
		word, _, _ := splitOfFile(file)
		if !slices.Contains(words, word) {
			words = append(words, word)
		}
		for !strings.HasPrefix(file, dir+string(filepath.Separator)) && dir != filepath.Dir(dir) {
			dir = filepath.Dir(dir)
		}
	}
	slices.SortStableFunc(words, func(a, b string) int { return len(b) - len(a) }) // validation before val
	pattern := fmt.Sprintf("--split-column path --split-pattern '%s'", strings.Join(words, "|"))
	shards := table.Shards(dir, format)
	if slices.ContainsFunc(shards, func(path string) bool { _, split, _ := splitOfFile(path); return split == "" }) ||
		len(shards) < len(files) {
		return fmt.Sprintf("move these files to a folder, pass it with --from and take the splits from the file "+
			"names with %s", pattern)
	}
	return fmt.Sprintf("take the splits from the file names with --from %s %s", shellQuote(dir), pattern)
}

// maxSplitRows and maxSplitColumns bound the rows and columns that are examined for split names.
const (
	maxSplitRows    = 1000
	maxSplitColumns = 256
)

// splitColumns lists usual names of split columns, for tables whose column names are only in their
// rows.
var splitColumns = []string{"set", "subset", "partition", "splits", "phase", "usage"}

// firstSplit returns the column of a table that names splits, and the column's first value, or "". In the
// column "split", only the first row must name a split. In any other column, the first maxSplitRows rows
// must name train and at least one other split; their values may be empty, but must not be other text.
func firstSplit(ctx context.Context, path string, o *convert.Options) (column, first string) {
	if table.ReadOnce(path) || table.Splits(path, o.Format) != nil || table.IsFolder(path, o.Format) {
		return "", ""
	}
	options := table.Options{Format: o.Format, Delimiter: o.Delimiter, MaxField: o.MaxField}
	t, err := table.Open(ctx, path, options)
	if err != nil {
		return "", ""
	}
	names := append([]string{splitColumn}, t.Columns()...)
	t.Close()
	if len(names) == 1 {
		names = append(names, splitColumns...)
	}
	otherColumns := append([]string{o.Text, o.Tokens, o.Features, o.Label, o.ID},
		slices.Concat(o.Pair, o.Series, o.Numbers, o.LabelColumns)...)
	names = slices.DeleteFunc(names, func(name string) bool { return slices.Contains(otherColumns, name) })
	for i, name := range names[:min(len(names), maxSplitColumns)] {
		if i > 0 && name == splitColumn {
			continue
		}
		options.Columns = []string{name}
		if first := firstSplitValue(ctx, path, options, name == splitColumn); first != "" {
			return name, first
		}
	}
	return "", ""
}

// firstSplitValue returns the first non-empty value of a column if the column names splits, otherwise "". If
// oneRow is set, the first row alone decides.
func firstSplitValue(ctx context.Context, path string, o table.Options, oneRow bool) (first string) {
	t, err := table.Open(ctx, path, o)
	if err != nil {
		return "" // the column does not exist; reading the rows reports other errors
	}
	defer t.Close()
	var row table.Row
	found := map[string]bool{}
	for range maxSplitRows {
		err := t.Next(&row)
		if err == io.EOF {
			break
		}
		if err != nil {
			return ""
		}
		if row.Err != nil || len(row.Values) == 0 || row.Values[0].Text == "" {
			if oneRow {
				return ""
			}
			continue
		}
		split, ok := seq.KnownSplit(row.Values[0].Text)
		if !ok {
			return ""
		}
		if first == "" {
			first = strings.Clone(row.Values[0].Text)
		}
		if found[split] = true; oneRow {
			return first
		}
	}
	if len(found) < 2 || !found["train"] {
		return ""
	}
	return first
}

// addFolderAdvice adds advice to an error if the files are not in class folders.
func addFolderAdvice(err error, o *convert.Options, skipped *source.Skipped) error {
	if skipped.Reasons[convert.NoLabel] == nil || o.Label != table.FolderColumns[1] || !areFolders(o.From, o.Format) {
		return err
	}
	return fmt.Errorf("%w\nexpected a subfolder for each class (or extract the class from file names with --label "+
		"path --label-pattern REGEX)", err)
}

// addTokenizerAdvice adds advice to an error if the tokenizer of --tokenizer rejects rows.
func addTokenizerAdvice(c *cli.Context, err error, o *convert.Options, skipped *source.Skipped) error {
	if skipped.Reasons[convert.Refused] == nil || c.String("tokenizer") == chooseTokenizer || o.Tokenizer == nil {
		return err
	}
	return fmt.Errorf("%w\nomit --tokenizer %s to choose a tokenizer for these rows, or use rows that the "+
		"tokenizer %s "+
		"accepts",
		err, c.String("tokenizer"), tokenizers.TypeOf(o.Tokenizer))
}

// cloudsWarning returns a warning if files of points or surfaces in a folder are read as text.
// Otherwise it returns "".
func cloudsWarning(o *convert.Options) string {
	for _, path := range o.From {
		if !table.IsFolder(path, o.Format) {
			continue
		}
		files, err := cloud.Find(path)
		if err == nil && files.Surfaces() {
			return fmt.Sprintf("%s has files of points or surfaces, which were read as text: convert them to point "+
				"clouds with sftseq data convert cloud --from %s", path, shellQuote(path))
		}
	}
	return ""
}
