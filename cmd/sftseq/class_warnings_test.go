package main

import (
	"fmt"
	"path/filepath"
	"strings"
	"testing"
)

// TestSimilarNames checks that similarNames groups names that a reader would take for the same name.
func TestSimilarNames(t *testing.T) {
	for _, c := range []struct {
		names []string
		want  string
	}{
		{[]string{"0", "0.0", "1", "1.0"}, `["0" and "0.0" "1" and "1.0"]`},
		{[]string{"1e3", "1000", "-0", "0"}, `["1e3" and "1000" "-0" and "0"]`},
		{[]string{"FALSE", "False", "True", "true"}, `["FALSE" and "False" "True" and "true"]`},
		{[]string{"spam", "spam  mail", "Spam mail"}, `["spam  mail" and "Spam mail"]`},
		{[]string{"caf\u00e9", "cafe\u0301"}, `["caf\u00e9" and "cafe\u0301"]`},
		{[]string{"STRASSE", "stra\u00dfe"}, `["STRASSE" and "straße"]`},
		{[]string{"9007199254740993", "9007199254740992", "123456789012345678901", "123456789012345678902",
			"inf", "infinity"}, `[]`},
		{[]string{"9007199254740993", "9007199254740993.0", "+1.50e2", "150", "-1", "1"},
			`["9007199254740993" and "9007199254740993.0" "+1.50e2" and "150"]`},
		{[]string{"true", "1", "false", "0.0"}, `["true" and "1" "false" and "0.0"]`},
		{[]string{"yes", "TRUE", "true", "no"}, `["yes" and "TRUE" and "true"]`},
		{[]string{"Y", "N", "1", "0"}, `["Y" and "1" "N" and "0"]`},
		{[]string{"on", "off", "t", "f"}, `["on" and "t" "off" and "f"]`},
		{[]string{"yes", "no", "maybe", "0", "1", "2"}, `["yes" and "1" "no" and "0"]`},
		{[]string{"0", "1", "f", "n", "t", "y", "z", "on"}, `[]`},
		{[]string{"not spam", "not_spam", "Not-Spam", "A-", "A"}, `["not spam" and "not_spam" and "Not-Spam"]`},
		{[]string{"a", "b", "10", "100", "v1", "v1.0"}, `[]`},
		{[]string{"b", "b\u200b", "a\x00", "a"}, `["b" and "b\u200b" "a\x00" and "a"]`},
		{[]string{"'a'", `"a"`, "a", "b"}, `["'a'" and "\"a\"" and "a"]`},
		{[]string{"caf\u00e9", "caf\u00c3\u00a9", "na\u00efve"}, `["café" and "cafÃ©"]`},
		{[]string{"non-fiction", "Nonfiction", "5 kg", "5kg", "2024-01-01", "20240101"},
			`["non-fiction" and "Nonfiction"]`},
	} {
		if got := fmt.Sprint(similarNames(c.names)); got != c.want {
			t.Errorf("%q: got %s, want %s", c.names, got, c.want)
		}
	}
}

// TestClassWarnings checks that convert and train print each warning about suspicious classes exactly
// once.
func TestClassWarnings(t *testing.T) {
	rows := func(split string, label ...string) (text string) {
		for i := range 40 {
			text += fmt.Sprintf("%s of row %d,%s,%s\n", split, i, label[i%len(label)], split)
		}
		return text
	}
	for _, c := range []struct {
		name, table string
		flags       []string
		want        []string
	}{
		{"numbers in two forms", rows("train", "0", "1") + rows("val", "0", "1") + rows("test",
			"0.0", "1.0"), nil, []string{
			`these names look alike but are different classes: "0" and "0.0", "1" and "1.0"; if they mean the same class, `,
			"2 of 4 classes have no row in train, so models cannot learn them: 0.0, 1.0\n",
			"2 of 4 classes have no row in test, so it does not measure them: 0, 1\n"}},
		{"one class", rows("train", "good") + rows("val", "good") + rows("test", "good"), nil,
			[]string{"all rows have the same class, good, so train has nothing to learn"}},
		{"a class without rows", rows("train", "good", "bad") + rows("val", "good", "bad") + rows("test", "good",
			"bad"), []string{"--labels", "bad,good,ugly"},
			[]string{"1 of 3 classes has no row in any split: ugly\n"}},
		{"a class only in test", rows("train", "a", "b") + rows("val", "a", "b") + rows("test", "a", "b", "c"),
			nil, []string{"1 of 3 classes has no row in train, so models cannot learn it: c\n"}},
		{"a label only in test, with several labels per row", rows("train", "a", "b") + rows("val", "a", "a|b") +
			rows("test", "a", "b|c"), []string{"--label-separator", "|"},
			[]string{"1 of 3 classes has no row in train, so models cannot learn it: c\n"}},
		{"a class of one row", rows("train", "a", "b") + "x,rare,train\n" + rows("val", "a",
			"b") + rows("test", "a", "b"), nil,
			[]string{"1 class has only one row, in train: rare; the validation and test splits do not measure it\n"}},
		{"a class of one row among a thousand",
			strings.Repeat(rows("train", "a", "b"), 30) + "x,rare,train\n" + rows("val", "a", "b"), nil,
			[]string{"1 class has only one row, in train: rare; the validation and test splits do not measure it\n"}},
		{"labels of one row", rows("train", "a", "b") + "x,rare|odd,train\n" + rows("val", "a", "b"),
			[]string{"--label-separator", "|"},
			[]string{"2 classes have only one row, in train: odd, rare; the validation and test splits do not " +
				"measure them\n"}},
		{"names of missing values", rows("train", "a", "NaN") + rows("val", "a", "NaN") + rows("test", "a", "NaN"), nil,
			[]string{"2 classes include names that often mark a missing value: \"NaN\" (60); "}},
		{"a class of two splits", rows("train", "a", "b", "c") + rows("val", "a", "b", "c") + rows("test", "a"), nil,
			[]string{"2 of 3 classes have no row in test, so it does not measure them: b, c\n"}},
		{"a class of train", rows("train", "a", "b", "c") + "x,rare,train\n" + rows("val", "a", "b") +
			rows("test", "a", "b"), nil,
			[]string{"1 class has only one row, in train: rare; ",
				"1 of 4 classes has no row in val, so it does not measure it: c\n",
				"1 of 4 classes has no row in test, so it does not measure it: c\n"}},
		{"lost characters", rows("train", "a", "caf\ufffd") + rows("val", "a", "caf\ufffd") +
			rows("test", "a", "caf\ufffd"), nil,
			[]string{"names of classes contain U+FFFD, which replaces bytes that a program could not decode: " +
				"\"caf\ufffd\" (60); "}},
		{"numbers beside labels", rows("train", "a", "a|3") + rows("val", "a|3"), []string{"--label-separator", "|"},
			[]string{"1 of 2 labels are numbers and the others are names: 3; ",
				"all 40 rows of train have 1 of the 2 labels, so models cannot learn these: a\n"}},
		{"none", rows("train", "good", "bad") + rows("val", "good", "bad") + rows("test", "good", "bad"), nil, nil},
	} {
		t.Run(c.name, func(t *testing.T) {
			dir := t.TempDir()
			data := filepath.Join(dir, "data")
			table := writeText(t, filepath.Join(dir, "t.csv"), "text,label,split\n"+c.table)
			_, converted := exits(t, exitOK, "",
				append([]string{"data", "convert", "--from", table, "--to", data, "--text", "text", "--label", "label",
					"--split-column", "split", "--tokenizer", "byte", "--no-baselines"}, c.flags...)...)
			_, trained := exits(t, exitOK, "", "train", "custom", "--members", "sft", "--data", data, "--out",
				filepath.Join(dir, "run"),
				"--steps", "1", "--hidden", "8", "--k", "4", "--device", "cpu")
			for command, output := range map[string]string{"convert": converted, "train": trained} {
				for _, want := range c.want {
					if n := strings.Count(output, "warning: "+want); n != 1 {
						t.Errorf("%s: got %d warnings %q, want 1, in\n%s", command, n, want, output)
					}
				}
				if n := strings.Count(output, "warning: "); n != len(c.want) {
					t.Errorf("%s: got %d warnings, want %d, in\n%s", command, n, len(c.want), output)
				}
			}
		})
	}
}

// TestTagWarnings checks that convert and train warn of tags without a token in the training split or
// in any split.
func TestTagWarnings(t *testing.T) {
	dir := t.TempDir()
	rows := "{\"text\":\"ann sees bob\",\"tag\":\"P V P\",\"split\":\"train\"}\n{\"text\":\"bob sees\",\"tag\":\"P V\",\"split\":\"val\"}\n" +
		"{\"text\":\"bob sees oslo\",\"tag\":\"P V L\",\"split\":\"test\"}\n"
	data, from := filepath.Join(dir, "data"), writeText(t, filepath.Join(dir, "t.jsonl"), rows)
	_, converted := exits(t, exitOK, "", "data", "convert", "--from", from, "--to", data, "--text", "text", "--tags",
		"tag", "--split-column", "split", "--labels", "L,P,V,X", "--no-baselines")
	_, trained := exits(t, exitOK, "", "train", "custom", "--members", "sft", "--data", data, "--out",
		filepath.Join(dir, "run"), "--steps",
		"1", "--hidden", "8", "--k", "4", "--device", "cpu")
	for _, output := range []string{converted, trained} {
		contains(t, output, "warning: 1 of 4 tags has no token in any split: X\n",
			"warning: 1 of 4 tags has no token in train, so models cannot learn it: L\n")
	}
}

// TestNumberWarnings checks that convert and train warn of constant numbers, of numbers that float32
// stores too coarsely, and of numbers whose test mean is so far from the training mean that the units
// may differ.
func TestNumberWarnings(t *testing.T) {
	dir, text := t.TempDir(), "text,n,m,k,split\n"
	for i := range 30 {
		text += fmt.Sprintf("a%d,5,%d,17000%05d,train\nb%d,5,%d,1700001000,val\nc%d,5,%d,1700001000,test\n", i,
			i, 200*i, i, i, i, 1000*i)
	}
	data := filepath.Join(dir, "data")
	_, converted := exits(t, exitOK, "", "data", "convert", "--from", writeText(t, filepath.Join(dir, "t.csv"), text),
		"--to", data, "--text", "text", "--numbers", "n,m,k",
		"--split-column", "split", "--tokenizer", "byte", "--no-baselines")
	_, trained := exits(t, exitOK, "", "train", "custom", "--members", "sft", "--data", data, "--out",
		filepath.Join(dir, "run"), "--steps",
		"1", "--hidden", "8", "--k", "4", "--device", "cpu")
	for _, output := range []string{converted, trained} {
		contains(t, output, "warning: number n is 5 in all 30 rows of train, so models cannot learn it\n",
			"warning: number k has a standard deviation of only ", ", but float32 stores it in steps of about "+
				"2e+02: subtract a constant\n",
			"warning: number m has the mean 14500 in test, but 14.5 with standard deviation 8.65544 in train: check "+
				"that both use the same units\n")
	}
}

// TestGraphWarnings checks that convert warns of similar class names in a data set of graphs, too.
func TestGraphWarnings(t *testing.T) {
	dir, text := t.TempDir(), ""
	for i := range 40 {
		text += fmt.Sprintf(`{"features":[[%d],[1]],"edges":[[0,1],[1,0]],"label":"%s"}`+"\n", i,
			[]string{"a", "A "}[i%2])
	}
	_, output := exits(t, exitOK, "", "data", "convert", "graph", "--from", writeText(t, filepath.Join(dir, "g.jsonl"),
		text), "--to", filepath.Join(dir, "data"), "--no-baselines")
	contains(t, output, `warning: these names look alike but are different classes: "A " and "a"`)
}

// TestTypeWarning checks that convert warns of span types that occur only once, because they are
// probably names.
func TestTypeWarning(t *testing.T) {
	dir, fasta, bed := t.TempDir(), "", ""
	for i := range 40 {
		fasta += fmt.Sprintf(">c%d\n%s\n", i, strings.Repeat("ACGT", i+2))
		bed += fmt.Sprintf("c%d\t1\t5\tgene%d\n", i, i)
	}
	few := strings.Join(strings.SplitAfter(bed, "\n")[:3], "")
	for want, text := range map[string]string{"40 types for 40 spans": bed, "3 types for 3 spans": few} {
		_, output := exits(t, exitOK, "", "data", "convert", "--from", writeText(t, filepath.Join(dir, "g.fa"), fasta),
			"--intervals", writeText(t, filepath.Join(dir, "b.bed"), text),
			"--to", filepath.Join(t.TempDir(), "data"), "--no-baselines")
		contains(t, output, "warning: "+want+", for example ", "the label of a BED interval is column 4")
	}
}
