package table

import (
	"fmt"
	"path/filepath"
	"strings"
	"testing"

	"github.com/sftseq/sftseq/internal/must"
)

const hubConfigs = "---\nlicense: mit\nconfigs:\n- config_name: en  # English\n  data_files:\n  - split: train\n" +
	"    path: \"en/train-*\"\n  - split: test\n    path: en/test-*\n- config_name: fr\n  data_files: 'fr/*.csv'\n" +
	"dataset_info:\n- config_name: other\n---\n- config_name: text\n"

// TestHubConfigs checks that tables of several configurations are an error, unless the default
// configuration has all tables. Tables of one configuration beside tables of none are also an error.
func TestHubConfigs(t *testing.T) {
	files := []string{"en/train-0.csv", "en/test-0.csv", "fr/train.csv", "fr/test.csv"}
	for _, test := range []struct {
		card    string
		files   []string
		refused string
	}{
		{hubConfigs, files, "found tables of en, fr (%s:4)"},
		{strings.ReplaceAll(hubConfigs, "\n", "\r\n"), files, "found tables of en, fr (%s:4)"},
		{hubConfigs, files[:2], ""},
		{"---\nconfigs:\n- config_name: en\n  data_files: '[!f]*-train.csv'\n" +
			"- config_name: fr\n  data_files: f*.csv\n---\n",
			[]string{"en-train.csv", "fr-train.csv"}, "found tables of en, fr (%s:3)"},
		{"---\nconfigs:\n- config_name: en\n  data_files: [e*.csv]\n---\n", []string{"en.csv", "es.csv", "fr.csv"},
			"found tables of en and tables of no configuration, such as fr.csv (%s:3)"},
		{"---\ndataset_info:\n- config_name: en\n- config_name: fr\n---\n", files, ""},
		{"configs:\n- config_name: en\n- config_name: fr\n", files, ""},
		{"---\nconfigs:\n  - config_name: en\n    data_dir: en\n  - config_name: fr\n    data_dir: ./fr\n---\n", files,
			"found tables of en, fr (%s:3)"},
		{"---\nconfigs:\n- config_name: en\n  data_files: [\"en/*.csv\"]\n- config_name: all\n" +
			"  data_files:\n  - \"**/*.csv\"\n---\n", files, "found tables of en, all (%s:3)"},
		{"---\nconfigs:\n- config_name: en\n  data_files: en/**\n- config_name: all\n  default: true\n---\n", files,
			""},
		{"---\nconfigs:\n- config_name: default\n  data_files: '**/*.csv'\n- config_name: en\n---\n", files, ""},
	} {
		all := map[string]string{"README.md": test.card}
		for _, name := range test.files {
			all[name] = "text\na\n"
		}
		dir := writeFolder(t, all)
		_, err := readText(dir, Options{Columns: []string{"text"}})
		want := test.refused
		if want != "" {
			want = fmt.Sprintf(want, filepath.Join(dir, "README.md"))
		}
		if (err != nil) != (want != "") || err != nil && !strings.Contains(err.Error(), want) {
			t.Errorf("%q: got error %v, want %q", test.card, err, want)
		}
	}
}

// TestHubConfigAdvice checks that the error for several configurations suggests the folder of a
// configuration, or a table if the folder has other tables.
func TestHubConfigAdvice(t *testing.T) {
	for name, files := range map[string][]string{"en": {"en/train-0.csv", "en/test-0.csv", "fr/train.csv"},
		"en/train-0.csv": {"en/train-0.csv", "en/other.csv", "fr/train.csv"}} {
		all := map[string]string{"README.md": hubConfigs}
		for _, file := range files {
			all[file] = "text\na\n"
		}
		dir := writeFolder(t, all)
		must.Fail(t, "such as "+filepath.Join(dir, name)+" for en")(readText(dir, Options{Columns: []string{"text"},
			Format: "csv"}))
	}
}

// TestHubConfigFolder checks that the folder of one configuration has splits, although the card is
// in the parent folder.
func TestHubConfigFolder(t *testing.T) {
	dir := writeFolder(t, map[string]string{"README.md": hubConfigs, "en/train-0.csv": "text\na\n",
		"en/test-0.csv": "text\nb\n", "fr/train.csv": "text\nc\n"})
	got := must.Get(readText(filepath.Join(dir, "en"), Options{Columns: []string{"text", "split"}}))(t)
	if strings.Join(got, "\n") != "2: b|test\n2: a|train" {
		t.Errorf("got %q, want a row of test and a row of train", got)
	}
}

// TestHubConfigTwoFoldersBelow checks that a folder of one configuration has splits two levels below
// the card.
func TestHubConfigTwoFoldersBelow(t *testing.T) {
	card := strings.NewReplacer("en/", "data/en/", "fr/", "data/fr/").Replace(hubConfigs)
	dir := writeFolder(t, map[string]string{"README.md": card, "data/en/train-0.csv": "text\na\n",
		"data/en/test-0.csv": "text\nb\n", "data/fr/train.csv": "text\nc\n"})
	got := must.Get(readText(filepath.Join(dir, "data", "en"), Options{Columns: []string{"text", "split"}}))(t)
	if strings.Join(got, "\n") != "2: b|test\n2: a|train" {
		t.Errorf("got %q, want a row of test and a row of train", got)
	}
}

// TestHubConfigsBesideData checks that the tables in the folder data beside a card are refused if
// they belong to several configurations.
func TestHubConfigsBesideData(t *testing.T) {
	card := strings.NewReplacer("en/", "data/en-", "fr/", "data/fr-").Replace(hubConfigs)
	for files, rejected := range map[string]bool{"en-train-0 en-test-0": false,
		"en-train-0 en-test-0 fr-train fr-test": true} {
		all := map[string]string{"README.md": card}
		for _, name := range strings.Fields(files) {
			all["data/"+name+".csv"] = "text\na\n"
		}
		dir := writeFolder(t, all)
		_, err := readText(filepath.Join(dir, "data"), Options{Columns: []string{"text"}})
		if (err != nil) != rejected || rejected && !strings.Contains(err.Error(),
			fmt.Sprintf("found tables of en, fr (%s:4)", filepath.Join(dir, "README.md"))) {
			t.Errorf("%s: got error %v, want an error that names en and fr: %t", files, err, rejected)
		}
	}
}

// TestCardSplits checks that tables get the splits that the card names, but only if the card names a
// split for every table and train is one of several splits.
func TestCardSplits(t *testing.T) {
	for _, test := range []struct{ configs, want string }{
		{"- config_name: a\n  data_files:\n  - split: train\n    path: [one.csv, t*o.csv]\n" +
			"  - split: unlabelled\n    path: three.csv\n",
			"2: 1|train\n2: 3|unlabelled\n2: 2|train"},
		{"- config_name: a\n  data_files:\n    train: '[!t]*.csv'\n    test: t*.csv\n",
			"2: 1|train\n2: 3|test\n2: 2|test"},
		{"- config_name: a\n  data_files:\n    train: '*.csv'\n" +
			"- config_name: default\n  data_files:\n    train: one.csv\n    test: ['t*.csv']\n",
			"2: 1|train\n2: 3|test\n2: 2|test"},
		{"- config_name: a\n  data_files:\n    dev: '[!t]*.csv'\n    test: t*.csv\n", ""},
		{"- config_name: a\n  data_files:\n    train: '*.csv'\n", ""},
		{"- config_name: a\n  data_files:\n  - path: '*.csv'\n", ""},
	} {
		dir := writeFolder(t, map[string]string{"README.md": "---\nconfigs:\n" + test.configs + "---\n",
			"one.csv": "text\n1\n", "two.csv": "text\n2\n", "three.csv": "text\n3\n"})
		got, err := readText(dir, Options{Columns: []string{"text", "split"}})
		if strings.Join(got, "\n") != test.want || (err != nil) != (test.want == "") {
			t.Errorf("%q: got %q, error %v, want %q", test.configs, got, err, test.want)
		}
	}
}

// TestCardSplitsBesideData checks that the card's names of splits apply to the folder data beside it,
// and that the error for several configurations names a file that exists.
func TestCardSplitsBesideData(t *testing.T) {
	files := map[string]string{"data/one.csv": "text\n1\n", "data/two.csv": "text\n2\n",
		"README.md": "---\nconfigs:\n- config_name: a\n  data_files:\n    train: data/o*\n    test: data/t*\n---\n"}
	dir := filepath.Join(writeFolder(t, files), "data")
	got := must.Get(readText(dir, Options{Columns: []string{"text", "split"}}))(t)
	if strings.Join(got, " ") != "2: 1|train 2: 2|test" {
		t.Errorf("got %q, want a row of train and a row of test", got)
	}
	files["README.md"] = "---\nconfigs:\n- config_name: a\n  data_files: data/o*\n" +
		"- config_name: b\n  data_files: data/t*\n---\n"
	dir = filepath.Join(writeFolder(t, files), "data")
	must.Fail(t, "such as "+filepath.Join(dir, "one.csv")+" for a")(readText(dir, Options{Columns: []string{"text"}}))
}

// TestSplitsOfJSON checks that rows of JSON get the split and the path of their table, unless the
// first rows of the first table have fields of these names.
func TestSplitsOfJSON(t *testing.T) {
	const en, train = "en-00000-of-00001.jsonl", "train-00000-of-00001.jsonl"
	for first, want := range map[string]string{
		`{"text":"a"}`:                          "1: a|en|" + en + " 1: b|train|" + train,
		`{"text":"a","path":"x"}`:               "1: a|en|x 1: b|train|y",
		`{"text":"a"}` + "\n" + `{"path":null}`: "1: a|en|∅ 2: ∅|en|∅ 1: b|train|y",
		`{"text":"a","split":"s","path":"x"}`:   "1: a|s|x 1: b|z|y",
	} {
		for _, format := range []string{"jsonl", "json"} {
			dir := writeFolder(t, map[string]string{"README.md": "---\n---\n", en: first + "\n",
				train: `{"text":"b","split":"z","path":"y"}` + "\n"})
			got, err := readText(dir, Options{Columns: []string{"text", "split", "path"}, Format: format})
			if strings.Join(got, " ") != want || err != nil {
				t.Errorf("%s: %s: got %q, error %v, want %q", format, first, got, err, want)
			}
		}
	}
}

// TestSplitsOfBrokenJSON checks that an invalid first row is reported as an error of that row.
func TestSplitsOfBrokenJSON(t *testing.T) {
	dir := writeFolder(t, map[string]string{"README.md": "---\n---\n", "en-00000-of-00001.jsonl": `{"text":` + "\n",
		"train-00000-of-00001.jsonl": `{"text":"b"}` + "\n"})
	got := must.Get(readText(dir, Options{Columns: []string{"split", "text"}}))(t)
	if strings.Join(got, " ") != "1! malformed JSON at byte 8: unexpected end of JSON input 1: train|b" {
		t.Errorf("got %q, want an error and a row", got)
	}
}
