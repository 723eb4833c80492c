package main

import (
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/sftseq/sftseq/internal/must"
	"github.com/sftseq/sftseq/internal/task"
	"github.com/sftseq/sftseq/internal/testenv"
	"github.com/sftseq/sftseq/sft/config"
)

// orderedRows are texts of x and y with a label that counts the y of each.
func orderedRows(rows int) string {
	random := rand.New(rand.NewPCG(5, 6))
	var out strings.Builder
	out.WriteString("text,stars\n")
	for range rows {
		text, stars := []byte(strings.Repeat("x", 10)), random.IntN(4)
		for _, at := range random.Perm(len(text))[:stars] {
			text[at] = 'y'
		}
		fmt.Fprintf(&out, "%s,%d\n", text, stars)
	}
	return out.String()
}

// TestOrdinal: data of a classification train a model of ordered classes, whose accuracy on the validation split is that
// of eval; it predicts, serves and is reported on.
// Weights of classes and exports are refused.
func TestOrdinal(t *testing.T) {
	testenv.NoRace(t, "trains as TestTrain does")
	dir := t.TempDir()
	csv := writeText(t, filepath.Join(dir, "t.csv"), orderedRows(400))
	data, model := filepath.Join(dir, "data"), filepath.Join(dir, "model")
	done(t, "", "data", "convert", "--from", csv, "--to", data, "--text", "text", "--label", "stars",
		"--tokenizer", "byte", "--split", "0.6,0.2,0.2")
	runCustom(t, data, model, "--task", "ordinal", "--steps", "200", "--eval-every", "100", "--device", "cpu")
	c := must.Get(config.Read(filepath.Join(model, "config.json")))(t)
	if c.Task != config.Ordinal {
		t.Fatalf("task %q", c.Task)
	}
	var r task.ClassesResult
	text := printed(t, "", "eval", "--model", model, "--data", data, "--split", "test", "--json")
	must.Succeed(t, json.Unmarshal([]byte(text), &r))
	if r.Accuracy < 0.8 {
		t.Errorf("accuracy %v", r.Accuracy)
	}
	for command, in := range map[string]string{"predict": `{"text":"xxyxxxyxxx"}`,
		"serve": `{"id":1,"text":"xxyxxxyxxx"}`} {
		if out := printed(t, in+"\n", command, "--model", model); !strings.Contains(out, `"label":"2"`) {
			t.Errorf("%s: %s", command, out)
		}
	}
	page := filepath.Join(dir, "report.html")
	done(t, "", "report", "--model", model, "--data", data, "--out", page)
	if text := string(must.Get(os.ReadFile(page))(t)); !strings.Contains(text, "ordinal") {
		t.Errorf("the report does not name the task")
	}
	refuse(t, exitError, "weights of classes, expected none: the loss of the task ordinal", "", "train", "custom", "--members",
		"sft", "--data", data, "--out", filepath.Join(dir, "weighted"), "--task", "ordinal", "--class-weights", "balanced")
	refuse(t, exitError, `task: "ordinal", expected one of`, "", "export", "onnx", model, "--output",
		filepath.Join(dir, "onnx"))
}
