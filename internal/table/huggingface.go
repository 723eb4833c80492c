package table

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strconv"
)

// Files of a directory written by Hugging Face's datasets library (Dataset.save_to_disk,
// DatasetDict.save_to_disk), and the column that is added for the split.
const (
	hfSplits   = "dataset_dict.json" // {"splits": ["train", …]}, each in a directory of that name
	hfFeatures = "dataset_info.json" // types of the columns
	hfState    = "state.json"        // names of the Arrow streams, in order
	hfSplit    = "split"             // column with the split's name
)

// hfReader reads the Arrow streams of a directory written by Hugging Face's datasets library, in order.
type hfReader struct {
	chain
	ctx     context.Context // cancels reading
	options Options
	columns []string
	wanted  []string // requested columns except the added split
	split   []int    // indices of the split among the values
	parts   []hfPart // remaining parts
	part    hfPart
}

// hfPart is an Arrow stream of a directory.
type hfPart struct {
	path    string
	split   string
	classes hfClasses
}

// isHF reports whether a directory has a file that Hugging Face's datasets library writes:
// dataset_dict.json or dataset_info.json.
func isHF(dir string) bool {
	return slices.ContainsFunc([]string{hfSplits, hfFeatures}, func(name string) bool {
		info, err := os.Stat(filepath.Join(dir, name))
		return err == nil && info.Mode().IsRegular()
	})
}

func newHF(ctx context.Context, dir string, o Options) (_ *hfReader, err error) {
	r := &hfReader{ctx: ctx, options: o}
	if r.parts, err = hfParts(dir); err != nil {
		return nil, err
	}
	if len(r.parts) == 0 {
		return nil, errors.New("expected a data set with Arrow files, found none")
	}
	for i, name := range o.Columns {
		if name == hfSplit && r.parts[0].split != "" {
			r.split = append(r.split, i)
		} else {
			r.wanted = append(r.wanted, name)
		}
	}
	r.open = r.next
	if r.rows, err = r.next(); err != nil {
		return nil, err
	}
	r.columns = slices.Clone(r.rows.Columns())
	if r.part.split != "" && !slices.Contains(r.columns, hfSplit) {
		r.columns = append(r.columns, hfSplit)
	}
	return r, nil
}

// hfParts returns the streams of all splits, or of a directory without splits.
func hfParts(dir string) (parts []hfPart, err error) {
	var whole struct {
		Splits []string `json:"splits"`
	}
	err = readJSON(filepath.Join(dir, hfSplits), &whole)
	if errors.Is(err, os.ErrNotExist) {
		return hfSplitParts(dir, "")
	}
	if err != nil {
		return nil, err
	}
	for _, split := range whole.Splits {
		if !filepath.IsLocal(split) {
			return nil, fmt.Errorf("%s: expected a split name, found %.40q", hfSplits, split)
		}
		more, err := hfSplitParts(filepath.Join(dir, split), split)
		if err != nil {
			return nil, err
		}
		parts = append(parts, more...)
	}
	return parts, nil
}

// hfSplitParts returns the streams of a split, or of a directory without splits.
func hfSplitParts(dir, split string) (parts []hfPart, err error) {
	var info struct {
		Features map[string]json.RawMessage `json:"features"`
	}
	files, err := hfDataFiles(filepath.Join(dir, hfState))
	if err != nil {
		return nil, err
	}
	if err := readJSON(filepath.Join(dir, hfFeatures), &info); err != nil {
		return nil, err
	}
	classes := newHFClasses(info.Features)
	for _, name := range files {
		parts = append(parts, hfPart{filepath.Join(dir, name), split, classes})
	}
	return parts, nil
}

// maxHFState is the maximum number of bytes read from a JSON file, well above the usual sizes.
const maxHFState = 64 << 20

// readJSON decodes a JSON file.
func readJSON(path string, into any) error {
	f, err := os.Open(path)
	if err != nil {
		return err
	}
	defer f.Close()
	text, err := io.ReadAll(io.LimitReader(f, maxHFState))
	if err != nil {
		return err
	}
	if err := json.Unmarshal(text, into); err != nil {
		return fmt.Errorf("%s: %w", path, err)
	}
	return nil
}

// next opens the next stream. It returns nil after the last stream.
func (r *hfReader) next() (Reader, error) {
	if len(r.parts) == 0 {
		return nil, nil
	}
	r.part, r.parts = r.parts[0], r.parts[1:]
	// the file name "." would otherwise open this data set again, without end
	if info, err := os.Stat(r.part.path); err == nil && info.IsDir() {
		return nil, fmt.Errorf("%s: expected an Arrow file, found a directory", r.part.path)
	}
	o := r.options
	o.Columns, o.Format, o.classesNamed = r.wanted, "arrow", true
	r.part.classes.addLists(&o)
	return Open(r.ctx, r.part.path, o)
}

// Columns returns the columns of the first stream, and the split column if the data set has splits.
func (r *hfReader) Columns() []string { return r.columns }

// Next reads the next row into row. It returns io.EOF after the last row.
func (r *hfReader) Next(row *Row) (err error) {
	if err := r.chain.read(row); err != nil || len(row.Values) < len(r.wanted) {
		return err
	}
	for i, name := range r.wanted {
		if err := r.part.classes.replaceNumbers(name, &row.Values[i],
			slices.Contains(r.options.Lists, name)); err != nil {
			return err
		}
	}
	row.insert(r.split, r.part.split)
	return nil
}

// itemNames returns the class names of a list of numbers, or null if a number is not a class.
func itemNames(names []string, v Value) Value {
	out := Value{Items: []string{}}
	for _, item := range v.Items {
		name := className(names, Value{Text: item})
		if name.Null {
			return name
		}
		out.Items = append(out.Items, name.Text)
	}
	return out
}

// copiedNames returns the class names of a list of numbers as a JSON list, with null for numbers
// that are not classes.
func copiedNames(names []string, v Value) (Value, error) {
	list := make([]*string, len(v.Items))
	for i, item := range v.Items {
		if name := className(names, Value{Text: item}); !name.Null {
			list[i] = &name.Text
		}
	}
	text, err := json.Marshal(list)
	return Value{Text: string(text), JSON: true}, err
}

// className returns the name of a class number. −1 and values that are not class numbers are null.
func className(names []string, v Value) Value {
	n, err := strconv.Atoi(v.Text)
	if err != nil || n < 0 || n >= len(names) {
		return Value{Null: true}
	}
	return Value{Text: names[n]}
}
