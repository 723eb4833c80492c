package main

import (
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

// oddNames are names that files may have, and shells, terminals and JSON have not.
var oddNames = []string{"\xff\xfe", "a\x1b[2Jb", "it's\xe9", "two\nlines\t", `back\slash'` + "\x80", "größe \u202e"}

func TestStoredPath(t *testing.T) {
	for _, name := range append(oddNames, "", "plain/dir", `{"base64":"YQ=="}`) {
		text, err := json.Marshal(struct{ P storedPath }{storedPath(name)})
		if err != nil {
			t.Fatal(err)
		}
		var back struct{ P storedPath }
		if err := json.Unmarshal(text, &back); err != nil || string(back.P) != name {
			t.Errorf("%q became %s and %q (%v)", name, text, back.P, err)
		}
	}
	var old storedPath
	if err := json.Unmarshal([]byte(`"data/größe"`), &old); err != nil || old != "data/größe" {
		t.Errorf("a path of before: %q, %v", old, err)
	}
	if err := json.Unmarshal([]byte(`{"base64":"?"}`), &old); err == nil {
		t.Error("no base64 was taken")
	}
}

// TestShellQuote: a shell reads what was quoted, and a terminal can show it.
func TestShellQuote(t *testing.T) {
	for _, name := range append(oddNames, "", "plain", "it's", "$HOME `x` \"y\"", "\x01"+"7") {
		quoted := shellQuote(name)
		if escape([]byte(quoted)) != quoted || strings.ContainsAny(quoted, "\n\t") {
			t.Errorf("%q is quoted as %q", name, quoted)
		}
		out, err := exec.Command("bash", "-c", "printf %s "+quoted).Output()
		if err != nil || string(out) != name {
			t.Errorf("%q is quoted as %s, which is %q (%v)", name, quoted, out, err)
		}
	}
}

// TestOddPaths: a run whose directories are no UTF-8 is resumed without naming its data
// again, and the command that repeats it names them.
func TestOddPaths(t *testing.T) {
	data := filepath.Join(t.TempDir(), "da'ta\xff\x1b")
	if err := os.Rename(generated(t), data); err != nil {
		t.Fatal(err)
	}
	start, out := filepath.Join(t.TempDir(), "start\xfe"), filepath.Join(t.TempDir(), "run\xe9\n")
	smallRun(t, data, start, "--steps", "10")
	smallRun(t, data, out, "--steps", "10", "--init-from", start)
	status, shown, errs := program(nil, "train", "listops", "--out", out, "--resume", "--steps", "20", "--init-from", start)
	if status != 0 {
		t.Fatal(errs)
	}
	command := regexp.MustCompile(`(?m)^repeat with: (.*)$`).FindStringSubmatch(shown)
	if command == nil {
		t.Fatal(shown)
	}
	args, err := exec.Command("bash", "-c", "sftseq() { printf '%s\\0' \"$@\"; }; "+command[1]).Output()
	if err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{"--data\x00" + data, "--init-from\x00" + start, "--out\x00" + out + "-again"} {
		if !strings.Contains(string(args), want+"\x00") {
			t.Errorf("%q is not in %q", want, args)
		}
	}
	model, err := os.ReadFile(filepath.Join(out, "config.json"))
	if err != nil || strings.Contains(string(model), "\uFFFD") || strings.Contains(string(model), `\ufffd`) {
		t.Errorf("config.json has other names than there are (%v): %.600s", err, model)
	}
}
