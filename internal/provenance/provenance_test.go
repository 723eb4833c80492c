package provenance

import (
	"encoding/json"
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/sftseq/sftseq/internal/must"
	"github.com/sftseq/sftseq/seq"
	"github.com/sftseq/sftseq/sft"
	"github.com/sftseq/sftseq/sft/config"
	"github.com/sftseq/sftseq/sft/train"
)

// TestPath checks that paths keep their bytes in JSON, even if they are not valid UTF-8.
func TestPath(t *testing.T) {
	for _, name := range []string{"\xff\xfe", "it's\xe9", "größe", "", "plain/dir", `{"base64":"YQ=="}`} {
		text := must.Get(json.Marshal(struct{ P Path }{Path(name)}))(t)
		var back struct{ P Path }
		if err := json.Unmarshal(text, &back); err != nil || string(back.P) != name {
			t.Errorf("JSON %s decodes to %q, error %v; want %q", text, back.P, err, name)
		}
	}
	var old Path
	if err := json.Unmarshal([]byte(`"data/größe"`), &old); err != nil || old != "data/größe" {
		t.Errorf("plain string: got %q, error %v; want %q", old, err, "data/größe")
	}
	must.Fail(t, "", "malformed base64 was accepted")(json.Unmarshal([]byte(`{"base64":"?"}`), &old))
}

// TestMoveEnd checks that the command of a run with a moved end repeats the whole run.
func TestMoveEnd(t *testing.T) {
	const resume = "sftseq train custom --out again --resume"
	at := func(step, epoch int) train.State {
		s := train.State{Step: step}
		s.Next.Epoch = uint32(epoch)
		return s
	}
	for _, c := range []struct {
		name     string
		command  string
		state    train.State
		old, new train.Settings
		want     string
		pinned   string
	}{
		{"in progress", "train --lr 1 --steps 10", at(5, 0), train.Settings{Steps: 10}, train.Settings{Steps: 20},
			"train --lr 1 --steps 20", ""},
		{"epochs in place of steps", "train --epochs=3 --steps 10", at(5, 0), train.Settings{Steps: 10},
			train.Settings{Epochs: 4}, "train --epochs 4", ""},
		{"a number elsewhere", "train --steps 5 --lr 1", at(5, 0), train.Settings{Steps: 10}, train.Settings{Steps: 20},
			"train --steps 5 --lr 1 --steps 20", ""},
		{"chosen by the length", "train --eval-every 3 --steps 10", at(5, 0), train.Settings{Steps: 10},
			train.Settings{Steps: 20}, "train --eval-every 3 --step-size 2 --eval-every 3 --steps 20",
			" --step-size 2 --eval-every 3"},
		{"chosen by the length, moved again", "train --step-size 2 --steps 10", at(5, 0), train.Settings{Steps: 10},
			train.Settings{Steps: 20}, "train --step-size 2 --steps 20", " --step-size 2"},
		{"at its end, in steps", "train --steps 10", at(10, 0), train.Settings{Steps: 10}, train.Settings{Steps: 20},
			"train --steps 10 && " + resume + " --steps 20", ""},
		{"at its end, in epochs", "train", at(10, 2), train.Settings{Epochs: 2}, train.Settings{Epochs: 3},
			"train && " + resume + " --epochs 3", ""},
		{"the rate follows the end", "train --steps 10", at(5, 0), train.Settings{Steps: 10, Schedule: "cosine"},
			train.Settings{Steps: 20}, "train --steps 10 --stop-at 5 && " + resume + " --steps 20", ""},
		{"the rate follows the end, before the first step", "train --steps 10", at(0, 0),
			train.Settings{Steps: 10, Schedule: "cosine"}, train.Settings{Steps: 20}, "train --steps 20", ""},
	} {
		from := &train.Checkpoint{Config: &sft.Config{}, State: c.state, Settings: c.old}
		p := Provenance{Command: c.command, Settings: c.old}
		must.Succeed(t, p.MoveEnd(from, &c.new, resume, c.pinned))
		stored, err := Of(from.Config)
		if err != nil || stored.Command != c.want || p.Command != c.want || !Same(stored.Settings, c.new) {
			t.Errorf("%s: got %q, stored %q with %+v, want %q; error %v", c.name, p.Command, stored.Command,
				stored.Settings, c.want, err)
		}
	}
}

// TestOf checks that malformed provenance is an error, and that the result is then empty.
func TestOf(t *testing.T) {
	for _, extra := range []string{"", "[]", `{"command":"train","settings":3}`} {
		if p, err := Of(&sft.Config{Extra: []byte(extra)}); err == nil || p.Command != "" {
			t.Errorf("%q: got %+v, error %v, want an error and no command", extra, p, err)
		}
	}
}

// TestDifferences checks which settings of a new run are listed as different.
func TestDifferences(t *testing.T) {
	config := sft.Config{
		Extra:   []byte(`{"init_from":"base"}`),
		Encoder: config.Encoder{NumLayers: 2},
	}
	begun := &train.Checkpoint{Config: &config, Data: "a"}
	was := train.Settings{Seed: 1, Batch: 8}
	other := config
	other.Extra = nil
	if got := Differences(begun, was, train.Settings{Seed: 2, Batch: 8}, other, "a", "base"); len(got) != 0 {
		t.Errorf("another seed: got differences %q, want none", got)
	}
	other.NumLayers = 3
	want := []string{"batch 8, not 16", "num_hidden_layers 2, not 3", "other data", `--init-from "base", not ""`}
	if got := Differences(begun, was, train.Settings{Seed: 2, Batch: 16}, other, "b", ""); !slices.Equal(got, want) {
		t.Errorf("got %q, want %q", got, want)
	}
}

// TestFound checks the errors for directories without a run, with files of another program, and with
// a malformed checkpoint.
func TestFound(t *testing.T) {
	dir := t.TempDir()
	find := func(resume, must bool) (*train.Checkpoint, error) {
		from, err := train.LoadCheckpoint(dir)
		return Found(dir, from, err, resume, must)
	}
	for _, resume := range []bool{false, true} {
		if from, err := find(resume, false); from != nil || err != nil {
			t.Errorf("empty directory: got %v, error %v, want neither", from, err)
		}
	}
	must.Fail(t, "contains no run of this command", "nothing to resume")(find(true, true))
	path := filepath.Join(dir, "config.json")
	must.Succeed(t, os.WriteFile(path, must.Get(os.ReadFile("../../sft/testdata/golden/pre/config.json"))(t), 0o666))
	must.Fail(t, "; start another run from this model with --init-from and another --out", "a model without a run")(
		find(true, true))
	must.Succeed(t, os.Remove(path))
	starts := filepath.Join(dir, StartsFile)
	must.Succeed(t, os.WriteFile(starts, []byte("of another program\n"), 0o666))
	must.Fail(t, "does not belong to a run: choose another --out", "starts file of another program")(find(false, true))
	must.Succeed(t, os.Remove(starts))
	must.Succeed(t, os.WriteFile(filepath.Join(dir, "metrics.jsonl"), nil, 0o666))
	must.Fail(t, "already contains a metrics.jsonl, which a new run would replace: choose another --out",
		"metrics file of another program")(find(false, true))
	broken := filepath.Join(dir, "last", "checkpoint.safetensors")
	must.Succeed(t, errors.Join(os.Mkdir(filepath.Dir(broken), 0o777),
		os.WriteFile(broken, []byte("a file of another program"), 0o666)))
	if _, err := find(false, true); err == nil ||
		!strings.HasPrefix(err.Error(), dir+" is not the directory of a run: "+broken+": ") {
		t.Errorf("malformed checkpoint: got error %v, want %s is not the directory of a run: %s: …", err, dir, broken)
	}
	const advice = ": restore the checkpoint from a copy, or start another run with another --out"
	if _, err := find(true, true); err == nil || !strings.HasPrefix(err.Error(), broken+": ") ||
		!strings.HasSuffix(err.Error(), advice) {
		t.Errorf("malformed checkpoint to resume: got error %v, want %s: …%s", err, broken, advice)
	}
	must.Succeed(t, os.WriteFile(filepath.Join(dir, "model.safetensors"), nil, 0o666))
	if _, err := find(true, true); err == nil ||
		!strings.HasSuffix(err.Error(), advice+", from the best weights so far with --init-from "+dir) {
		t.Errorf("malformed checkpoint beside a model: got error %v, want the advice --init-from %s", err, dir)
	}
}

// TestStarts checks that a start at step 0 replaces the file, and that malformed lines are errors
// with their line number.
func TestStarts(t *testing.T) {
	dir := t.TempDir()
	for _, step := range []int{7, 0, 5, 9} { // step 7 belongs to an earlier run
		must.Succeed(t, AddStart(dir, Start{Step: step, Device: "cpu"}))
	}
	starts, err := ReadStarts(dir)
	if err != nil || len(starts) != 3 || starts[0].Step != 0 || starts[2].Step != 9 {
		t.Errorf("got %+v, error %v, want steps 0, 5 and 9", starts, err)
	}
	if starts, err := ReadStarts(t.TempDir()); starts != nil || err != nil {
		t.Errorf("no file: got %+v, error %v", starts, err)
	}
	path := filepath.Join(dir, StartsFile)
	must.Succeed(t, os.WriteFile(path, []byte("{}\n7\n"), 0o666))
	must.Fail(t, path+":2: expected a JSON object")(ReadStarts(dir))
}

// TestEnded checks that a run has ended if no step and no evaluation remains.
func TestEnded(t *testing.T) {
	for _, c := range []struct {
		name     string
		state    train.State
		settings train.Settings
		want     bool
	}{
		{"in progress", train.State{Step: 5, Evaluated: 5}, train.Settings{Steps: 10, Patience: 2}, false},
		{"not evaluated", train.State{Step: 10, Evaluated: 5}, train.Settings{Steps: 10}, false},
		{"by steps", train.State{Step: 10, Evaluated: 10}, train.Settings{Steps: 10}, true},
		{"within an epoch", train.State{Step: 10, Evaluated: 10}, train.Settings{Epochs: 1}, false},
		{"by epochs", train.State{Step: 10, Evaluated: 10, Next: seq.Position{Epoch: 1}}, train.Settings{Epochs: 1},
			true},
		{"by patience", train.State{Step: 5, Evaluated: 5, SinceBest: 2}, train.Settings{Steps: 10, Patience: 2}, true},
	} {
		if got := Ended(&train.Checkpoint{State: c.state, Settings: c.settings}); got != c.want {
			t.Errorf("%s: got %v, want %v", c.name, got, c.want)
		}
	}
}
