package main

import (
	"fmt"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/urfave/cli/v2"
	"golang.org/x/text/cases"
	"golang.org/x/text/encoding/charmap"
	"golang.org/x/text/unicode/norm"

	"github.com/sftseq/sftseq/seq"
)

// maxNamed is the maximum number of classes named in a warning.
const maxNamed = 20

// warnClasses prints the warnings of [nameWarnings] and [absentWarnings].
func warnClasses(c *cli.Context, m *seq.Manifest) {
	printWarnings(c, append(nameWarnings(m), absentWarnings(m, singleNames(m, usedNames(m)))...))
}

func printWarnings(c *cli.Context, warnings []string) {
	for _, text := range warnings {
		fmt.Fprintf(c.App.ErrWriter, "warning: %s\n", text)
	}
}

// nameWarnings warns of probably unintended targets: class names that look alike, classes without
// rows or with one row, a single class, and the targets of [numberWarnings] and [missingWarnings].
func nameWarnings(m *seq.Manifest) (out []string) {
	if similar := similarNames(m.LabelNames); len(similar) > 0 {
		out = append(out, fmt.Sprintf("these names look alike but are different classes: %s; if they mean the same "+
			"class, use one spelling in the table",
			shortList(similar, maxNamed)))
	}
	out = append(out, numberWarnings(m)...)
	noun, rows := labelNouns(m)
	if noun == "" {
		return out
	}
	out = append(out, missingWarnings(m)...)
	used := usedNames(m)
	isUsed := make(map[string]bool, len(used))
	for _, name := range used {
		isUsed[name] = true
	}
	if unused := slices.DeleteFunc(slices.Clone(m.LabelNames),
		func(name string) bool { return isUsed[name] }); len(unused) > 0 {
		verb := "have"
		if len(unused) == 1 {
			verb = "has"
		}
		out = append(out, fmt.Sprintf("%d of %d %s %s no %s in any split: %s", len(unused), len(m.LabelNames), noun,
			verb, rows, shortList(unused, maxNamed)))
	}
	if text := singleWarning(m, used); text != "" {
		out = append(out, text)
	}
	filled := slices.DeleteFunc(m.SplitNames(), func(split string) bool { return m.Splits[split].Rows == 0 })
	if len(used) == 1 && len(filled) > 1 && m.Task == seq.Tagging {
		out = append(out, fmt.Sprintf("all tokens have the same tag, %s, so train has nothing to learn", used[0]))
	}
	if m.Task == seq.Classification && len(used) == 1 && len(filled) > 1 { // a single split may be rows for predict
		out = append(out, fmt.Sprintf("all rows have the same class, %s, so train has nothing to learn and an "+
			"accuracy of 100%% is meaningless", used[0]))
	}
	return out
}

// singleNames returns the classes whose only row is in train, if several splits have rows. It returns
// nil for tags, because a manifest counts the tokens of a tag, not its rows.
func singleNames(m *seq.Manifest, used []string) []string {
	filled := 0
	for _, info := range m.Splits {
		if info.Rows > 0 {
			filled++
		}
	}
	if filled < 2 || m.Task == seq.Tagging {
		return nil
	}
	// absentWarnings names the classes that train lacks.
	return slices.DeleteFunc(slices.Clone(used), func(name string) bool {
		rows := int64(0)
		for _, info := range m.Splits {
			rows += info.Labels[name]
		}
		return rows > 1 || m.Splits["train"].Labels[name] == 0
	})
}

// singleWarning returns a warning about the classes of [singleNames], or "".
func singleWarning(m *seq.Manifest, used []string) string {
	single := singleNames(m, used)
	switch len(single) {
	case 0:
		return ""
	case 1:
		return fmt.Sprintf("1 class has only one row, in train: %s; the validation and test splits do not measure "+
			"it", single[0])
	}
	return fmt.Sprintf("%d classes have only one row, in train: %s; the validation and test splits do not measure "+
		"them", len(single),
		shortList(single, maxNamed))
}

// usedNames returns the classes that have rows, or the tags that have tokens.
func usedNames(m *seq.Manifest) []string {
	return slices.DeleteFunc(slices.Clone(m.LabelNames), func(name string) bool {
		return !slices.ContainsFunc(m.SplitNames(), func(split string) bool { return m.Splits[split].Labels[name] > 0 })
	})
}

// labelNouns returns the nouns for a task's labels and for the rows or tokens that have labels. It
// returns "" for a task without classes.
func labelNouns(m *seq.Manifest) (noun, rows string) {
	switch m.Task {
	case seq.Classification, seq.MultiLabel:
		return "classes", "row"
	case seq.Tagging:
		return "tags", "token"
	}
	return "", ""
}

// absentWarnings warns of classes or tags that the data set has, but that one of its splits lacks. The
// warnings about validation and test leave out the classes that train lacks, and the given ones.
func absentWarnings(m *seq.Manifest, leftOut []string) (out []string) {
	noun, rows := labelNouns(m)
	if noun == "" {
		return nil
	}
	used := usedNames(m)
	expected := used
	for _, split := range []string{"train", "val", "test"} {
		info := m.Splits[split]
		if info.Rows == 0 {
			continue
		}
		absent := slices.DeleteFunc(slices.Clone(expected), func(name string) bool { return info.Labels[name] > 0 })
		effect := "so it does not measure "
		if split == "train" {
			effect = "so models cannot learn "
			leftOut = slices.Concat(leftOut, absent)
			expected = slices.DeleteFunc(slices.Clone(used),
				func(name string) bool { return slices.Contains(leftOut, name) })
		}
		if len(absent) == 0 {
			continue
		}
		verb, them := "have", "them"
		if len(absent) == 1 {
			verb, them = "has", "it"
		}
		out = append(out, fmt.Sprintf("%d of %d %s %s no %s in %s, %s%s: %s", len(absent), len(m.LabelNames), noun,
			verb, rows, split, effect, them, shortList(absent, maxNamed)))
	}
	return out
}

// booleans maps lower-case spellings of booleans to true and false. Spellings with other meanings,
// such as "on", and single letters are in rareBooleans, which applies only if every name is a
// spelling of a boolean.
var booleans = map[string]string{"true": "true", "yes": "true", "false": "false", "no": "false"}

var rareBooleans = map[string]string{"t": "true", "y": "true", "on": "true", "f": "false", "n": "false", "off": "false"}

// similarNames groups names that differ only in case, white space, invisible characters, hyphens, dashes
// or underscores between words, Unicode normal form, a wrong decoding, surrounding quotes, number format
// such as "0" and "0.0", or the spelling of a boolean. It escapes the names of a group if any two of
// them print the same.
func similarNames(names []string) (groups []string) {
	keys, has, allBooleans := make([]string, len(names)), map[string]bool{}, true
	fold := cases.Fold()
	for i, name := range names {
		key := strings.Join(strings.Fields(fold.String(norm.NFKC.String(removeInvisible(repairEncoding(name))))), "-")
		if number, ok := canonicalNumber(key); ok {
			key = "number " + number
		} else {
			key = strings.NewReplacer("_", "-", "\u2010", "-", "\u2013", "-", "\u2014", "-").Replace(key)
			key = hyphenInWord.ReplaceAllString(strings.Trim(key, `"'`), "$1$2")
		}
		keys[i], has[key] = key, true
		allBooleans = allBooleans && (booleans[key]+rareBooleans[key] != "" || key == "number 0" || key == "number 1")
	}
	hasBooleanWord := has["true"] || has["false"] || has["yes"] || has["no"]
	byKey, order := map[string][]string{}, []string(nil)
	for i, name := range names {
		key := keys[i]
		switch {
		case booleans[key] != "":
			key = booleans[key]
		case allBooleans && rareBooleans[key] != "":
			key = rareBooleans[key]
		case (hasBooleanWord || allBooleans) && key == "number 1":
			key = "true"
		case (hasBooleanWord || allBooleans) && key == "number 0":
			key = "false"
		}
		if byKey[key] == nil {
			order = append(order, key)
		}
		byKey[key] = append(byKey[key], name)
	}
	for _, key := range order {
		same := byKey[key]
		if len(same) < 2 {
			continue
		}
		format, shown := "%q", map[string]bool{}
		for _, name := range same {
			shown[norm.NFC.String(removeInvisible(name))] = true
		}
		if len(shown) < len(same) { // two names look the same
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

// hyphenInWord matches hyphens between a letter and another letter or digit.
var hyphenInWord = regexp.MustCompile(`(\p{L})-+([\p{L}\d])`)

// removeInvisible returns a name without invisible characters.
func removeInvisible(name string) string {
	return strings.Map(func(r rune) rune {
		if unicode.Is(unicode.Cf, r) || unicode.IsControl(r) && !unicode.IsSpace(r) {
			return -1
		}
		return r
	}, name)
}

// repairEncoding repairs UTF-8 text that another program decoded as Windows-1252, such as cafÃ© for
// café. It returns other names unchanged.
func repairEncoding(name string) string {
	raw, err := charmap.Windows1252.NewEncoder().String(name)
	if err != nil || !utf8.ValidString(raw) {
		return name
	}
	return raw
}

// decimal matches a decimal number: its sign, integer digits, fraction digits and exponent.
var decimal = regexp.MustCompile(`^([+-]?)(\d*)\.?(\d*)(?:e([+-]?\d{1,9}))?$`)

// canonicalNumber returns the same text for all notations of a decimal number, and false for any other
// text.
func canonicalNumber(text string) (string, bool) {
	parts := decimal.FindStringSubmatch(text)
	if parts == nil || parts[2]+parts[3] == "" {
		return "", false
	}
	exponent, _ := strconv.Atoi(parts[4]) // "" counts as 0
	exponent -= len(parts[3])
	digits := strings.TrimLeft(parts[2]+parts[3], "0")
	significant := strings.TrimRight(digits, "0")
	exponent += len(digits) - len(significant)
	switch {
	case significant == "":
		return "0", true
	case parts[1] == "-":
		significant = "-" + significant
	}
	if exponent != 0 {
		significant += "e" + strconv.Itoa(exponent)
	}
	return significant, true
}
