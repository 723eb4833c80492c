package main

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/sftseq/sftseq/internal/must"
	"github.com/sftseq/sftseq/seq"
)

// converted runs data convert and returns the data set, standard output and standard error.
func converted(t *testing.T, args ...string) (*seq.Dataset, string, string) {
	t.Helper()
	to := filepath.Join(t.TempDir(), "to")
	out, errs := exits(t, exitOK, "", append([]string{"data", "convert", "--to", to}, args...)...)
	return must.Get(seq.OpenDataset(to))(t), out, errs
}

// warned runs data convert and returns its standard error.
func warned(t *testing.T, args ...string) string {
	t.Helper()
	_, _, errs := converted(t, args...)
	return errs
}

// rowCounts formats the number of rows of each split.
func rowCounts(d *seq.Dataset) string {
	var out []string
	for _, split := range d.Manifest.SplitNames() {
		out = append(out, fmt.Sprintf("%s %d", split, d.Manifest.Splits[split].Rows))
	}
	return strings.Join(out, ", ")
}

// TestConvertFlatFolder checks that classes and splits in file names produce the same data set as
// folders.
func TestConvertFlatFolder(t *testing.T) {
	flat, folders := t.TempDir(), t.TempDir()
	for digit := range 3 {
		for number := range 12 {
			name, text := fmt.Sprintf("%d_jackson_%d.wav", digit, number), fmt.Sprintf("sound %d of %d", number, digit)
			split := map[bool]string{true: "test", false: "train"}[number < 5]
			dir := filepath.Join(folders, split, fmt.Sprint(digit))
			must.Succeed(t, os.MkdirAll(dir, 0o777))
			writeText(t, filepath.Join(flat, name), text)
			writeText(t, filepath.Join(dir, name), text)
		}
	}
	a, _, errs := converted(t, "--from", flat, "--id", "content", "--label", "path", "--label-pattern", `^([0-9])_`,
		"--split-column", "path", "--split-pattern", `(?<test>_[0-4]\.wav$)|(?<train>\.wav$)`, "--val-part", "0.2")
	b, _, _ := converted(t, "--from", folders, "--id", "content", "--split-column", "split", "--val-part", "0.2")
	if errs != "" || rowCounts(a) != rowCounts(b) || !strings.HasPrefix(rowCounts(a), "train 1") ||
		strings.Join(a.Manifest.LabelNames, "") != "012" || a.Manifest.Splits["test"].Rows != 15 {
		t.Errorf("%s, labels %q; want %s\n%s", rowCounts(a), a.Manifest.LabelNames, rowCounts(b), errs)
	}
	equal(t, a.Fingerprint(), b.Fingerprint())
	contains(t, warned(t, "--from", folders),
		"warning: "+folders+" has the splits test, train, but its rows are split again by --split: keep the "+
			"existing splits with --split-column split --val-part 0.1\n")
	equal(t, warned(t, "--from", filepath.Join(folders, "train")), "warning: 1 of 3 classes has no row in val, so it "+
		"does not measure it: 2\nwarning: 1 of 3 classes has no row in test, so it does not measure it: 2\n")
	want := "and 33 more\nexpected a subfolder for each class (or extract the class from file names with --label " +
		"path --label-pattern REGEX)\n"
	_, errs = exits(t, exitError, "", "data", "convert", "--from", flat, "--to", filepath.Join(t.TempDir(), "to"))
	equal(t, errs[max(0, len(errs)-len(want)):], want)
}

// TestConvertKinds checks that JSON lists and paths, other delimiters and a folder of shards produce the
// same data set as CSV, that lines of text are rows, and that JSON with a delimiter is an error.
func TestConvertKinds(t *testing.T) {
	dir := t.TempDir()
	path := func(name, text string) string {
		path := filepath.Join(dir, filepath.FromSlash(name))
		must.Succeed(t, os.MkdirAll(filepath.Dir(path), 0o777))
		return writeText(t, path, text)
	}
	path("shards/1.csv", "text,label\na b,x\n")
	path("shards/2.csv", "text,label\nc,y\n\"d, e\",x\n")
	want, _, _ := converted(t, "--from", path("x.csv", "text,label\na b,x\nc,y\n\"d, e\",x\n"), "--text", "text",
		"--label", "label", "--id", "text")
	for _, args := range [][]string{
		{"--from", path("semi.csv", "text;label\na b;x\nc;y\nd, e;x\n"), "--delimiter", ";", "--text", "text",
			"--label", "label", "--id", "text"},
		{"--from", path("tabs.txt", "text\tlabel\na b\tx\nc\ty\nd, e\tx\n"), "--format", "csv", "--delimiter", "tab",
			"--text", "text", "--label", "label", "--id", "text"},
		{"--from", path("list.json",
			`[{"doc":{"body":"a b"},"tags":["x","z"]},`+"\n"+
				`{"doc":{"body":"c"},"tags":["y"]},{"doc":{"body":"d, e"},"tags":["x"]}]`), "--text", "doc.body",
			"--label", "tags[0]", "--id", "doc.body"},
		{"--from", filepath.Join(dir, "shards"), "--text", "text", "--label", "label", "--id", "text"},
	} {
		got, _, _ := converted(t, args...)
		equal(t, got.Fingerprint(), want.Fingerprint(), args)
	}
	got, _, _ := converted(t, "--from", path("x.log", "one\n\ntwo\n"), "--split", "1,0,0")
	equal(t, rowCounts(got), "train 2")
	refuse(t, exitError, "found a delimiter for the format jsonl, expected CSV", "", "data", "convert", "--from", path("x.jsonl", "{}\n"), "--to",
		filepath.Join(dir, "to"), "--text", "text", "--delimiter", ";")
}

// TestConvertRareClasses checks that convert warns of a class with two of 1200 rows.
func TestConvertRareClasses(t *testing.T) {
	var text strings.Builder
	text.WriteString("text,label\n")
	for i := range 1200 {
		fmt.Fprintf(&text, "row %d,%s\n", i, map[bool]string{true: "readme", false: fmt.Sprint("c", i%2)}[i == 7 ||
			i == 900])
	}
	from := writeText(t, filepath.Join(t.TempDir(), "x.csv"), text.String())
	args := []string{"--from", from, "--text", "text", "--label", "label", "--no-baselines"}
	contains(t, warned(t, args...),
		"warning: only a few of 1200 rows have the classes readme (2): a model cannot learn them")
	notContains(t, warned(t, append(args, "--labels", "c0,c1")...), "warning")
}

// TestConvertManyClasses checks that convert warns of a label column that does not contain classes,
// and suggests a flag.
func TestConvertManyClasses(t *testing.T) {
	dir := t.TempDir()
	table := func(label func(i int) string) string {
		text := "text,label\n"
		for i := range 300 {
			text += fmt.Sprintf("row %d,%s\n", i, label(i))
		}
		return writeText(t, filepath.Join(dir, "x.csv"), text)
	}
	for _, c := range []struct {
		label func(i int) string
		args  []string
		want  string // text of the warning
	}{
		{func(i int) string { return fmt.Sprint(i) }, nil,
			`--label label has 300 classes for 300 rows, 1.0 rows per class, for example "0": these labels are numbers`},
		{func(i int) string { return fmt.Sprint(float64(i%30) / 4) }, nil,
			`--label label has 30 classes for 300 rows, 10.0 rows per class, for example "0": these labels are numbers`},
		{func(i int) string { return fmt.Sprintf("sample %d class=c%d", i, i%3) }, nil,
			"a model cannot learn a class from so few rows; extract the class from a longer text with " +
				"--label-pattern REGEX"},
		{func(i int) string { return fmt.Sprintf("['a%d' 'b']", i%25) }, nil,
			"25 of 25 classes look like lists of labels in a single string: \"['a0' 'b']\""},
		{func(i int) string { return []string{`"[""a"", ""b""]"`, `"[""b""]"`}[i%2] }, nil,
			"2 of 2 classes look like lists of labels in a single string: "},
		{func(i int) string { return []string{`"a, b"`, "a", "b"}[i%3] }, []string{"--label-separator", ";"},
			"1 of 3 classes looks like a list of labels: \"a, b\"; split them with --label-separator ','"},
		{func(i int) string { return []string{"sport", "sport;weather", "weather", ""}[i%4] }, nil,
			"1 of 3 classes looks like a list of labels: \"sport;weather\"; split them with --label-separator ';'"},
		{func(i int) string { return []string{`"a, b"`, `"b, c"`, `"a, c"`}[i%3] }, nil,
			"3 of 3 classes look like lists of labels: \"a, b\", \"a, c\", \"b, c\"; split them with " +
				"--label-separator ','"},
		{func(i int) string { return []string{"a|b", "a", "b"}[i%3] }, []string{"--label-separator", "|"}, ""},
		{func(i int) string { return []string{`"rock, pop"`, "jazz", "a;"}[i%3] }, nil, ""},
		{func(i int) string { return fmt.Sprintf("sample %d class=c%d", i, i%3) },
			[]string{"--label-pattern", `class=(\w+)`}, ""},
		{func(i int) string { return fmt.Sprint(i % 30) }, nil, ""},
		{func(i int) string { return fmt.Sprint(min(i/2, 2)) }, nil, ""}, // rare classes are normal in a small table
		{func(i int) string { return fmt.Sprint(float64(i%10) / 2) }, nil, ""},
		{func(i int) string { return fmt.Sprint(i) },
			[]string{"--labels", "1,2,3,4,5,6,7,8,9,10,11,12,13,14,15,16,17,18,19,20,21,22"}, ""},
	} {
		errs := warned(t, append([]string{"--from", table(c.label), "--text", "text", "--label", "label",
			"--split", "1,0,0"}, c.args...)...)
		contains(t, errs, c.want)
		equal(t, strings.Contains(errs, "warning: "), c.want != "", errs)
	}
}

// TestConvertLabelNames checks that --labels accepts a quoted name with a comma, and that joinLabels
// quotes this name.
func TestConvertLabelNames(t *testing.T) {
	from := writeText(t, filepath.Join(t.TempDir(), "x.csv"), "text,label\na,\"rock, pop\"\nb,jazz\nc,other\n")
	d, _, _ := converted(t, "--from", from, "--text", "text", "--label", "label", "--labels", `jazz, "rock, pop"`)
	equal(t, joinLabels(d.Manifest.LabelNames), `jazz,"rock, pop"`)
}

// TestConvertSplitColumn checks that convert warns if it randomly splits a table that has a split
// column.
func TestConvertSplitColumn(t *testing.T) {
	dir := t.TempDir()
	rows := "text,label,split\na,x,train\nb,y,test\nc,x,train\nd,y,dev\n"
	csv := writeText(t, filepath.Join(dir, "own.csv"), rows)
	lines := writeText(t, filepath.Join(dir, "own.jsonl"),
		`{"text":"a","label":"x","split":"validation"}`+"\n"+`{"text":"b","label":"y","split":"train"}`+"\n")
	none := writeText(t, filepath.Join(dir, "none.csv"), "text,label\na,x\nb,y\n")
	other := writeText(t, filepath.Join(dir, "other.csv"), strings.ReplaceAll(rows, ",train\n", ",0.5\n"))
	for path, first := range map[string]string{csv: "train", lines: "validation", none: "", other: ""} {
		want := fmt.Sprintf("warning: %s has a column split (first value %q), but its rows are split again by "+
			"--split: keep the existing splits with --split-column split\n", path, first)
		if _, _, errs := converted(t, "--from", path, "--text", "text", "--label", "label"); strings.Contains(errs,
			"has a column split") != (first != "") || first != "" && !strings.Contains(errs, want) {
			t.Errorf("%s: got warnings %q, want %q, or no such warning if the first value is empty", path, errs, want)
		}
	}
	set := writeText(t, filepath.Join(dir, "set.csv"), "text,label,the set\na,x,train\nb,y,\nc,x,Testing\n")
	phase := writeText(t, filepath.Join(dir, "phase.jsonl"),
		`{"text":"a","label":"x","phase":"test"}`+"\n"+`{"text":"b","label":"y","phase":"train"}`+"\n")
	for path, want := range map[string]string{
		set: "has a column the set (first value \"train\"), but its rows are split again by --split: keep the " +
			"existing splits with --split-column 'the set'", phase: "has a column phase (first value \"test\")",
		writeText(t, filepath.Join(dir, "one.csv"), "text,label,of\na,x,train\nb,y,train\n"):              "",
		writeText(t, filepath.Join(dir, "vehicles.csv"), "text,label,of\na,x,train\nb,y,test\nc,x,bus\n"): "",
	} {
		errs := warned(t, "--from", path, "--text", "text", "--label", "label")
		if strings.Contains(errs, "has a column") != (want != "") || !strings.Contains(errs, want) {
			t.Errorf("%s: got warnings %q, want %q", path, errs, want)
		}
	}
	for _, flags := range [][]string{{"--label", "label", "--split-column", "split"}, {"--label", "split"},
		{"--label", "label", "--split", "0.5,0.25,0.25"}} {
		notContains(t, warned(t, append([]string{"--from", csv, "--text", "text"}, flags...)...), "has a column split")
	}
}

// TestConvertSplitFiles checks that splitFiles finds files that are named after splits, as arguments or in
// a folder, and no other files. convert warns if it randomly splits a folder of such files, but keeps the
// splits of a folder of numbered shards.
func TestConvertSplitFiles(t *testing.T) {
	for _, c := range []struct {
		files []string
		warns bool
		keeps bool // whether converting the folder keeps the splits
	}{
		{[]string{"train.csv", "test.csv"}, true, false},
		{[]string{"train-00000-of-00001.csv", "validation-00000-of-00001.csv"}, true, true},
		{[]string{"reviews_train.csv", "reviews_test.csv"}, true, false},
		{[]string{"a.train.csv", "a.dev.csv"}, true, false},
		{[]string{"train/part-0.csv", "valid/part-1.csv"}, true, false},
		{[]string{"a_train.csv", "b_test.csv"}, false, false},
		{[]string{"part-0.csv", "part-1.csv"}, false, false},
		{[]string{"test.csv", "other.csv"}, false, false},
	} {
		dir := t.TempDir()
		var paths []string
		for _, name := range c.files {
			must.Succeed(t, os.MkdirAll(filepath.Dir(filepath.Join(dir, name)), 0o777))
			paths = append(paths, writeText(t, filepath.Join(dir, name), "text,label\na,x\nb,y\n"))
		}
		if got := splitFiles(paths, ""); (got != nil) != c.warns {
			t.Errorf("%q: got the split files %q, want some: %v", c.files, got, c.warns)
		}
		if got := splitFiles([]string{dir}, "csv"); (got != nil) != c.warns {
			t.Errorf("the folder of %q: got the split files %q, want some: %v", c.files, got, c.warns)
		}
		out := warned(t, "--from", dir, "--format", "csv", "--text", "text", "--label", "label")
		if strings.Contains(out, "have names of splits, but their rows are split again") != (c.warns && !c.keeps) ||
			strings.Contains(out, "keeping the splits") != c.keeps {
			t.Errorf("%q: got %q, want a warning: %v, want kept splits: %v", c.files, out, c.warns && !c.keeps, c.keeps)
		}
	}
}

// TestConvertBesideTrain checks that convert warns if it splits a single training file and the same
// folder has files of other splits, and that the flags in the warning read these files.
func TestConvertBesideTrain(t *testing.T) {
	dir := t.TempDir()
	for _, name := range []string{"reviews_train.csv", "reviews_validation.csv", "reviews_test.csv"} {
		rows := "text,label\n"
		for i := range 20 {
			rows += fmt.Sprintf("%s %d,%d\n", name, i, i%2)
		}
		writeText(t, filepath.Join(dir, name), rows)
	}
	train, flags := filepath.Join(dir, "reviews_train.csv"),
		[]string{"--text", "text", "--label", "label", "--no-baselines"}
	const pattern = "validation|train|test"
	contains(t, warned(t, append(flags, "--from", train)...),
		"the rows of "+train+" are split again by --split, and ",
		filepath.Join(dir, "reviews_test.csv")+", "+filepath.Join(dir,
			"reviews_validation.csv")+" beside it are not read: ",
		"--from "+dir+" --split-column path --split-pattern '")
	notContains(t, warned(t, append(flags, "--from", train, "--split", "1,0,0")...), "beside it")
	notContains(t, warned(t, append(flags, "--from", filepath.Join(dir, "reviews_test.csv"))...), "beside it")
	d, _, errs := converted(t, append(flags, "--from", dir, "--split-column", "path", "--split-pattern", pattern)...)
	equal(t, rowCounts(d), "train 20, val 20, test 20")
	notContains(t, errs, "split again")

	folder := warned(t, append(flags, "--from", dir)...)
	contains(t, folder, "have names of splits, but their rows are split again",
		"take the splits from the file names with --from "+dir+" --split-column path --split-pattern '"+pattern+"'")
	writeText(t, filepath.Join(dir, "other.csv"), "text,label\na,0\n")
	contains(t, warned(t, append(flags, "--from", train)...),
		"move these files to a folder, pass it with --from and take the splits from the file names with "+
			"--split-column path --split-pattern 'validation|train|test'")
}
