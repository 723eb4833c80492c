package table

import (
	"encoding/json"
	"fmt"
	"maps"
	"path/filepath"
	"slices"
)

// hfNeutral are the keys of state.json that do not affect the rows and values of a data set.
var hfNeutral = []string{"_data_files", "_fingerprint", "_format_columns", "_format_kwargs", "_format_type", "_indexes",
	"_info", "_output_all_columns", "_split"}

// hfDataFiles returns the names of the Arrow streams in state.json. A state that selects or changes
// rows, for example by indices, is an error, because the streams then differ from the data set.
func hfDataFiles(path string) (names []string, err error) {
	var state map[string]json.RawMessage
	if err := readJSON(path, &state); err != nil {
		return nil, err
	}
	for _, key := range slices.Sorted(maps.Keys(state)) {
		if !slices.Contains(hfNeutral, key) && !isEmptyJSON(state[key]) {
			return nil, selectionError(path, key, state[key])
		}
	}
	var files []map[string]json.RawMessage
	if text := state["_data_files"]; text != nil {
		if err := json.Unmarshal(text, &files); err != nil {
			return nil, fmt.Errorf("%s: _data_files: %w", path, err)
		}
	}
	for _, file := range files {
		for _, key := range slices.Sorted(maps.Keys(file)) {
			if key != "filename" && !(key == "skip" && string(file[key]) == "0") && !isEmptyJSON(file[key]) {
				return nil, selectionError(path, "_data_files: "+key, file[key])
			}
		}
		var name string
		if json.Unmarshal(file["filename"], &name) != nil || !filepath.IsLocal(name) {
			return nil, fmt.Errorf("%s: _data_files: filename: expected a file name, found %.40s", path,
				file["filename"])
		}
		names = append(names, name)
	}
	return names, nil
}

// selectionError returns the error for a key that selects or changes rows.
func selectionError(path, key string, value json.RawMessage) error {
	return fmt.Errorf("%s: %s selects or changes rows of the Arrow files (%.80s): expected whole files "+
		"(write them with load_from_disk, flatten_indices and save_to_disk of the datasets library)", path, key, value)
}

// isEmptyJSON reports whether a value is null, false, "", or a list or object of only such values, such as
// [{"transforms": []}] from older versions of the datasets library.
func isEmptyJSON(text json.RawMessage) bool {
	var value any
	return json.Unmarshal(text, &value) == nil && isEmpty(value)
}

func isEmpty(value any) bool {
	switch v := value.(type) {
	case nil:
		return true
	case bool:
		return !v
	case string:
		return v == ""
	case []any:
		return !slices.ContainsFunc(v, func(e any) bool { return !isEmpty(e) })
	case map[string]any:
		return !slices.ContainsFunc(slices.Collect(maps.Values(v)), func(e any) bool { return !isEmpty(e) })
	}
	return false
}

// hfFeature is the type of a column or of the items of its lists.
type hfFeature struct {
	Type  string          `json:"_type"`
	Names []string        `json:"names"`
	Items json.RawMessage `json:"feature"` // type of a list's items
}

// parseHFFeature parses the JSON of a feature. The short form [X] means a list of X.
func parseHFFeature(text json.RawMessage) (f hfFeature) {
	var short []json.RawMessage
	if json.Unmarshal(text, &short) == nil && len(short) == 1 {
		return hfFeature{Type: "List", Items: short[0]}
	}
	if json.Unmarshal(text, &f) != nil {
		return hfFeature{}
	}
	return f
}

// classes returns the names of a ClassLabel, or nil for other features. A feature without a type, such as
// {"names": ["neg", "pos"]}, is a ClassLabel too.
func (f hfFeature) classes() []string {
	if f.Type == "ClassLabel" || f.Type == "" {
		return f.Names
	}
	return nil
}
