package main

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/sftseq/sftseq/internal/must"
)

// TestGraphs generates graphs, trains a model on them, and checks that eval, predict, embed and serve
// accept the graphs. Graphs converted from the output of data head have the same predictions.
func TestGraphs(t *testing.T) {
	data, dir := filepath.Join(t.TempDir(), "data"), filepath.Join(t.TempDir(), "run")
	printed(t, "", "data", "generate", "graphs", "--out", data, "--train", "60", "--val", "10", "--test", "6",
		"--nodes", "16", "--degree", "2")
	printed(t, "", "train", "custom", "--members", "sft", "--data", data, "--out", dir, "--epochs",
		"2", "--k", "8", "--hidden",
		"16", "--intermediate", "16")
	config, err := os.ReadFile(filepath.Join(dir, "config.json"))
	if err != nil || !strings.Contains(string(config), `"relative": "edges"`) ||
		!strings.Contains(string(config), `"edge_feature_names"`) {
		t.Errorf("got config %s, error %v, want relative edges and edge_feature_names", config, err)
	}
	printed(t, "", "eval", "--model", dir, "--data", data, "--split", "test")
	test, lines := filepath.Join(data, "test.arrow"), filepath.Join(t.TempDir(), "lines.jsonl")
	printed(t, "", "data", "info", test)
	must.Succeed(t, os.WriteFile(lines, []byte(printed(t, "", "data", "head", test, "--rows", "6")), 0o666))
	predictions := printed(t, "", "predict", "--model", dir, lines)
	replies := strings.Split(strings.TrimSpace(predictions), "\n")
	if len(replies) != 6 {
		t.Fatalf("%d replies, want 6", len(replies))
	}
	for _, line := range replies {
		var reply struct {
			Label         string    `json:"label"`
			Probabilities []float64 `json:"probabilities"`
			Length        int       `json:"length"`
		}
		if err := json.Unmarshal([]byte(line), &reply); err != nil || reply.Label == "" ||
			len(reply.Probabilities) != 3 || reply.Length < 8 {
			t.Errorf("got reply %s, error %v, want a label, 3 probabilities and a length of at least 8", line, err)
		}
	}
	occurs(t, printed(t, "", "embed", "--model", dir, lines), `"embedding"`, 6)
	refuse(t, exitError, "tables have no edges: expected JSON lines", "", "predict", "--model", dir, "--input", test)
	again := filepath.Join(t.TempDir(), "again")
	printed(t, "", "data", "convert", "graph", "--from", lines, "--to", again, "--split", "0,0,1", "--labels",
		"like,mixed,unlike", "--feature-names", "kind", "--edge-feature-names", "length")
	printed(t, "", "eval", "--model", dir, "--data", again, "--split", "test")
	same := filepath.Join(t.TempDir(), "same.jsonl")
	must.Succeed(t, os.WriteFile(same, []byte(printed(t, "", "data", "head", filepath.Join(again, "test.arrow"))),
		0o666))
	ids := regexp.MustCompile(`"id":"(\d)"`) // data head prints ids as strings
	equal(t, ids.ReplaceAllString(printed(t, "", "predict", "--model", dir, same), `"id":$1`), predictions)
	printed(t, "", "export", "pytorch", dir, "--output", dir+"-pytorch")
	printed(t, "", "import", "pytorch", dir+"-pytorch", "--output", dir+"-back")
	equal(t, printed(t, "", "predict", "--model", dir+"-back", lines), predictions)
	tables := filepath.Join(t.TempDir(), "tables")
	printed(t, "", "data", "convert", "graph", "--from", filepath.Join(data, "train.arrow"),
		"--from", test, "--to", tables)
	contains(t, printed(t, "", "data", "info", tables), "kind of each token", "unlike ")
	scored := filepath.Join(t.TempDir(), "scored.arrow")
	printed(t, "", "predict", "--model", dir, "--input", test, "--output", scored)
	if _, err := os.Stat(scored); err != nil {
		t.Error(err)
	}
	clouds := filepath.Join(t.TempDir(), "clouds")
	printed(t, "", "data", "generate", "shapes", "--out", clouds, "--train", "0", "--val", "0",
		"--test", "2", "--points", "4")
	for want, args := range map[string][]string{
		"--relative edges: expected another value, because the tokens have no edges": {"train", "custom", "--members",
			"sft",
			"--data", clouds, "--out",
			dir + "2", "--relative", "edges"},
		"expected a regular file, because graphs are read several times": {"data", "convert", "graph",
			"--from", "-", "--to", dir + "3"},
		"expected a degree of 1 to": {"data", "generate", "graphs", "--out",
			dir + "4", "--degree", "99"},
	} {
		contains(t, failing(t, "", args...), want)
	}
	for want, line := range map[string]string{
		"expected edges, a list of source, target, length for each edge": `{"features":[[1]]}`,
		"edge 0 connects tokens 0 and 1, expected tokens from 0 to 0":    `{"features":[[1]],"edges":[[0,1,1]]}`,
		"edges: edge 0: source: expected a token's index":                `{"features":[[1]],"edges":[["0",0,1]]}`,
	} {
		bad := filepath.Join(t.TempDir(), "bad.jsonl")
		must.Succeed(t, os.WriteFile(bad, []byte(line), 0o666))
		if _, out, _ := program(nil, "predict", "--model", dir, bad); !strings.Contains(out, want) {
			t.Errorf("%s: %s, expected %s", line, out, want)
		}
	}
	checkServeAsPredict(t, dir, lines)
	checkReportPictures(t, dir, "nodes; pooling weights")
}

// TestFewGraphs checks that data convert warns of empty splits and names the cause, and that it refuses a
// random walk of too many steps.
func TestFewGraphs(t *testing.T) {
	dir := t.TempDir()
	lines := writeText(t, filepath.Join(dir, "g.jsonl"),
		`{"features":[[1]],"edges":[[0,0]],"label":"a","part":"train"}`+"\n"+
			`{"features":[[2]],"edges":[[0,0]],"label":"b","part":"train"}`+"\n")
	for i, c := range []struct {
		want  string
		flags []string
	}{
		{"warning: no row was assigned to val or test, because each class keeps at least one row in train, and too few " +
			"other distinct rows remain: add rows\n", []string{"--split", "0.9999,0.00005,0.00005"}},
		{"warning: the split val is empty, and training needs it: no graph has this name in the field \"part\"\n",
			[]string{"--split-field", "part"}},
	} {
		_, errs := exits(t, exitOK, "",
			append([]string{"data", "convert", "graph", "--from", lines, "--to", filepath.Join(dir, fmt.Sprint(i))},
				c.flags...)...)
		contains(t, errs, c.want)
	}
	refuse(t, exitUsage, "--random-walk 257: expected 1 to 256 steps", "", "data", "convert", "graph", "--from", lines,
		"--to", filepath.Join(dir, "walk"), "--random-walk", "257")
}
