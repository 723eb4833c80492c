package table

import (
	"fmt"
	"os"
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

// hubType is the name of a type, or {class_label: {names: {'0': …, '1': …}}}. names may be a list.
type hubType struct{ classes []string }

// UnmarshalYAML decodes the names of classes. Other types have none.
func (t *hubType) UnmarshalYAML(node *yaml.Node) error {
	var typed struct {
		ClassLabel struct {
			Names yaml.Node `yaml:"names"`
		} `yaml:"class_label"`
	}
	if node.Decode(&typed) != nil {
		return nil // another type
	}
	names := &typed.ClassLabel.Names
	if names.Decode(&t.classes) == nil {
		return nil
	}
	var numbered map[string]string
	if names.Decode(&numbered) != nil {
		return nil
	}
	for i := range len(numbered) {
		name, ok := numbered[strconv.Itoa(i)]
		if !ok {
			t.classes = nil
			return nil
		}
		t.classes = append(t.classes, name)
	}
	return nil
}

// hubInfo has the columns of a configuration.
type hubInfo struct {
	Config   string       `yaml:"config_name"`
	Features []hubFeature `yaml:"features"`
}

// readHubInfos returns the configurations that a card describes under dataset_info.
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

// maxCardDepth is the maximum number of folders between a table and its card: en/train/0.parquet.
const maxCardDepth = 2

// cardClasses returns the class names that the nearest card above a file gives to the file's columns.
// A column with different names in several configurations of the file has none.
//
// Source: https://github.com/huggingface/datasets/blob/main/src/datasets/features/features.py
func cardClasses(file string) hfClasses {
	info, err := os.Stat(file) // standard input has no card
	if err != nil || !info.Mode().IsRegular() {
		return hfClasses{}
	}
	if file, err = filepath.Abs(file); err != nil {
		return hfClasses{}
	}
	root := filepath.Dir(file)
	for range maxCardDepth {
		if _, ok := readCard(root); ok {
			break
		}
		root = filepath.Dir(root)
	}
	infos := readHubInfos(root)
	relative, err := filepath.Rel(root, file)
	if err != nil || infos == nil {
		return hfClasses{}
	}
	configs := readHubConfigs(root)
	c := hfClasses{labels: map[string][]string{}, items: map[string][]string{}, origin: filepath.Join(root, hubCard)}
	differ := map[string]bool{}
	for _, info := range infos {
		at := slices.IndexFunc(configs, func(c hubConfig) bool { return c.name == info.Config })
		if at >= 0 {
			if _, ok := configs[at].contains(filepath.ToSlash(relative)); !ok {
				continue
			}
		}
		for _, f := range info.Features {
			items := append(f.Sequence.classes, f.List.classes...)
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

// namedClasses replaces the class numbers in a table without types by the class names in a card.
type namedClasses struct {
	Reader
	classes hfClasses
	columns []string
}

// withCardClasses returns the reader with the class names of a card, if it reads a column of classes.
func withCardClasses(r Reader, file string, o Options) Reader {
	c := cardClasses(file)
	hasClasses := func(name string) bool { return c.labels[name] != nil || c.items[name] != nil }
	if !slices.ContainsFunc(o.Columns, hasClasses) {
		return r
	}
	return &namedClasses{r, c, o.Columns}
}

// Next returns the next row. Values that already are class names stay unchanged.
func (r *namedClasses) Next(row *Row) error {
	if err := r.Reader.Next(row); err != nil || len(row.Values) != len(r.columns) {
		return err
	}
	for i, name := range r.columns {
		v := &row.Values[i]
		if names := r.classes.items[name]; names != nil && v.Items != nil {
			isNumber := func(item string) bool { return !slices.Contains(names, item) }
			if slices.ContainsFunc(v.Items, isNumber) {
				*v = itemNames(names, *v)
			}
		}
		names := r.classes.labels[name]
		if names == nil || v.Null || v.Text == "" || slices.Contains(names, v.Text) {
			continue
		}
		if err := r.classes.check(name, *v); err != nil {
			row.setNull(v, fmt.Errorf("column %s: %w", name, err))
			continue
		}
		*v = className(names, *v)
	}
	return nil
}
