package main

import (
	"encoding/json"
	"path/filepath"
	"testing"

	"github.com/sftseq/sftseq/internal/must"
)

// TestTrainFresh checks that a resumed run with other images in every epoch has the same model as an
// uninterrupted run, and that only generated data can be drawn anew.
func TestTrainFresh(t *testing.T) {
	dir := t.TempDir()
	data, whole, parts := filepath.Join(dir, "data"), filepath.Join(dir, "whole"), filepath.Join(dir, "parts")
	mustRunData(t, "generate", "pathfinder", "--out", data, "--train", "8", "--val", "2", "--test", "0",
		"--contour", "6", "--train-shortest", "1")
	train := func(out string, flags ...string) string {
		return done(t, "", append([]string{"train", "pathfinder", "--data", data, "--epochs", "3", "--batch", "4",
			"--hidden", "8", "--layers", "1", "--k", "4", "--threads", "1", "--out", out}, flags...)...)
	}
	train(whole, "--fresh")
	train(parts, "--fresh", "--stop-at", "3")
	contains(t, train(parts, "--resume"), "--fresh")
	weights := func(run string) string { return readText(t, filepath.Join(run, "model.safetensors")) }
	if weights(parts) != weights(whole) {
		t.Error("the weights of the resumed run differ from those of the uninterrupted run")
	}
	file := filepath.Join(dir, "file")
	train(file)
	if weights(file) == weights(whole) {
		t.Error("the weights of a run without --fresh equal those of a run with --fresh")
	}

	manifest := filepath.Join(data, "dataset.json")
	keys := decode[map[string]any](t, readText(t, manifest))
	delete(keys, "provenance")
	writeText(t, manifest, string(must.Get(json.Marshal(keys))(t)))
	refuse(t, exitError, "--fresh: "+data+": expected data of sftseq data generate pathfinder, found other data", "",
		"train", "pathfinder", "--data", data, "--fresh", "--out", filepath.Join(dir, "other"))
	// With --data, the preset night trains on the given images and draws no new ones.
	done(t, "", "train", "pathfinder", "--preset", "night", "--data", data, "--steps", "1", "--batch", "4", "--hidden",
		"8", "--layers", "1", "--k", "4", "--out", filepath.Join(dir, "night"))
}
