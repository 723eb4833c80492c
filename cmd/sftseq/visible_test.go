package main

import (
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/sftseq/sftseq/internal/must"
)

// hostileText contains terminal control sequences in 7 and 8 bits, and other control characters. They
// set the title, clear the screen, overwrite the line, set the colour and change the writing direction.
const hostileText = "\x1b]0;owned\x07\x1b[2Jgood\rbad\u009b31m\x7f\u202eabc\u2066"

// hasControls reports whether the text contains characters that must not reach a terminal.
func hasControls(text string) bool {
	return strings.ContainsAny(text, "\x1b\x07\x00\r\u009b\x7f\u202e\u2066")
}

// hostileData converts a file whose name, ids, labels and texts contain terminal control sequences.
func hostileData(t *testing.T) (dir string) {
	t.Helper()
	root := t.TempDir()
	from := filepath.Join(root, "x\x1b[31m.jsonl")
	var rows strings.Builder
	for i := range 40 {
		text, _ := json.Marshal(fmt.Sprintf("%s %d", hostileText, i))
		label, _ := json.Marshal(fmt.Sprintf("%s%d", hostileText, i%2))
		fmt.Fprintf(&rows, `{"text":%s,"label":%s,"id":%s}`+"\n", text, label, text)
	}
	must.Succeed(t, os.WriteFile(from, []byte(rows.String()), 0o666))
	dir = filepath.Join(root, "set\x1b[31m")
	_, errs := exits(t, exitOK, "", "data", "convert", "--from", from, "--to", dir, "--text", "text", "--label",
		"label", "--id", "id", "--split", "0.6,0.2,0.2")
	if hasControls(errs) {
		t.Errorf("data convert: got standard error %q, want no control characters", errs)
	}
	return dir
}

// TestHostileNames checks that no control character of a file or argument reaches standard error,
// and that errors have a bounded length.
func TestHostileNames(t *testing.T) {
	dir := hostileData(t)
	for _, args := range [][]string{
		{"data", "info", dir + "/none"}, {"data", "head", "--split", hostileText, dir},
		{"data", "info", "--" + hostileText},
		{"eval", "--model", dir, "--data", dir}, {"train", "custom", "--members", "sft", "--data", dir, "--out",
			t.TempDir() + hostileText,
			"--steps", "1", "--select", hostileText},
		{hostileText}, {"data", "info", strings.Repeat("long/", 5000)},
	} {
		status, _, errs := program(nil, args...)
		if status == 0 || hasControls(errs) || len(errs) > 2*maxErrorBytes {
			t.Errorf("%.60q: got status %d, %d bytes of standard error %.300q; want another status than 0, at most %d "+
				"bytes, no control characters", args, status, len(errs), errs, 2*maxErrorBytes)
		}
	}
}

// TestOddPaths checks that a run whose directories have names that are not UTF-8 is resumed without
// naming its data again, and that the printed command has these names.
func TestOddPaths(t *testing.T) {
	data := filepath.Join(t.TempDir(), "da'ta\xff\x1b")
	must.Succeed(t, os.Rename(generated(t), data))
	start, out := filepath.Join(t.TempDir(), "start\xfe"), filepath.Join(t.TempDir(), "run\xe9\n")
	smallRun(t, data, start, "--steps", "10")
	smallRun(t, data, out, "--steps", "10", "--init-from", start)
	shown, _ := exits(t, exitOK, "", "train", "listops", "--out", out, "--resume", "--steps",
		"20", "--init-from", start)
	command := regexp.MustCompile(`(?m)^repeat with: (.*)$`).FindStringSubmatch(shown)
	if command == nil {
		t.Fatalf("train --resume: got output %q, want a line that begins with \"repeat with: \"", shown)
	}
	args := must.Get(exec.Command("bash", "-c", "sftseq() { printf '%s\\0' \"$@\"; }; "+command[1]).Output())(t)
	for _, want := range []string{"--data\x00" + data, "--init-from\x00" + start, "--out\x00" + out + "-again"} {
		contains(t, string(args), want+"\x00")
	}
	model, err := os.ReadFile(filepath.Join(out, "config.json"))
	if err != nil || strings.Contains(string(model), "\uFFFD") || strings.Contains(string(model), `\ufffd`) {
		t.Errorf("config.json has replacement characters in its paths, or cannot be read (%v): %.600s", err, model)
	}
}
