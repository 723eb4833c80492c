package main

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/sftseq/sftseq/internal/must"
	"github.com/sftseq/sftseq/internal/testenv"
)

// TestClouds generates clouds, trains a model on them, and checks that eval, predict, embed and
// serve accept the clouds.
func TestClouds(t *testing.T) {
	data, dir := filepath.Join(t.TempDir(), "data"), filepath.Join(t.TempDir(), "run")
	printed(t, "", "data", "generate", "shapes", "--out", data, "--train", "60", "--val", "10",
		"--test", "6", "--points", "24")
	printed(t, "", "train", "custom", "--members", "sft", "--data", data, "--out", dir, "--epochs", "2",
		"--k", "8", "--hidden", "16",
		"--intermediate", "16", "--input", "ones")
	printed(t, "", "eval", "--model", dir, "--data", data, "--split", "test")
	test := filepath.Join(data, "test.arrow")
	lines := filepath.Join(t.TempDir(), "lines.jsonl")
	must.Succeed(t, os.WriteFile(lines, []byte(printed(t, "", "data", "head", test, "--rows", "6")), 0o666))
	replies := strings.Split(strings.TrimSpace(printed(t, "", "predict", "--model", dir, lines)), "\n")
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
			len(reply.Probabilities) != 9 || reply.Length != 24 {
			t.Errorf("got reply %s, error %v; want a label, 9 probabilities and length 24", line, err)
		}
	}
	occurs(t, printed(t, "", "embed", "--model", dir, lines), `"embedding"`, 6)
	scored := filepath.Join(t.TempDir(), "scored.arrow")
	printed(t, "", "predict", "--model", dir, "--input", test, "--output", scored)
	if _, err := os.Stat(scored); err != nil {
		t.Error(err)
	}
	for want, args := range map[string][]string{
		"--embedding-init fourier: expected tokens": {"train", "custom", "--members", "sft", "--data",
			data, "--out", dir + "2",
			"--embedding-init", "fourier"},
		"which pretrain can mask, found tokens with features": {"pretrain", "--data", data, "--out", dir + "3"},
		"token_deletion and token_replacement must": {"train", "custom", "--members", "sft", "--data",
			data, "--out", dir + "4",
			"--token-deletion", "0.1"},
	} {
		contains(t, failing(t, "", args...), want)
	}
	checkServeAsPredict(t, dir, lines)
	checkReportPictures(t, dir, "points; pooling weights")
}

// checkServeAsPredict sends the lines of a file to the server, as bare lines and as JSON-RPC requests. It
// checks that the server prints the same results as predict and, for embed requests, as embed. It also
// checks that serve refuses --index, which needs token ids.
func checkServeAsPredict(t *testing.T, dir, path string) {
	t.Helper()
	text := must.Get(os.ReadFile(path))(t)
	predicted := succeed(t, string(text), "predict", "--model", dir)
	equal(t, succeed(t, string(text), "serve", "--model", dir), predicted)
	requests := `{"jsonrpc":"2.0","id":0,"method":"initialize"}` + "\n"
	for line := range strings.Lines(string(text)) {
		n := strings.Count(requests, "\n")
		for i, method := range []string{"classify", "embed"} {
			requests += fmt.Sprintf(`{"jsonrpc":"2.0","id":%d,"method":"sequence/%s","params":%s}`+"\n", 2*n+i,
				method, unlabelled(t, line))
		}
	}
	responses := strings.Split(strings.TrimSpace(succeed(t, requests, "serve", "--model", dir, "--log", "error")), "\n")
	embedded := strings.Split(strings.TrimSpace(succeed(t, string(text), "embed", "--model", dir)), "\n")
	found := map[string]bool{}
	for _, a := range responses {
		if _, result, ok := strings.Cut(a, `"result":{`); ok {
			found[strings.TrimSuffix(result, "}}")] = true
		}
	}
	for i, line := range append(strings.Split(strings.TrimSpace(predicted), "\n"), embedded...) {
		_, rest, _ := strings.Cut(line, ",") // after the id
		if !found[strings.TrimSuffix(rest, "}")] {
			t.Errorf("line %d: expected the response %s in\n%s", i, rest, responses)
		}
	}
	contains(t, failing(t, "", "serve", "--model", dir, "--index", filepath.Join(t.TempDir(), "index")),
		"omit --index")
}

// unlabelled removes all fields of a line except features and edges, which requests have.
func unlabelled(t *testing.T, line string) string {
	t.Helper()
	fields := decode[map[string]json.RawMessage](t, line)
	for name := range fields {
		if name != "features" && name != "edges" {
			delete(fields, name)
		}
	}
	out := must.Get(json.Marshal(fields))(t)
	return string(out)
}

// checkReportPictures checks that the report about the run in dir has figures of rows with the
// caption.
func checkReportPictures(t *testing.T, dir, caption string) {
	t.Helper()
	page := filepath.Join(t.TempDir(), "report.html")
	done(t, "", "report", "--out", page, dir)
	text := must.Get(os.ReadFile(page))(t)
	contains(t, string(text), caption, `aria-label="layer 1 sampled"`)
}

// TestAugmentedClouds checks that the weights of a resumed run that rotates, scales and shifts its clouds
// are bitwise identical to those of an uninterrupted run. They differ from the weights of a run without
// augmentation. Invalid values of the flags are refused.
func TestAugmentedClouds(t *testing.T) {
	testenv.NoRace(t, "runs code that TestClouds, TestConvertCloud and TestGraphs cover")
	data := filepath.Join(t.TempDir(), "data")
	done(t, "", "data", "generate", "shapes", "--out", data, "--train", "40", "--val", "9", "--test", "9",
		"--points", "16", "--no-baselines")
	weights := func(interrupted bool, more ...string) string {
		out := filepath.Join(t.TempDir(), "run")
		args := append([]string{"train", "custom", "--members", "sft", "--data", data, "--out", out,
			"--epochs", "2", "--k", "4",
			"--hidden", "8", "--batch", "8"}, more...)
		if interrupted {
			done(t, "", append(args, "--stop-at", "3")...)
			args = append(args, "--resume")
		}
		done(t, "", args...)
		return readText(t, filepath.Join(out, "model.safetensors"))
	}
	augmented := []string{"--point-scale", "0.6:1.4", "--point-stretch", "0.8:1.25", "--point-rotation", "any",
		"--point-shift", "0.005"}
	whole := weights(false, augmented...)
	equal(t, weights(true, augmented...), whole)
	if weights(false) == whole || weights(false, "--point-rotation", "z") == whole {
		t.Error("a run without augmentation, or with rotation alone, has the weights of the augmented run")
	}
	for want, flags := range map[string][]string{
		`--point-scale "2": expected MIN:MAX`:                           {"--point-scale", "2"},
		`--point-stretch "0.5": expected MIN:MAX`:                       {"--point-stretch", "0.5"},
		"point-stretch [0 1]: expected two factors from 1e-06 to 1e+06": {"--point-stretch", "0:1"},
		"point-scale [2 1]: expected two factors from 1e-06 to 1e+06":   {"--point-scale", "2:1"},
		`--point-rotation "round": expected one of none, z, any`:        {"--point-rotation", "round"},
		"point-shift -1: expected a number from 0 to 1e+06":             {"--point-shift", "-1"},
	} {
		refuse(t, exitUsage, want, "",
			append([]string{"train", "custom", "--members", "sft", "--data", data, "--out",
				filepath.Join(t.TempDir(), "run")},
				flags...)...)
	}
}
