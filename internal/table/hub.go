package table

import (
	"encoding/json"
	"fmt"
	"os"
	"path"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"github.com/apache/arrow/go/v15/arrow"

	"github.com/sftseq/sftseq/seq"
)

// This file finds the splits of folders of tables laid out as on the Hugging Face Hub: README.md
// beside data/train-00000-of-00001.parquet and other tables, or folders train, test and validation
// with tables.
//
// Source: https://huggingface.co/docs/hub/datasets-file-names-and-splits

// hubCard is the file that describes a data set of the Hub.
const hubCard = "README.md"

// IsDocumentation reports whether a file is documentation of a data set, according to its name: README.md,
// a license or dataset_infos.json.
func IsDocumentation(name string) bool {
	lower := strings.ToLower(name)
	stem := strings.TrimSuffix(strings.TrimSuffix(lower, ".md"), ".txt")
	return lower == "readme.md" || stem == "license" || stem == "licence" || lower == "dataset_infos.json"
}

// hasCard reports whether a folder has a data set card, or one of the maxCardDepth folders above has a
// card with YAML. A README.md above without YAML belongs to another project.
func hasCard(dir string) bool {
	if info, err := os.Stat(filepath.Join(dir, hubCard)); err == nil {
		return info.Mode().IsRegular()
	}
	root, _ := nearestCard(dir)
	_, ok := readCard(root)
	return ok
}

// folderSplits returns the split name of each table in a folder laid out as on the Hub, or nil. The
// card, or the path of every table, must name the table's split. There must be at least two splits, one of
// them train. Without a card, all tables must be numbered shards, or Parquet and Arrow files in folders
// named after their split.
func folderSplits(dir string, shards []string) map[string]string {
	if splits := cardSplits(dir, shards); splits != nil {
		return splits
	}
	splits := map[string]string{}
	other := func(shard string) bool { return !shardName.MatchString(path.Base(shard)) }
	hub := hasCard(dir) || !slices.ContainsFunc(shards, other)
	for _, shard := range shards {
		name := splitName(shard)
		if name == "" || !hub && (path.Base(path.Dir(shard)) != name || !isBinary(shard)) {
			return nil
		}
		splits[shard] = name
	}
	if !severalSplits(splits) {
		return nil
	}
	return splits
}

// severalSplits reports whether tables have at least two splits, one of them train.
func severalSplits(splits map[string]string) bool {
	found := map[string]bool{}
	for _, name := range splits {
		if split, ok := seq.KnownSplit(name); ok {
			name = split
		}
		found[name] = true
	}
	return len(found) > 1 && found["train"]
}

// isBinary reports whether a file is in a format with typed columns.
func isBinary(path string) bool {
	return slices.Contains([]string{"parquet", "arrow"}, formatOfName(path))
}

// splitName returns the split that a table's name contains as its first or last word. Otherwise, it
// returns the name of the folder if it is a split, the only word before the numbers of a shard
// (unsupervised-00000-of-00001.parquet), or "".
func splitName(shard string) string {
	base, _, _ := strings.Cut(path.Base(shard), ".")
	words := strings.FieldsFunc(base, func(r rune) bool { return strings.ContainsRune("-_ ", r) })
	words = slices.DeleteFunc(words, func(word string) bool {
		return word == "of" || strings.Trim(word, "0123456789") == ""
	})
	if len(words) > 0 {
		for _, word := range []string{words[0], words[len(words)-1]} {
			if _, ok := seq.KnownSplit(word); ok {
				return word
			}
		}
	}
	if folder := path.Base(path.Dir(shard)); folder != "." {
		if _, ok := seq.KnownSplit(folder); ok {
			return folder
		}
	}
	if m := shardName.FindStringSubmatch(path.Base(shard)); m != nil && len(words) == 1 {
		return words[0]
	}
	return ""
}

// shardName matches the name of a numbered shard of a table: train-00000-of-00002.parquet.
var shardName = regexp.MustCompile(`^(.*-)(\d{5,9})(-of-)(\d{5,9})(\..*)?$`)

// MissingShard returns the path of a shard that is missing among the numbered shards of a folder,
// or "".
func MissingShard(shards []string) string {
	found, checked := map[string]bool{}, map[string]bool{}
	for _, shard := range shards {
		found[shard] = true
	}
	for _, shard := range shards {
		m := shardName.FindStringSubmatch(shard)
		if m == nil || checked[m[1]+m[4]+m[5]] {
			continue
		}
		checked[m[1]+m[4]+m[5]] = true
		count, _ := strconv.Atoi(m[4])
		for n := range count {
			if path := fmt.Sprintf("%s%0*d%s%s%s", m[1], len(m[2]), n, m[3], m[4], m[5]); !found[path] {
				return path
			}
		}
	}
	return ""
}

// hfClasses has class names of integer columns, from a file's metadata, a saved data set or a card.
type hfClasses struct {
	labels map[string][]string // by column
	items  map[string][]string // class names of list items, by column
	origin string              // location of the names, for errors
}

// newHFClasses returns the class names in the features of Hugging Face's datasets library.
func newHFClasses(features map[string]json.RawMessage) hfClasses {
	c := hfClasses{map[string][]string{}, map[string][]string{}, "the metadata (" + keyHF + ")"}
	for column, text := range features {
		if feature := parseHFFeature(text); feature.Items != nil {
			c.items[column] = parseHFFeature(feature.Items).classes()
		} else {
			c.labels[column] = feature.classes()
		}
	}
	return c
}

// keyHF is the metadata key whose value describes the features of a data set.
const keyHF = "huggingface"

// parseHFClasses parses the metadata value of keyHF: {"info": {"features": {"label": {"names": […],
// "_type": "ClassLabel"}}}}.
func parseHFClasses(text string) hfClasses {
	var metadata struct {
		Info struct {
			Features map[string]json.RawMessage `json:"features"`
		} `json:"info"`
	}
	if json.Unmarshal([]byte(text), &metadata) != nil {
		return hfClasses{} // written by another program
	}
	return newHFClasses(metadata.Info.Features)
}

// keepIntegers removes the class names of columns that are not integers or lists of integers.
func (c hfClasses) keepIntegers(schema *arrow.Schema) {
	for _, f := range schema.Fields() {
		if !arrow.IsInteger(f.Type.ID()) {
			delete(c.labels, f.Name)
		}
		if list, ok := f.Type.(arrow.ListLikeType); !ok || !arrow.IsInteger(list.Elem().ID()) {
			delete(c.items, f.Name)
		}
	}
}

// addLists adds the copied columns whose items are classes to the columns to read as lists of texts.
// Read as token ids, these columns could not contain −1. Items of the added lists may be null.
func (c hfClasses) addLists(o *Options) {
	o.Lists, o.Gaps = slices.Clone(o.Lists), slices.Clone(o.Gaps)
	for _, name := range o.Copied {
		if c.items[name] != nil && !slices.Contains(o.Lists, name) {
			o.Lists, o.Gaps = append(o.Lists, name), append(o.Gaps, name)
		}
	}
}

// check returns an error if a value is not a class number of its column. −1 means a missing label.
func (c hfClasses) check(column string, v Value) error {
	names := c.labels[column]
	if n, err := strconv.Atoi(v.Text); names != nil && !v.Null && (err != nil || n < -1 || n >= len(names)) {
		return fmt.Errorf("expected a class from 0 to %d, an index of the names in %s, found %.40q",
			len(names)-1, c.origin, v.Text)
	}
	return nil
}

// replaceNumbers replaces the class numbers in a value by class names. isList means that the column
// was requested as a list; other lists become JSON.
func (c hfClasses) replaceNumbers(column string, v *Value, isList bool) (err error) {
	if names := c.labels[column]; names != nil && !v.Null {
		*v = className(names, *v)
	}
	if names := c.items[column]; names != nil && v.Items != nil {
		if isList {
			*v = itemNames(names, *v)
		} else {
			*v, err = copiedNames(names, *v)
		}
	}
	return err
}
