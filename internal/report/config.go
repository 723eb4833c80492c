package report

import (
	"bytes"
	"encoding/json"
	"fmt"
	"strings"
)

// configTable shows the runs' configurations side by side.
type configTable struct {
	Names  []string
	Groups []configGroup
	Differ int // number of rows with different values
}

type configGroup struct {
	Name string
	Rows []configRow
}

type configRow struct {
	Key     string
	Cells   []string
	Differs bool
}

// maxText is the maximum number of characters shown of a value. A vocabulary has thousands of words.
const maxText = 400

// newConfigTable groups the values of config.json: training settings, model, and origin.
func newConfigTable(runs []Run) (configTable, error) {
	groups := []*struct {
		name, prefix string
		keys         []string
		values       map[string][]string // by key, for each run
	}{
		{name: "Training", prefix: "extra.settings."}, {name: "Model"}, {name: "Origin", prefix: "extra."},
	}
	var t configTable
	for _, g := range groups {
		g.values = map[string][]string{}
	}
	for i, r := range runs {
		t.Names = append(t.Names, r.Name)
		text, err := json.Marshal(r.Config)
		if err != nil {
			return t, err
		}
		flat, err := flatten("", text, nil)
		if err != nil {
			return t, err
		}
		for _, e := range flat {
			g := groups[1]
			if strings.HasPrefix(e.key, groups[0].prefix) {
				g = groups[0]
			} else if strings.HasPrefix(e.key, groups[2].prefix) {
				g = groups[2]
			}
			key := strings.TrimPrefix(e.key, g.prefix)
			if g.values[key] == nil {
				g.keys, g.values[key] = append(g.keys, key), make([]string, len(runs))
			}
			g.values[key][i] = e.value
		}
	}
	for _, g := range groups {
		group := configGroup{Name: g.name}
		for _, key := range g.keys {
			row := configRow{Key: key}
			for _, v := range g.values[key] {
				row.Differs = row.Differs || v != g.values[key][0]
				row.Cells = append(row.Cells, excerpt(v))
			}
			if row.Differs {
				t.Differ++
			}
			group.Rows = append(group.Rows, row)
		}
		if len(group.Rows) > 0 {
			t.Groups = append(t.Groups, group)
		}
	}
	return t, nil
}

// entry is a value of config.json and its path.
type entry struct{ key, value string }

// flatten lists the values of a JSON object in file order. Arrays are single values.
func flatten(prefix string, text []byte, out []entry) ([]entry, error) {
	if !bytes.HasPrefix(bytes.TrimSpace(text), []byte("{")) {
		var word string
		if json.Unmarshal(text, &word) != nil || word == "" { // null and "" stay unchanged
			var compact bytes.Buffer
			if err := json.Compact(&compact, text); err != nil {
				return nil, err
			}
			word = compact.String()
		}
		return append(out, entry{strings.TrimSuffix(prefix, "."), word}), nil
	}
	d := json.NewDecoder(bytes.NewReader(text))
	if _, err := d.Token(); err != nil {
		return nil, err
	}
	for d.More() {
		key, err := d.Token()
		if err != nil {
			return nil, err
		}
		var value json.RawMessage
		if err := d.Decode(&value); err != nil {
			return nil, err
		}
		if out, err = flatten(prefix+fmt.Sprint(key)+".", value, out); err != nil {
			return nil, err
		}
	}
	return out, nil
}

// excerpt returns v, shortened to maxText characters.
func excerpt(v string) string {
	runes := []rune(v)
	if len(runes) <= maxText {
		return v
	}
	return fmt.Sprintf("%s… (%d characters)", string(runes[:maxText]), len(runes))
}
