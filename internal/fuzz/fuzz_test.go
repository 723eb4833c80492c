package main

import (
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/sftseq/sftseq/internal/must"
	"github.com/sftseq/sftseq/internal/testenv"
)

// TestTargets checks that targets lists every fuzz target of the module, and that every target
// limits the resources for each input.
func TestTargets(t *testing.T) {
	testenv.Long(t, "lists the tests of every package")
	const root = "../.."
	list, err := targets(root, regexp.MustCompile("."))
	must.Succeed(t, err)
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
		t.Errorf("got error %v and targets\n%v, want\n%v", err, listed, found)
	}
	if some, err := targets(root, regexp.MustCompile(`/seq\.FuzzFile$`)); err != nil || len(some) != 1 ||
		some[0] != (target{"github.com/sftseq/sftseq/seq", "FuzzFile"}) {
		t.Errorf("got targets %v, error %v; want [github.com/sftseq/sftseq/seq.FuzzFile]", some, err)
	}
}

// checkLimits checks that each top-level declaration in the file at path contains at least as many calls of
// testenv.FuzzLimits as calls of Fuzz.
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
				} else if ok && f.Sel.Name == "FuzzLimits" {
					limits++
				}
			}
			return true
		})
		if begun > limits { // other tests may also limit their memory
			name := "a declaration outside functions"
			if f, ok := d.(*ast.FuncDecl); ok {
				name = f.Name.Name
			}
			t.Errorf("%s: %s calls Fuzz %d times and testenv.FuzzLimits %d times, want at least %[3]d times", path,
				name, begun, limits)
		}
	}
}

// TestParse checks that parse returns the last report, or an error if there is no report.
func TestParse(t *testing.T) {
	const out = `fuzz: elapsed: 0s, gathering baseline coverage: 0/120 completed
fuzz: elapsed: 3s, execs: 1368 (425/sec), new interesting: 31 (total: 151)
fuzz: elapsed: 1m0s, execs: 13680 (0/sec), new interesting: 32 (total: 152)
PASS
`
	want := result{13680, 32, time.Minute}
	if r, err := parse([]byte(out)); err != nil || r != want {
		t.Errorf("got %+v, error %v; want %+v", r, err, want)
	}
	if r, err := parse([]byte("PASS\n")); err == nil {
		t.Errorf("got %+v for output without a report, want an error", r)
	}
}

// TestTimeIsOver checks that deadlineFailure matches the failure that may occur when the time ends, but
// no failure of an input.
func TestTimeIsOver(t *testing.T) {
	const report = "fuzz: elapsed: 10s, execs: 78949 (5859/sec), new interesting: 80 (total: 422)\n"
	for out, want := range map[string]bool{
		"--- FAIL: FuzzTable (10.12s)\n    context deadline exceeded\nFAIL\nexit status 1\n":                                                                              true,
		"--- FAIL: FuzzTable (10.12s)\n    --- FAIL: FuzzTable (0.00s)\n        table_test.go:8: context deadline exceeded\n    \n    Failing input written to x\nFAIL\n": false,
		"--- FAIL: FuzzTable (1.12s)\n    fuzzing process hung or terminated unexpectedly: exit status 2\n    Failing input written to x\nFAIL\n":                         false,
		"--- FAIL: FuzzTable (1.12s)\n    context deadline exceeded\n    Failing input written to x\nFAIL\n":                                                              false,
	} {
		if got := deadlineFailure.MatchString(report + out); got != want {
			t.Errorf("got %t, want %t for %s", got, want, out)
		}
	}
}

// TestCounted checks that only this module's packages and the parsers that they use guide the fuzzer.
func TestCounted(t *testing.T) {
	for name, want := range map[string]bool{
		"github.com/sftseq/sftseq": true, "github.com/sftseq/sftseq/seq": true,
		"github.com/sftseq/sftseq/seq_test": true, "archive/tar": true,
		"github.com/apache/arrow/go/v15/arrow/ipc": true,
		"main": false, "sftseqs": false, "net/http": false, "github.com/apache/arrow/go/v15/arrow/compute": false,
	} {
		if instrumented.MatchString(name) != want {
			t.Errorf("%s: got %v, want %v", name, !want, want)
		}
	}
}

// TestTool runs itself as a compiler wrapper, and checks that it removes the flag for coverage
// counters unless the package is instrumented.
func TestTool(t *testing.T) {
	const variable = "SFTSEQ_TEST_TOOL"
	if os.Getenv(variable) != "" {
		must.Succeed(t, tool([]string{os.Getenv(variable), "-p", os.Getenv("SFTSEQ_TEST_PACKAGE"),
			"-d=libfuzzer", "-o", "x"}))
		return
	}
	compiler := filepath.Join(t.TempDir(), "compile")
	must.Succeed(t, os.WriteFile(compiler, []byte("#!/bin/sh\necho \"args: $*\"\n"), 0o777))
	for name, want := range map[string]string{"net/http": "args: -p net/http -o x\n",
		"github.com/sftseq/sftseq/seq": "args: -p github.com/sftseq/sftseq/seq -d=libfuzzer -o x\n"} {
		c := exec.Command(os.Args[0], "-test.run=^TestTool$")
		c.Env = append(os.Environ(), variable+"="+compiler, "SFTSEQ_TEST_PACKAGE="+name)
		if out, err := c.CombinedOutput(); err != nil || !strings.Contains(string(out), want) {
			t.Errorf("%s: got error %v, want output %q, got\n%s", name, err, want, out)
		}
	}
}
