package table

import (
	"encoding/json"
	"fmt"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strconv"

	"go.yaml.in/yaml/v3"
)

// hubFeature is the type of a column in a card.
type hubFeature struct {
	Name     string  `yaml:"name"`
	Type     hubType `yaml:"dtype"`
	Sequence hubType `yaml:"sequence"` // type of a list's items
	List     hubType `yaml:"list"`     // the same in newer cards
}

// hubType has the class names of a type. In YAML, a type without classes is a name such as int64; a
// type with classes is {class_label: {names: {'0': …, '1': …}}}, where names may also be a list.
type hubType struct{ classes []string }

// UnmarshalYAML decodes the class names of a type, if it has any.
func (t *hubType) UnmarshalYAML(node *yaml.Node) error {
	var typed struct {
		ClassLabel struct {
			Names yaml.Node `yaml:"names"`
		} `yaml:"class_label"`
	}
	if node.Decode(&typed) == nil {
		t.classes = cardNames(&typed.ClassLabel.Names)
	}
	return nil
}

// cardNames returns the texts of a list, or of an object with the keys 0, 1, …. It returns nil for
// other values, for example if a name is missing.
func cardNames(node *yaml.Node) (names []string) {
	list := node.Content
	if node.Kind == yaml.MappingNode {
		numbered := map[string]*yaml.Node{}
		for i := 1; i < len(node.Content); i += 2 {
			numbered[node.Content[i-1].Value] = node.Content[i]
		}
		list = make([]*yaml.Node, len(node.Content)/2)
		for i := range list {
			list[i] = numbered[strconv.Itoa(i)]
		}
	}
	for _, name := range list {
		if name == nil || name.Kind != yaml.ScalarNode || name.Tag == "!!null" {
			return nil
		}
		names = append(names, name.Value)
	}
	return names
}

// hubInfo has the columns of a configuration.
type hubInfo struct {
	Config   string       `yaml:"config_name"`
	Features []hubFeature `yaml:"features"`
}

// readHubInfos returns the configurations that a card describes under dataset_info. It returns nil
// if the card cannot be read or dataset_info is malformed.
func readHubInfos(dir string) (infos []hubInfo) {
	card, ok := readCard(dir)
	var described struct {
		Info yaml.Node `yaml:"dataset_info"`
	}
	if !ok || yaml.Unmarshal([]byte(card), &described) != nil {
		return nil
	}
	if described.Info.Kind == yaml.MappingNode {
		infos = make([]hubInfo, 1)
		if described.Info.Decode(&infos[0]) != nil {
			return nil
		}
		return infos
	}
	if described.Info.Decode(&infos) != nil {
		return nil
	}
	return infos
}

// cardClasses returns the class names of a file's columns in the nearest card above the file.
// A column with different names in several configurations of the file has none.
//
// Source: https://github.com/huggingface/datasets/blob/main/src/datasets/features/features.py
func cardClasses(file string) hfClasses {
	info, err := os.Stat(file) // standard input has no card
	if err != nil || !info.Mode().IsRegular() {
		return hfClasses{}
	}
	configs, root, prefix := cardOf(filepath.Dir(file))
	infos := readHubInfos(root)
	if infos == nil {
		return hfClasses{}
	}
	relative := path.Join(prefix, filepath.Base(file))
	c := hfClasses{labels: map[string][]string{}, items: map[string][]string{}, origin: filepath.Join(root, hubCard)}
	differ := map[string]bool{}
	for _, info := range infos {
		at := slices.IndexFunc(configs, func(c hubConfig) bool { return c.name == info.Config })
		if at >= 0 {
			if _, ok := configs[at].contains(relative); !ok {
				continue
			}
		}
		for _, f := range info.Features {
			items := f.Sequence.classes
			if items == nil {
				items = f.List.classes
			}
			for _, named := range []struct {
				columns map[string][]string
				names   []string
			}{{c.labels, f.Type.classes}, {c.items, items}} {
				known, found := named.columns[f.Name]
				differ[f.Name] = differ[f.Name] || found && !slices.Equal(known, named.names)
				named.columns[f.Name] = named.names
			}
		}
	}
	for name := range differ {
		if differ[name] {
			delete(c.labels, name)
			delete(c.items, name)
		}
	}
	return c
}

// namedClasses replaces the class numbers in a table without typed columns (CSV, TSV, JSON) by the class
// names in a card.
type namedClasses struct {
	Reader
	classes hfClasses
	columns []string
	isJSON  bool // the table is JSON, which distinguishes texts from numbers
}

// withCardClasses wraps a reader to replace class numbers by the class names of the file's card. It returns
// the reader itself if none of the columns in o has class names.
func withCardClasses(r Reader, file string, isJSON bool, o Options) Reader {
	if len(o.Columns) == 0 {
		return r
	}
	c := cardClasses(file)
	hasClasses := func(name string) bool { return c.labels[name] != nil || c.items[name] != nil }
	if !slices.ContainsFunc(o.Columns, hasClasses) {
		return r
	}
	return &namedClasses{r, c, o.Columns, isJSON}
}

// isMissing reports whether the table is JSON and no row so far has the column.
func (r *namedClasses) isMissing(column string) bool {
	rows, ok := r.Reader.(interface{ isMissing(column string) bool })
	return ok && rows.isMissing(column)
}

// Next reads the next row and replaces class numbers by names. Class names are unchanged.
func (r *namedClasses) Next(row *Row) error {
	if err := r.Reader.Next(row); err != nil || len(row.Values) != len(r.columns) {
		return err
	}
	for i, column := range r.columns {
		v := &row.Values[i]
		var err error
		if names := r.classes.items[column]; names != nil && !v.Null {
			err = r.nameItems(names, v)
		} else if names := r.classes.labels[column]; names != nil && !v.Null && v.Text != "" && !r.isName(names, *v) {
			if err = r.classes.check(column, *v); err == nil {
				*v = className(names, *v)
			}
		}
		if err != nil {
			row.setNull(v, fmt.Errorf("column %s: %w", column, err))
		}
	}
	return nil
}

// isName reports whether a value is the name of a class. In CSV and TSV, which have no types, a number
// is a class number, as in Hugging Face's library.
func (r *namedClasses) isName(names []string, v Value) bool {
	_, err := strconv.Atoi(v.Text)
	return slices.Contains(names, v.Text) && !v.JSON && (r.isJSON || err != nil)
}

// nameItems replaces the class numbers in a list, or in the JSON text of a copied list.
func (r *namedClasses) nameItems(names []string, v *Value) error {
	if v.Items == nil {
		var numbers []*int
		if !v.JSON || json.Unmarshal([]byte(v.Text), &numbers) != nil {
			return nil // not a copied list of numbers, for example a list of names
		}
		for _, n := range numbers {
			item := "" // null
			if n != nil {
				item = strconv.Itoa(*n)
			}
			v.Items = append(v.Items, item)
		}
		named, err := copiedNames(names, *v)
		*v = named
		return err
	}
	isName := func(item string) bool { return r.isName(names, Value{Text: item, JSON: v.JSON}) }
	if other := slices.IndexFunc(v.Items, func(item string) bool { return !isName(item) }); other < 0 {
		return nil
	}
	for _, item := range v.Items {
		if n, err := strconv.Atoi(item); err != nil || n < -1 || n >= len(names) {
			return fmt.Errorf("expected classes from 0 to %d, indices of the names in %s, found %.40q", len(names)-1,
				r.classes.origin, item)
		}
	}
	*v = itemNames(names, *v)
	return nil
}
