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

// TestHubConfigs: the tables of several configurations of a data set are refused, unless the default has all of them.
func TestHubConfigs(t *testing.T) {
	files := []string{"en/train-0.csv", "en/test-0.csv", "fr/train.csv", "fr/test.csv"}
	for _, test := range []struct {
		card    string
		files   []string
		refused string
	}{
		{hubConfigs, files, "found those of en, fr (%s:4)"},
		{strings.ReplaceAll(hubConfigs, "\n", "\r\n"), files, "found those of en, fr (%s:4)"},
		{hubConfigs, files[:2], ""},
		{"---\ndataset_info:\n- config_name: en\n- config_name: fr\n---\n", files, ""},
		{"configs:\n- config_name: en\n- config_name: fr\n", files, ""},
		{"---\nconfigs:\n  - config_name: en\n    data_dir: en\n  - config_name: fr\n    data_dir: ./fr\n---\n", files,
			"found those of en, fr (%s:3)"},
		{"---\nconfigs:\n- config_name: en\n  data_files: [\"en/*.csv\"]\n- config_name: all\n" +
			"  data_files:\n  - \"**/*.csv\"\n---\n", files, "found those of en, all (%s:3)"},
		{"---\nconfigs:\n- config_name: en\n  data_files: en/**\n- config_name: all\n  default: true\n---\n", files,
			""},
		{"---\nconfigs:\n- config_name: default\n  data_files: '**/*.csv'\n- config_name: en\n---\n", files, ""},
	} {
		all := map[string]string{"README.md": test.card}
		for _, name := range test.files {
			all[name] = "text\na\n"
		}
		dir := folder(t, all)
		_, err := read(dir, Options{Columns: []string{"text"}})
		want := test.refused
		if want != "" {
			want = fmt.Sprintf(want, filepath.Join(dir, "README.md"))
		}
		if (err != nil) != (want != "") || err != nil && !strings.Contains(err.Error(), want) {
			t.Errorf("%q: %v, want %q", test.card, err, want)
		}
	}
}

// TestHubConfigFolder: the folder of one configuration has its splits, though the card is beside it.
func TestHubConfigFolder(t *testing.T) {
	dir := folder(t, map[string]string{"README.md": hubConfigs, "en/train-0.csv": "text\na\n",
		"en/test-0.csv": "text\nb\n", "fr/train.csv": "text\nc\n"})
	got := must.Get(read(filepath.Join(dir, "en"), Options{Columns: []string{"text", "split"}}))(t)
	if strings.Join(got, "\n") != "2: b|test\n2: a|train" {
		t.Errorf("%q", got)
	}
}
