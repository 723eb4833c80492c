package docs_test

import (
	"bytes"
	"cmp"
	"flag"
	"fmt"
	"os"
	"regexp"
	"slices"
	"strings"
	"testing"
)

var update = flag.Bool("update", false, "write index.md anew")

//go:generate go test . -run TestIndex -update

// TestIndex: index.md is what index.txt and the comments in the code make it.
// With -update it is written anew.
func TestIndex(t *testing.T) {
	list, err := os.ReadFile("index.txt")
	if err != nil {
		t.Fatal(err)
	}
	want := indexPage(t, string(list))
	if *update && !t.Failed() {
		if err := os.WriteFile("index.md", want, 0o666); err != nil {
			t.Fatal(err)
		}
	}
	if page, err := os.ReadFile("index.md"); err != nil || !bytes.Equal(page, want) {
		t.Errorf("index.md is stale (%v): run go generate ./docs", err)
	}
}

const indexHead = `<!-- Made of index.txt and the comments in the code by: go generate ./docs -->
# Where is what

This page leads from a subject to the functions, types and constants that it is made of, in
sftseq, which trains and serves the Sampling Foundational Transformer (SFT). The
[architecture](architecture.md) says why they are as they are, the [glossary](glossary.md)
what the words mean. Each name has the first sentence of its comment in the code.
`

// indexPage is index.md for the lines of index.txt.
func indexPage(t *testing.T, list string) []byte {
	out := bytes.NewBufferString(indexHead)
	declared := map[string]map[string]string{}
	var rows []string // of one area
	finish := func() {
		slices.SortFunc(rows, func(a, b string) int { return cmp.Compare(strings.ToLower(a), strings.ToLower(b)) })
		for _, row := range rows {
			indexRow(t, out, declared, row)
		}
		rows = nil
	}
	for line := range strings.Lines(list) {
		line = strings.TrimSpace(line)
		if area, ok := strings.CutPrefix(line, "## "); ok {
			finish()
			fmt.Fprintf(out, "\n## %s\n\n| subject | where | what |\n|---|---|---|\n", area)
		} else if line != "" && !strings.HasPrefix(line, "#") {
			rows = append(rows, line)
		}
	}
	finish()
	return out.Bytes()
}

// indexRow writes a subject, which has a row of the table for each name.
func indexRow(t *testing.T, out *bytes.Buffer, declared map[string]map[string]string, row string) {
	subject, places, ok := strings.Cut(row, " | ")
	if !ok {
		t.Errorf("index.txt: %q: expected SUBJECT | FILE: NAMES", row)
	}
	for place := range strings.SplitSeq(places, "; ") {
		file, names, _ := strings.Cut(place, ": ")
		if declared[file] == nil {
			declared[file] = declarations(t, "index.txt", file)
		}
		for name := range strings.SplitSeq(names, ", ") {
			what, ok := declared[file][name]
			if !ok {
				t.Errorf("index.txt: %q: %s declares no %q", row, file, name)
			}
			what = link.ReplaceAllString(strings.TrimSuffix(what, ":"), "$1$2")
			fmt.Fprintf(out, "| %s | `%s: %s` | %s |\n", subject, file, name, plain.Replace(what))
			subject = ""
		}
	}
}

// link is a link of a comment to a name.
var link = regexp.MustCompile(`(^|[ (])\[([A-Za-z][\w.]*)\]`)

// plain keeps Markdown from taking signs of a comment as its own.
var plain = strings.NewReplacer("|", `\|`, "*", `\*`, "_", `\_`, "<", `\<`, "`", "\\`", "[", `\[`)
