package main

import (
	"bytes"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// hostileText has what a terminal obeys: it sets a title, clears the screen, writes over
// the line, in 7 bits, in 8 bits and from right to left.
const hostileText = "\x1b]0;owned\x07\x1b[2Jgood\rbad\u009b31m\x7f\u202eabc\u2066"

// obeyed are the bytes that must not reach a terminal.
func obeyed(text string) bool {
	return strings.ContainsAny(text, "\x1b\x07\x00\r\u009b\x7f\u202e\u2066")
}

func TestVisible(t *testing.T) {
	plain := "größer 日本 👩‍🔬\tone\ntwo"
	text := hostileText + "\xff\xe6\x97" + plain + "\xf0\x9f"
	want := `\u001b]0;owned\u0007\u001b[2Jgood\u000dbad\u009b31m\u007f\u202eabc\u2066\xff\xe6\x97` + plain + `\xf0\x9f`
	for _, piece := range []int{1, 2, 3, 5, len(text)} {
		var out bytes.Buffer
		v := &visible{to: &out}
		for rest := []byte(text); len(rest) > 0; {
			n, err := v.Write(rest[:min(piece, len(rest))])
			if err != nil {
				t.Fatal(err)
			}
			rest = rest[n:]
		}
		v.finish()
		if out.String() != want {
			t.Errorf("in pieces of %d: %q, want %q", piece, out.String(), want)
		}
	}
}

func TestBriefly(t *testing.T) {
	for n := longestError - 5; n < longestError+3; n++ {
		text := "file: row 7: " + strings.Repeat("é", n/2) + ": the cause"
		got := briefly(text)
		if len(text) <= longestError {
			if got != text {
				t.Errorf("%d bytes were cut", len(text))
			}
			continue
		}
		if len(got) > longestError+60 || !strings.HasPrefix(got, "file: row 7: é") || !strings.HasSuffix(got, "é: the cause") || strings.ContainsRune(got, '\uFFFD') {
			t.Errorf("%d bytes: %.60q … %q", len(got), got, got[len(got)-60:])
		}
	}
}

// hostileData is a data set whose file, ids, labels and texts a terminal would obey.
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
	if err := os.WriteFile(from, []byte(rows.String()), 0o666); err != nil {
		t.Fatal(err)
	}
	dir = filepath.Join(root, "set\x1b[31m")
	status, _, errs := program(nil, "data", "convert", "--from", from, "--to", dir, "--text", "text", "--label", "label", "--id", "id", "--split", "0.6,0.2,0.2")
	if status != 0 {
		t.Fatal(errs)
	}
	if obeyed(errs) {
		t.Errorf("converting: %q", errs)
	}
	return dir
}

// TestHostileNames: nothing of a file reaches standard error as a terminal would obey it,
// and no error is longer than somebody reads.
func TestHostileNames(t *testing.T) {
	dir := hostileData(t)
	for _, args := range [][]string{
		{"data", "info", dir + "/none"}, {"data", "head", "--split", hostileText, dir}, {"data", "info", "--" + hostileText},
		{"eval", "--model", dir, "--data", dir}, {"train", "custom", "--data", dir, "--out", t.TempDir() + hostileText, "--steps", "1", "--select", hostileText},
		{hostileText}, {"data", "info", strings.Repeat("long/", 5000)},
	} {
		status, _, errs := program(nil, args...)
		if status == 0 || obeyed(errs) || len(errs) > 2*longestError {
			t.Errorf("%.60q: status %d, %d bytes: %.300q", args, status, len(errs), errs)
		}
	}
}
