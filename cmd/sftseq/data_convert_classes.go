package main

import (
	"encoding/csv"
	"fmt"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"github.com/urfave/cli/v2"

	"github.com/sftseq/sftseq/internal/convert"
	"github.com/sftseq/sftseq/seq"
)

// parseLabels parses a list of names, such as the value of --labels, as a row of CSV: a name in
// double quotes may contain commas.
func parseLabels(text string) ([]string, error) {
	in := csv.NewReader(strings.NewReader(text))
	in.LazyQuotes, in.TrimLeadingSpace = true, true
	rows, err := in.ReadAll()
	if err == nil && len(rows) != 1 {
		err = fmt.Errorf("found %d lines", len(rows))
	}
	if err != nil {
		return nil, fmt.Errorf("expected names separated by commas, with double quotes around a name that contains "+
			"a comma: %w", err)
	}
	for i := range rows[0] {
		rows[0][i] = strings.TrimSpace(rows[0][i])
	}
	return rows[0], nil
}

// parseNamesFlag parses the value of a flag into names, if the flag is set.
func parseNamesFlag(c *cli.Context, name string, names *[]string) (err error) {
	if c.IsSet(name) {
		if *names, err = parseLabels(c.String(name)); err != nil {
			return invalidFlag(c, name, err)
		}
	}
	return nil
}

// joinLabels formats names for [parseLabels].
func joinLabels(names []string) string {
	var out strings.Builder
	w := csv.NewWriter(&out)
	if err := w.Write(names); err != nil { // writing to a buffer cannot fail
		panic(err)
	}
	w.Flush()
	return strings.TrimSuffix(out.String(), "\n")
}

// patternFlag returns the compiled regular expression of a flag, or nil if the flag is not set.
func patternFlag(c *cli.Context, name string) (*regexp.Regexp, error) {
	if c.String(name) == "" {
		return nil, nil
	}
	re, err := regexp.Compile(c.String(name))
	if err != nil {
		return nil, invalidFlag(c, name, err)
	}
	return re, nil
}

// Limits of the warnings about classes with too few rows to learn from. With fewer than minClasses
// classes there is no warning about the mean number of rows per class, even in a small table.
const (
	minClasses       = 20
	fewRows          = 5    // fewer rows per class cause a warning
	manyRows         = 1000 // minimum rows of the data set for rareWarning
	maxExampleLength = 40   // bytes of a class name in a warning
)

// classWarning returns a warning if classes look like lists of labels or like numbers on a scale, or
// if they have too few rows to learn from. Otherwise, and always for tags and with --labels, it returns "".
func classWarning(m *seq.Manifest, o *convert.Options) string {
	classes, rows := len(m.LabelNames), int64(0)
	if o.Labels != nil || m.Task == seq.Tagging {
		return ""
	}
	if text := joinedWarning(m, o); text != "" || m.Task == seq.MultiLabel {
		return text
	}
	if classes < minClasses {
		return rareWarning(m)
	}
	for _, split := range m.Splits {
		rows += split.Rows
	}
	numbers, fractions := 0, 0
	for _, name := range m.LabelNames {
		if _, err := strconv.ParseFloat(name, 64); err == nil {
			numbers++
			if strings.ContainsAny(name, ".eE") {
				fractions++
			}
		}
	}
	few := rows < int64(fewRows*classes)
	example := m.LabelNames[0]
	if len(example) > maxExampleLength {
		example = strings.ToValidUTF8(example[:maxExampleLength], "") + "…"
	}
	found := fmt.Sprintf("--label %s has %d classes for %d rows, %.1f rows per class, for example "+
		"%q", o.Label, classes, rows,
		float64(rows)/float64(classes), example)
	switch {
	case numbers == classes && (few || fractions > 0):
		return found + ": these labels are numbers; predict them with --numbers in place of --label, or replace " +
			"them with ranges such as low and high"
	case few:
		return found + ": a model cannot learn a class from so few rows; extract the class from a longer text with " +
			"--label-pattern REGEX, keep some classes with --labels NAME,…, or choose another column"
	}
	return ""
}

// joinedWarning warns of classes that look like lists of labels in a single text: "sport;weather"
// if its parts occur in other classes, or "['sport', 'weather']".
func joinedWarning(m *seq.Manifest, o *convert.Options) string {
	if o.LabelColumns != nil || o.LabelPattern != nil || o.Pair != nil {
		return ""
	}
	bracketed := slices.DeleteFunc(slices.Clone(m.LabelNames), func(name string) bool {
		return !(strings.HasPrefix(name, "[") && strings.HasSuffix(name, "]") || strings.HasPrefix(name, "{") &&
			strings.HasSuffix(name, "}"))
	})
	if len(bracketed) > 1 && 2*len(bracketed) >= len(m.LabelNames) {
		for i, name := range bracketed {
			bracketed[i] = strconv.Quote(name)
		}
		return fmt.Sprintf("%d of %d classes look like lists of labels in a single string: %s; "+
			"use JSON lists, or strings such as a;b with --label-separator ';'", len(bracketed),
			len(m.LabelNames), shortList(bracketed, maxNamed))
	}
	for _, separator := range []string{";", "|", ","} {
		if separator == o.LabelSeparator {
			continue
		}
		classesWith := map[string]int{} // number of classes with each part
		parts := make([][]string, len(m.LabelNames))
		for i, name := range m.LabelNames {
			for part := range strings.SplitSeq(name, separator) {
				if part = strings.TrimSpace(part); !slices.Contains(parts[i], part) {
					parts[i] = append(parts[i], part)
					classesWith[part]++
				}
			}
		}
		var joined []string
		for i, name := range m.LabelNames {
			occursOnce := func(part string) bool { return classesWith[part] < 2 }
			if len(parts[i]) > 1 && !slices.ContainsFunc(parts[i], occursOnce) {
				joined = append(joined, strconv.Quote(name))
			}
		}
		if len(joined) > 0 {
			lists := "look like lists"
			if len(joined) == 1 {
				lists = "looks like a list"
			}
			return fmt.Sprintf("%d of %d classes %s of labels: %s; "+
				"split them with --label-separator '%s' (a row with an empty string then has no label)",
				len(joined), len(m.LabelNames), lists, shortList(joined, maxNamed), separator)
		}
	}
	return ""
}

// rareWarning warns of classes with fewer than fewRows rows in a data set of at least manyRows rows.
// Such classes may come from wrong labels or an unrelated file. It omits the classes of [singleNames],
// for which there is another warning.
func rareWarning(m *seq.Manifest) string {
	var rare []string
	total, single := int64(0), singleNames(m, usedNames(m))
	for _, name := range m.LabelNames {
		rows := int64(0)
		for _, split := range m.Splits {
			rows += split.Labels[name]
		}
		if total += rows; rows < fewRows && !slices.Contains(single, name) {
			rare = append(rare, fmt.Sprintf("%s (%d)", name, rows))
		}
	}
	if len(rare) == 0 || total < manyRows {
		return ""
	}
	return fmt.Sprintf("only a few of %d rows have the classes %s: a model cannot learn them, and they may be wrong "+
		"labels; keep only the other classes with --labels NAME,…", total, strings.Join(rare, ", "))
}
