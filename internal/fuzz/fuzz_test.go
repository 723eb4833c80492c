package main

import (
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"
)

// TestTargets: every fuzz target of the tree is listed, and holds what it does with an input
// to limits.
func TestTargets(t *testing.T) {
	const root = "../.."
	list, err := targets(root, regexp.MustCompile("."))
	if err != nil {
		t.Fatal(err)
	}
	var listed, found []string
	for _, x := range list {
		listed = append(listed, x.name)
	}
	err = filepath.WalkDir(root, func(path string, entry fs.DirEntry, err error) error {
		if err != nil || !strings.HasSuffix(path, "_test.go") {
			return err
		}
		text, err := os.ReadFile(path)
		for _, m := range regexp.MustCompile(`(?m)^func (Fuzz\w*)\(`).FindAllSubmatch(text, -1) {
			found = append(found, string(m[1]))
		}
		checkLimits(t, path)
		return err
	})
	slices.Sort(listed)
	slices.Sort(found)
	if err != nil || len(found) == 0 || !slices.Equal(listed, found) {
		t.Errorf("%v: listed are\n%v, expected\n%v", err, listed, found)
	}
	if some, err := targets(root, regexp.MustCompile(`/seq\.FuzzFile$`)); err != nil || len(some) != 1 || some[0] != (target{"sftseq/seq", "FuzzFile"}) {
		t.Errorf("%v, %v", some, err)
	}
}

// checkLimits: a function that begins fuzzing has a call of the limits for each.
func checkLimits(t *testing.T, path string) {
	file, err := parser.ParseFile(token.NewFileSet(), path, nil, parser.SkipObjectResolution)
	if err != nil {
		t.Error(err)
		return
	}
	for _, d := range file.Decls {
		begun, limits := 0, 0
		ast.Inspect(d, func(n ast.Node) bool {
			if call, ok := n.(*ast.CallExpr); ok {
				if f, ok := call.Fun.(*ast.SelectorExpr); ok && f.Sel.Name == "Fuzz" {
					begun++
				} else if ok && f.Sel.Name == "Limits" {
					limits++
				}
			}
			return true
		})
		if begun != limits {
			t.Errorf("%s: %s begins fuzzing %d times and sets fuzztest.Limits %d times", path, d.(*ast.FuncDecl).Name.Name, begun, limits)
		}
	}
}

// TestParse: the last line counts, and none is an error.
func TestParse(t *testing.T) {
	const out = `fuzz: elapsed: 0s, gathering baseline coverage: 0/120 completed
fuzz: elapsed: 3s, execs: 1368 (425/sec), new interesting: 31 (total: 151)
fuzz: elapsed: 1m0s, execs: 13680 (0/sec), new interesting: 32 (total: 152)
PASS
`
	if r, err := parse([]byte(out)); err != nil || r != (result{13680, 32, time.Minute}) {
		t.Errorf("%+v, %v", r, err)
	}
	if r, err := parse([]byte("PASS\n")); err == nil {
		t.Errorf("%+v without a line of the fuzzer's", r)
	}
}
