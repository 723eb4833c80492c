package main

import (
	"encoding/json"
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/sftseq/sftseq/internal/must"
	"github.com/sftseq/sftseq/internal/testenv"
)

// seriesRow returns a noisy series of 40 steps with values around 5,000. A ramp of 12 steps at a random
// position rises in class up and falls in class down.
func seriesRow(random *rand.Rand, up bool) (values []string) {
	start := random.IntN(40 - 12)
	for i := range 40 {
		v := random.NormFloat64() * 0.05
		if at := float64(i - start); at >= 0 && at < 12 {
			v += map[bool]float64{true: at - 5.5, false: 5.5 - at}[up] / 6
		}
		values = append(values, strconv.FormatFloat(5000+1000*v, 'f', 1, 64))
	}
	return values
}

// TestSeries trains a model with convolutions on a table of series. It checks that predictions are the
// same for series in lists, in texts and in columns of steps.
func TestSeries(t *testing.T) {
	testenv.NoRace(t, "trains with code that the tests of package train cover")
	dir := t.TempDir()
	path := func(name string) string { return filepath.Join(dir, name) }
	random := rand.New(rand.NewPCG(1, 2))
	var lists, text, steps strings.Builder
	text.WriteString("id,value,class\n")
	steps.WriteString("id,class")
	for i := range 40 {
		fmt.Fprintf(&steps, ",t%d", i)
	}
	for i := range 400 {
		class := []string{"down", "up"}[i%2]
		values := seriesRow(random, i%2 == 1)
		fmt.Fprintf(&lists, "{\"id\":\"r%d\",\"value\":[%s],\"class\":%q}\n", i, strings.Join(values, ", "), class)
		fmt.Fprintf(&text, "r%d,[%s],%s\n", i, strings.Join(values, " "), class)
		fmt.Fprintf(&steps, "\nr%d,%s,%s", i, class, strings.Join(values, ","))
	}
	tables := map[string]string{"value": writeText(t, path("a.jsonl"), lists.String()),
		"t*": writeText(t, path("b.csv"), steps.String())}
	writeText(t, path("c.csv"), text.String())
	for series, table := range tables {
		data := path(filepath.Base(table)) + "-data"
		done(t, "", "data", "convert", "--from", table, "--to", data, "--name", "s", "--series", series, "--label",
			"class", "--id", "id", "--split", "0.6,0.2,0.2", "--no-baselines")
	}
	for _, split := range []string{"train", "val", "test"} {
		a, b := must.Get(os.ReadFile(filepath.Join(path("a.jsonl-data"), split+".arrow")))(t),
			must.Get(os.ReadFile(filepath.Join(path("b.csv-data"), split+".arrow")))(t)
		if string(a) != string(b) {
			t.Errorf("%s: the files from lists and from columns of steps differ", split)
		}
	}
	model := path("model")
	if output := runCustom(t, path("a.jsonl-data"), model, "--epochs", "12", "--device",
		"cpu"); !strings.Contains(output, "convolutions 7") {
		t.Errorf("\"convolutions 7\" is missing in\n%s", output)
	}
	var result struct{ Accuracy float64 }
	if err := json.Unmarshal([]byte(done(t, "", "eval", "--model", model, "--data", path("a.jsonl-data"), "--json")),
		&result); err != nil || result.Accuracy < 0.95 {
		t.Errorf("got accuracy %v, error %v, want at least 0.95", result.Accuracy, err)
	}
	var first string
	for _, c := range [][2]string{{path("a.jsonl"), "value"}, {path("b.csv"), "t*"}, {path("c.csv"), "value"},
		{path("a.jsonl-data/test.arrow"), ""}} {
		args := []string{"predict", "--model", model, "--input", c[0], "--output", path("out.csv")}
		if c[1] != "" {
			args = append(args, "--series", c[1], "--id", "id")
		}
		done(t, "", args...)
		got := readText(t, path("out.csv"))
		switch {
		case c[1] == "":
			contains(t, got, "up", "down")
		case first == "":
			first = got
			occurs(t, got, "\n", 401)
		case got != first:
			t.Errorf("%s: the predictions differ from those for a.jsonl", c[0])
		}
	}
	done(t, "", "predict", "--model", model, "--input", path("a.jsonl"), "--series", "value", "--keep", "value",
		"--output", path("kept.jsonl"))
	var kept struct{ Value, Original []float64 }
	line, _, _ := strings.Cut(readText(t, path("kept.jsonl")), "\n")
	original, _, _ := strings.Cut(strings.Replace(lists.String(), "value", "original", 1), "\n")
	if err := errors.Join(json.Unmarshal([]byte(line), &kept), json.Unmarshal([]byte(original), &kept)); err != nil ||
		len(kept.Value) != 40 || !slices.Equal(kept.Value, kept.Original) {
		t.Errorf("got line %s, error %v, want the value of %s", line, err, original)
	}
	flat := strings.Join(seriesRow(random, true), ",")
	nested := "[" + strings.ReplaceAll(flat, ",", "],[") + "]"
	if a, b := done(t, `{"features":[`+flat+`]}`+"\n", "predict", "--model", model),
		done(t, `{"features":[`+nested+`]}`+"\n", "predict", "--model", model); a != b ||
		!strings.Contains(a, `"label":"up"`) {
		t.Errorf("got %s for numbers and %s for nested lists, want the same prediction with the label up", a, b)
	}
	for want, args := range map[string][]string{
		"--series and --tokenizer exclude each other": {"data", "convert", "--from", path("c.csv"),
			"--to", path("no"), "--series", "value", "--tokenizer", "byte"},
		"expected a text, found a list of numbers (read it as a series with --series " +
			"value)": {"data", "convert", "--from", path("a.jsonl"),
			"--to", path("no"), "--text", "value"},
		"--text and --series exclude each other": {"data", "convert", "--from", path("c.csv"),
			"--to", path("no"), "--series", "value", "--text", "id"},
		`columns "q*": no column matches, expected some of "id", "value", "class"`: {"data", "convert", "--from",
			path("c.csv"),
			"--to", path("no"), "--series", "q*"},
		"reads features: expected --features COLUMN or --series COLUMN": {"predict", "--model", model, "--input",
			path("c.csv"), "--text", "value"},
		"--series and --features exclude each other": {"predict", "--model", model, "--input",
			path("c.csv"), "--features", "value", "--series", "value"},
	} {
		contains(t, failing(t, "", args...), want)
	}
}
