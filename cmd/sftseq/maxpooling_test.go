package main

import (
	"encoding/json"
	"math"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/sftseq/sftseq/internal/testenv"
	"github.com/sftseq/sftseq/sft"
	"github.com/sftseq/sftseq/sft/config"
)

// TestMaxPooling checks a model of clouds whose head takes the maximum over a sample of the points.
// The test trains, evaluates and explains the model, and writes a report about it. A model with another
// pooling, or without pooling, can be initialised from this model (--init-from).
func TestMaxPooling(t *testing.T) {
	testenv.NoRace(t, "runs code that TestClouds, TestConvertCloud and TestGraphs cover")
	dir := t.TempDir()
	data, parts, model := filepath.Join(dir, "data"), filepath.Join(dir, "parts"), filepath.Join(dir, "run")
	small := []string{"--train", "60", "--val", "10", "--test", "6", "--points", "24", "--no-baselines"}
	done(t, "", append([]string{"data", "generate", "shapes", "--out", data}, small...)...)
	done(t, "", append([]string{"data", "generate", "shape-parts", "--out", parts}, small...)...)
	train := func(data, out string, more ...string) (output string) {
		return done(t, "", append([]string{"train", "custom", "--members", "sft", "--data", data, "--out", out,
			"--steps", "6", "--k", "8",
			"--hidden", "16", "--intermediate", "16",
			"--device", "cpu"}, more...)...)
	}
	train(data, model, "--pooling", "max", "--pooling-samples", "10")
	cfg, err := config.Read(filepath.Join(model, "config.json"))
	if err != nil || cfg.Pooling != config.MaxPooling || cfg.PoolingSamples != 10 {
		t.Fatalf("unexpected configuration %+v, error %v", cfg, err)
	}
	done(t, "", "eval", "--model", model, "--data", data, "--split", "test")
	lines := succeed(t, "", "data", "head", filepath.Join(data, "test.arrow"), "--rows", "6")
	for line := range strings.Lines(succeed(t, lines, "predict", "--model", model, "--explain")) {
		var reply struct{ Explain *sft.Explanation }
		if err := json.Unmarshal([]byte(line), &reply); err != nil || reply.Explain == nil {
			t.Fatalf("unexpected reply %s, error %v", line, err)
		}
		sum := float32(0)
		for _, w := range reply.Explain.Pooling {
			sum += w
		}
		// The 10 sampled points and their partners are at most 20 of the 24 points.
		if len(reply.Explain.Pooling) != 24 || math.Abs(float64(sum)-1) > 1e-5 ||
			!slices.Contains(reply.Explain.Pooling, 0) {
			t.Errorf("pooling %v, want 24 weights with a sum of 1, some of them 0", reply.Explain.Pooling)
		}
	}
	checkReportPictures(t, model, "points; pooling weights")

	// A head for tags has no pooling, even if the initial model has.
	tags := filepath.Join(dir, "tags")
	train(parts, tags, "--init-from", model)
	if cfg, err := config.Read(filepath.Join(tags, "config.json")); err != nil || cfg.Pooling != "" ||
		cfg.PoolingSamples != 0 {
		t.Errorf("unexpected configuration %+v, error %v", cfg, err)
	}
	contains(t, train(data, filepath.Join(dir, "other"), "--init-from", model, "--pooling", "softmax",
		"--pooling-samples", "0"), "fresh: head.pool.weight, head.pool.bias")
	for want, args := range map[string][]string{
		`--pooling "mean": expected softmax, max`:              {"--data", data, "--pooling", "mean"},
		"--pooling-samples 5: expected 0: only max pooling":    {"--data", data, "--pooling-samples", "5"},
		`--pooling "max": expected none, because task tagging`: {"--data", parts, "--pooling", "max"},
	} {
		contains(t, failing(t, "",
			append([]string{"train", "custom", "--members", "sft", "--out", filepath.Join(dir, "no")},
				args...)...), want)
	}
}
