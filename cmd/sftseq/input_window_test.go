package main

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/sftseq/sftseq/internal/must"
	"github.com/sftseq/sftseq/seq"
	"github.com/sftseq/sftseq/sft/config"
)

// tailedModel returns a copy of a golden model that reads the first 3 and the last 2 tokens of sequences
// with more than 5 tokens.
func tailedModel(t *testing.T, name string) string {
	t.Helper()
	return editedModel(t, name, func(text, weights []byte) ([]byte, []byte) {
		c := must.Get(config.Parse(text))(t)
		c.SetReadWindow(seq.Window{Length: 5, Tail: 2})
		return must.Get(json.Marshal(c))(t), weights
	})
}

// TestInputWindowTail checks that predict and embed read both ends of a long sequence, that info
// shows the window, and that a malformed window is refused.
func TestInputWindowTail(t *testing.T) {
	model := tailedModel(t, "pre")
	const long, ends = `{"tokens":[3,4,5,6,7,8,9,10]}`, `{"tokens":[3,4,5,9,10]}`
	for _, command := range []string{"predict", "embed"} {
		got := succeed(t, long, command, "--model", model)
		want := succeed(t, ends, command, "--model", model)
		contains(t, got, `"length":8,"used":5`)
		before := func(text string) string { first, _, _ := strings.Cut(text, `"length"`); return first }
		equal(t, before(got), before(want), command)
	}
	explained := decode[prediction](t, succeed(t, long, "predict", "--explain", "--model", model)).Explain
	if n := len(explained.Pooling); n != 8 || explained.Pooling[4] != 0 || explained.Pooling[7] == 0 {
		t.Errorf("got the pooling %v, want weights of the first 3 and the last 2 of 8 tokens", explained.Pooling)
	}
	if p := explained.Layers[0].Positions; fmt.Sprint(p) != "[0 1 2 6 7]" {
		t.Errorf("got the sampled positions %v, want [0 1 2 6 7]", p)
	}
	pair := tailedModel(t, "retrieval")
	a := replyLines(t, succeed(t, `{"tokens_a":[65,66,67,68,69,70],"tokens_b":[71]}`, "predict", "--model", pair))[0]
	b := replyLines(t, succeed(t, `{"tokens_a":[65,66,67,69,70],"tokens_b":[71]}`, "predict", "--model", pair))[0]
	equal(t, fmt.Sprint(a.Logits), fmt.Sprint(b.Logits), "a pair")
	contains(t, succeed(t, "", "info", "--model", model), `"input_window_tail": 2`)
	for value, want := range map[any]string{6: "input_window_tail: 6, expected 0 to 4", "2": "input_window_tail"} {
		bad := withConfig(t, "pre", "input_window", map[string]any{"length": 4, "policy": "head"})
		path := filepath.Join(bad, "config.json")
		var keys map[string]any
		must.Succeed(t, json.Unmarshal([]byte(readText(t, path)), &keys))
		keys["input_window_tail"] = value
		must.Succeed(t, os.WriteFile(path, must.Get(json.Marshal(keys))(t), 0o666))
		refuse(t, exitError, want, long, "predict", "--model", bad)
	}
}

// TestTrainTail checks a run that reads both ends of rows. A resumed run writes the same weights,
// only the sft member has a window, and eval and predict have the same accuracy.
func TestTrainTail(t *testing.T) {
	data, dir := proseData(t, 400), t.TempDir()
	out, again := filepath.Join(dir, "out"), filepath.Join(dir, "again")
	small := []string{"--members", "linear,sft", "--device", "cpu", "--hidden", "8", "--layers", "1", "--steps", "20",
		"--input-window", "40:tail=10"}
	runCustom(t, data, out, small...)
	runCustom(t, data, again, append(small, "--stop-at", "7")...)
	done(t, "", "train", "custom", "--members", "linear,sft", "--out", again, "--resume")
	sameFusion(t, out, again, "sft")
	model := filepath.Join(out, "sft")
	c := must.Get(config.Read(filepath.Join(model, "config.json")))(t)
	equal(t, c.ReadWindow(), seq.Window{Length: 40, Tail: 10})
	if linear := must.Get(config.Read(filepath.Join(out, "linear", "config.json")))(t); linear.InputWindow != nil {
		t.Errorf("got the window %v of the linear model, want none", linear.InputWindow)
	}
	lines := succeed(t, "", "data", "head", "--tokens", "--rows", "100000", "--split", "val", data)
	var rows, correct int
	for i, r := range replyLines(t, succeed(t, lines, "predict", "--model", model, "--device", "cpu")) {
		var row struct{ Label any }
		must.Succeed(t, json.Unmarshal([]byte(strings.Split(lines, "\n")[i]), &row))
		if rows++; fmt.Sprint(row.Label) == fmt.Sprint(r.Label) {
			correct++
		}
	}
	var e struct{ Accuracy float64 }
	must.Succeed(t, json.Unmarshal([]byte(succeed(t, "", "eval", "--model", model, "--data", data, "--split", "val",
		"--device", "cpu", "--json")), &e))
	if got, want := e.Accuracy, float64(correct)/float64(rows); got != want {
		t.Errorf("eval: got accuracy %g, want the %g of predict", got, want)
	}
}
