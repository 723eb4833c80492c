package main

import (
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"
	"unicode/utf8"

	"github.com/sftseq/sftseq/seq"
)

// missingNames are texts by which other programs represent a missing value.
var missingNames = []string{"NA", "N/A", "n/a", "#N/A", "<NA>", "NaN", "nan", "null", "NULL",
	"None", `\N`, "?", "-", "--"}

// missingWarnings warns of class names that represent missing values in other programs, and of names
// with undecodable characters. For multi-label data it also warns of numbers among names, and of
// labels that all training rows have. For tags it returns typeWarnings instead.
func missingWarnings(m *seq.Manifest) (out []string) {
	used := usedNames(m)
	if m.Task == seq.Tagging {
		return typeWarnings(m, used)
	}
	count := func(name string) (rows int64) {
		for _, info := range m.Splits {
			rows += info.Labels[name]
		}
		return rows
	}
	var missing, undecodable, numbers []string
	for _, name := range used {
		if slices.Contains(missingNames, name) {
			missing = append(missing, fmt.Sprintf("%q (%d)", name, count(name)))
		}
		if strings.ContainsRune(name, utf8.RuneError) {
			undecodable = append(undecodable, fmt.Sprintf("%q (%d)", name, count(name)))
		}
		if _, err := strconv.ParseFloat(name, 64); err == nil {
			numbers = append(numbers, name)
		}
	}
	if len(missing) > 0 && len(missing) < len(used) {
		out = append(out, fmt.Sprintf("%d classes include names that often mark a missing value: %s; if they do, "+
			"leave these labels empty or keep only the other classes with --labels",
			len(used), shortList(missing, maxNamed)))
	}
	if len(undecodable) > 0 {
		out = append(out, fmt.Sprintf("names of classes contain U+FFFD, which replaces bytes that a program could "+
			"not decode: %s; export the table from its source again, as UTF-8", shortList(undecodable, maxNamed)))
	}
	if m.Task != seq.MultiLabel {
		return out
	}
	if len(numbers) > 0 && len(numbers) < len(used) {
		out = append(out, fmt.Sprintf("%d of %d labels are numbers and the others are names: %s; if the numbers are "+
			"indices of a list of names, replace them with the "+
			"names", len(numbers), len(used), shortList(numbers, maxNamed)))
	}
	train := m.Splits["train"]
	always := slices.DeleteFunc(slices.Clone(used), func(name string) bool { return train.Labels[name] < train.Rows })
	if train.Rows > 1 && len(always) > 0 {
		out = append(out, fmt.Sprintf("all %d rows of train have %d of the %d labels, so models cannot learn these: "+
			"%s", train.Rows, len(always), len(used), shortList(always, maxNamed)))
	}
	return out
}

// typeWarnings warns if every type of span occurs once, or if there are at least minClasses types and they
// occur less than twice on average, because the types are then probably the texts or names of single spans.
func typeWarnings(m *seq.Manifest, used []string) []string {
	types, spans := 0, int64(0)
	example := ""
	for _, name := range used {
		kind, ok := strings.CutPrefix(name, "B-")
		if !ok {
			continue
		}
		types, example = types+1, kind
		for _, info := range m.Splits {
			spans += info.Labels[name]
		}
	}
	if types < 2 || spans >= 2*int64(types) || types < minClasses && spans > int64(types) {
		return nil
	}
	return []string{fmt.Sprintf("%d types for %d spans, for example %q: a model cannot learn a type that occurs "+
		"once (label spans with their kind, not their text or name; the label of a BED interval is column 4)", types,
		spans, example)}
}

// maxMeanShift is the largest difference between the means of a number in two splits, in standard
// deviations of train, that causes no warning about units.
const maxMeanShift = 5

// numberWarnings warns of numbers that are constant in train, of numbers whose deviation is less than
// 100 steps of float32, and of numbers whose mean in another split is far from the mean in train.
func numberWarnings(m *seq.Manifest) (out []string) {
	for _, n := range m.Splits["train"].Numbers {
		if n.Rows > 1 && n.Min == n.Max {
			out = append(out, fmt.Sprintf("number %s is %.6g in all %d rows of train, "+
				"so models cannot learn it",
				n.Name, n.Min, n.Rows))
			continue
		}
		if step := max(math.Abs(float64(n.Min)),
			math.Abs(float64(n.Max))) / (1 << 23); 100*step > float64(n.Deviation) && n.Rows > 1 {
			out = append(out, fmt.Sprintf("number %s has a standard deviation of only %.6g, but float32 stores it "+
				"in steps of about %.2g: subtract a constant", n.Name, n.Deviation, step))
		}
		for _, split := range m.SplitNames() {
			for _, other := range m.Splits[split].Numbers {
				if other.Name == n.Name && n.Rows > 1 && other.Rows > 1 &&
					math.Abs(other.Mean-n.Mean) > maxMeanShift*n.Deviation {
					out = append(out, fmt.Sprintf("number %s has the mean %.6g in %s, but %.6g with standard "+
						"deviation %.6g in train: check that both use the same units",
						n.Name, other.Mean, split, n.Mean, n.Deviation))
				}
			}
		}
	}
	return out
}
