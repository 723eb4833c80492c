package main

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
)

// licenceFile matches the names of files and folders with licence terms, patents or authors.
var licenceFile = regexp.MustCompile(`(?i)^(licen[sc]es?|copying|notice|patents|authors)([.-].*)?$`)

// licenceText matches a README that contains the licence of its module.
var licenceText = regexp.MustCompile(`(?i)permission is hereby granted|redistribution and use in source`)

// goPackage is a package in the output of go list.
type goPackage struct {
	Dir      string
	Standard bool
	Module   *struct {
		Path, Version, Dir string
		Main               bool
	}
}

// notice returns the licences of Go and of every module linked into the program. They include the
// licences of code that a module has copied from other projects. A text that several modules share
// appears once.
func (r *release) notice(ctx context.Context, t target) ([]byte, error) {
	list, err := t.goCommand(ctx, r.root, "list", "-deps", "-json=Dir,Standard,Module", "./cmd/sftseq")
	if err != nil {
		return nil, err
	}
	goroot, err := t.goCommand(ctx, r.root, "env", "GOROOT")
	if err != nil {
		return nil, err
	}
	namesByText := map[string][]string{} // names of the files with a licence, by its text
	if err := addLicences(namesByText, "Go", strings.TrimSpace(string(goroot))); err != nil {
		return nil, err
	}
	seen := map[string]bool{}
	for d := json.NewDecoder(bytes.NewReader(list)); ; {
		var p goPackage
		if err := d.Decode(&p); errors.Is(err, io.EOF) {
			break
		} else if err != nil {
			return nil, fmt.Errorf("go list: %w", err)
		}
		if p.Standard || p.Module == nil || p.Module.Main {
			continue
		}
		// the package's folder and its parents up to the module's folder
		for dir := p.Dir; !seen[dir]; dir = filepath.Dir(dir) {
			seen[dir] = true
			name := p.Module.Path + " " + p.Module.Version
			if dir == p.Module.Dir {
				if err := addLicences(namesByText, name, dir); err != nil {
					return nil, err
				}
				break
			}
			within, err := filepath.Rel(p.Module.Dir, dir)
			if err != nil || !filepath.IsLocal(within) {
				return nil, fmt.Errorf("%s: expected a folder in %s", dir, p.Module.Dir)
			}
			if _, err := addFiles(namesByText, name+", "+filepath.ToSlash(within), dir, licenceFile); err != nil {
				return nil, err
			}
		}
	}
	return noticeText(namesByText), nil
}

// addLicences adds the licences of a module. A module without a licence is an error.
func addLicences(namesByText map[string][]string, name, dir string) error {
	if n, err := addFiles(namesByText, name, dir, licenceFile); err != nil || n > 0 {
		return err
	}
	readme, err := os.ReadFile(filepath.Join(dir, "README.md"))
	if err != nil || !licenceText.Match(readme) {
		return fmt.Errorf("%s: %s: expected a licence file, or a README.md with the licence, found neither", name, dir)
	}
	namesByText[string(readme)] = append(namesByText[string(readme)], name+", README.md")
	return nil
}

// addFiles adds the files in the folder dir with names that match the pattern, and all files below its
// subfolders with such names. It skips Go files and returns the number of added files.
func addFiles(namesByText map[string][]string, name, dir string, pattern *regexp.Regexp) (n int, err error) {
	entries, err := os.ReadDir(dir)
	if err != nil {
		return 0, err
	}
	for _, e := range entries {
		path := filepath.Join(dir, e.Name())
		switch {
		case !pattern.MatchString(e.Name()):
		case e.IsDir(): // folders such as licenses/, with files of any name
			more, err := addFiles(namesByText, name+", "+e.Name(), path, regexp.MustCompile(`.`))
			if err != nil {
				return 0, err
			}
			n += more
		case filepath.Ext(path) != ".go":
			text, err := os.ReadFile(path)
			if err != nil {
				return 0, err
			}
			namesByText[string(text)] = append(namesByText[string(text)], name+", "+e.Name())
			n++
		}
	}
	return n, nil
}

// noticeText returns the content of NOTICE: each text after the names of its files.
func noticeText(namesByText map[string][]string) []byte {
	for _, names := range namesByText {
		slices.Sort(names)
	}
	texts := slices.SortedFunc(maps.Keys(namesByText), func(a, b string) int {
		return strings.Compare(namesByText[a][0], namesByText[b][0])
	})
	var out bytes.Buffer
	out.WriteString("sftseq contains the following software. The licence of sftseq itself is in LICENSE.\n")
	rule := strings.Repeat("=", 78)
	for _, text := range texts {
		terms := strings.Trim(strings.ReplaceAll(text, "\r\n", "\n"), "\n")
		fmt.Fprintf(&out, "\n%s\n%s\n%s\n\n%s\n", rule, strings.Join(namesByText[text], "\n"), rule, terms)
	}
	return out.Bytes()
}
