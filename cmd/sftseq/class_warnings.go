package main

import (
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/urfave/cli/v2"
	"golang.org/x/text/cases"
	"golang.org/x/text/unicode/norm"

	"github.com/sftseq/sftseq/seq"
)

// maxNamed is how many classes a warning names.
const maxNamed = 20

// warnClasses prints the warnings of [nameWarnings] and [absentWarnings].
func warnClasses(c *cli.Context, m *seq.Manifest, splits ...string) {
	printWarnings(c, append(nameWarnings(m), absentWarnings(m, splits...)...))
}

func printWarnings(c *cli.Context, warnings []string) {
	for _, text := range warnings {
		fmt.Fprintf(c.App.ErrWriter, "warning: %s\n", text)
	}
}

// nameWarnings are the signs in a data set's manifest that the names of its classes are not what the
// user means: names that look alike, names without rows, and one class only.
func nameWarnings(m *seq.Manifest) (out []string) {
	if alike := alikeNames(m.LabelNames); len(alike) > 0 {
		out = append(out, fmt.Sprintf("these names look alike and are different classes: %s; where they mean the same, write one of them in the table",
			shortList(alike, maxNamed)))
	}
	if m.Task != seq.Classification && m.Task != seq.MultiLabel {
		return out
	}
	used := usedNames(m)
	has := make(map[string]bool, len(used))
	for _, name := range used {
		has[name] = true
	}
	if unused := slices.DeleteFunc(slices.Clone(m.LabelNames), func(name string) bool { return has[name] }); len(unused) > 0 {
		out = append(out, fmt.Sprintf("%d of %d classes have no row in any split: %s", len(unused), len(m.LabelNames), shortList(unused, maxNamed)))
	}
	filled := slices.DeleteFunc(m.SplitNames(), func(split string) bool { return m.Splits[split].Rows == 0 })
	if m.Task == seq.Classification && len(used) == 1 && len(filled) > 1 { // a single split may hold rows for predict
		out = append(out, fmt.Sprintf("all rows are of one class, %s, so train has nothing to learn: an accuracy of 100%% says nothing", used[0]))
	}
	return out
}

// usedNames are the classes that have rows.
func usedNames(m *seq.Manifest) []string {
	return slices.DeleteFunc(slices.Clone(m.LabelNames), func(name string) bool {
		return !slices.ContainsFunc(m.SplitNames(), func(split string) bool { return m.Splits[split].Labels[name] > 0 })
	})
}

// absentWarnings name the classes that have rows, but not in one of the splits.
func absentWarnings(m *seq.Manifest, splits ...string) (out []string) {
	if m.Task != seq.Classification && m.Task != seq.MultiLabel {
		return nil
	}
	used := usedNames(m)
	for _, split := range splits {
		info := m.Splits[split]
		absent := slices.DeleteFunc(slices.Clone(used), func(name string) bool { return info.Labels[name] > 0 })
		if info.Rows > 0 && len(absent) > 0 {
			says := map[bool]string{true: "from which models learn", false: "which says nothing of them"}[split == "train"]
			out = append(out, fmt.Sprintf("%d of %d classes have no row in %s, %s: %s", len(absent), len(m.LabelNames), split, says, shortList(absent, maxNamed)))
		}
	}
	return out
}

// alikeNames are the groups of names that differ only in case, white space, the form of their Unicode
// characters or the form of a number, such as "0" and "0.0". Names that print alike are escaped.
func alikeNames(names []string) (groups []string) {
	alike, order := map[string][]string{}, []string(nil)
	fold := cases.Fold()
	for _, name := range names {
		key := strings.Join(strings.Fields(fold.String(norm.NFKC.String(name))), " ")
		if v, err := strconv.ParseFloat(key, 64); err == nil {
			key = "number " + strconv.FormatFloat(v+0, 'g', -1, 64) // + 0 makes -0 a 0
		}
		if alike[key] == nil {
			order = append(order, key)
		}
		alike[key] = append(alike[key], name)
	}
	for _, key := range order {
		same := alike[key]
		if len(same) < 2 {
			continue
		}
		format := "%q"
		if norm.NFC.String(same[0]) == norm.NFC.String(same[1]) {
			format = "%+q"
		}
		quoted := make([]string, len(same))
		for i, name := range same {
			quoted[i] = fmt.Sprintf(format, name)
		}
		groups = append(groups, strings.Join(quoted, " and "))
	}
	return groups
}
