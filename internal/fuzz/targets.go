package main

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"io"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
)

// target is a fuzz target of a package.
type target struct{ pkg, name string }

func (t target) String() string { return t.pkg + "." + t.name }

// targets returns the fuzz targets below dir whose full names, PACKAGE.NAME, match the regular expression.
// Like go test, it identifies targets by the prefix Fuzz.
func targets(dir string, match *regexp.Regexp) (out []target, err error) {
	list := exec.Command("go", "list", "-json=Dir,ImportPath,TestGoFiles,XTestGoFiles,IgnoredGoFiles", "./...")
	list.Dir = dir
	text, err := list.Output()
	if err != nil {
		return nil, fmt.Errorf("go list: %w", withStderr(err))
	}
	for d := json.NewDecoder(bytes.NewReader(text)); ; {
		var p struct {
			Dir, ImportPath                           string
			TestGoFiles, XTestGoFiles, IgnoredGoFiles []string
		}
		if err := d.Decode(&p); errors.Is(err, io.EOF) {
			return out, nil
		} else if err != nil {
			return nil, fmt.Errorf("go list: %w", err)
		}
		for _, file := range append(p.TestGoFiles, p.XTestGoFiles...) {
			names, err := declared(filepath.Join(p.Dir, file))
			if err != nil {
				return nil, err
			}
			for _, name := range names {
				if t := (target{p.ImportPath, name}); match.MatchString(t.String()) {
					out = append(out, t)
				}
			}
		}
		for _, file := range p.IgnoredGoFiles { // targets for other platforms would never run
			names, err := declared(filepath.Join(p.Dir, file))
			if err != nil {
				return nil, err
			}
			if len(names) > 0 && strings.HasSuffix(file, "_test.go") {
				return nil, fmt.Errorf("%s: found fuzz targets %v in a file that is not built on this platform, "+
					"expected a file without build constraints", filepath.Join(p.Dir, file), names)
			}
		}
	}
}

// declared returns the names of the fuzz targets that a file declares.
func declared(path string) (names []string, err error) {
	file, err := parser.ParseFile(token.NewFileSet(), path, nil, parser.SkipObjectResolution)
	if err != nil {
		return nil, err
	}
	for _, d := range file.Decls {
		if f, ok := d.(*ast.FuncDecl); ok && f.Recv == nil && strings.HasPrefix(f.Name.Name, "Fuzz") {
			names = append(names, f.Name.Name)
		}
	}
	return names, nil
}

// withStderr adds the standard error of a program to its error.
func withStderr(err error) error {
	if exit, ok := errors.AsType[*exec.ExitError](err); ok {
		return fmt.Errorf("%w: %s", err, bytes.TrimSpace(exit.Stderr))
	}
	return err
}
