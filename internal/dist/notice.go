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

// licenceFile matches the names of files with terms and authors.
var licenceFile = regexp.MustCompile(`(?i)^(licen[sc]es?|copying|notice|patents|authors)([.-].*)?$`)

// granted matches the README of a module that contains its licence.
var granted = regexp.MustCompile(`(?i)permission is hereby granted|redistribution and use in source`)

// linked is a package in the output of go list.
type linked struct {
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
	of := map[string][]string{} // names of licence files by text
	if err := addLicences(of, "Go", strings.TrimSpace(string(goroot))); err != nil {
		return nil, err
	}
	seen := map[string]bool{}
	for d := json.NewDecoder(bytes.NewReader(list)); ; {
		var p linked
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
				if err := addLicences(of, name, dir); err != nil {
					return nil, err
				}
				break
			}
			within, err := filepath.Rel(p.Module.Dir, dir)
			if err != nil || !filepath.IsLocal(within) {
				return nil, fmt.Errorf("%s: expected a folder in %s", dir, p.Module.Dir)
			}
			if _, err := addFiles(of, name+", "+filepath.ToSlash(within), dir, licenceFile); err != nil {
				return nil, err
			}
		}
	}
	return noticeText(of), nil
}

// addLicences adds the licences of a module. A module without a licence is an error.
func addLicences(of map[string][]string, name, dir string) error {
	if n, err := addFiles(of, name, dir, licenceFile); err != nil || n > 0 {
		return err
	}
	readme, err := os.ReadFile(filepath.Join(dir, "README.md"))
	if err != nil || !granted.Match(readme) {
		return fmt.Errorf("%s: %s: expected a file with its licence, or a README.md with it, found neither", name, dir)
	}
	of[string(readme)] = append(of[string(readme)], name+", README.md")
	return nil
}

// addFiles adds the files of a folder with matching names and returns their number.
func addFiles(of map[string][]string, name, dir string, called *regexp.Regexp) (n int, err error) {
	entries, err := os.ReadDir(dir)
	if err != nil {
		return 0, err
	}
	for _, e := range entries {
		path := filepath.Join(dir, e.Name())
		switch {
		case !called.MatchString(e.Name()):
		case e.IsDir(): // folders such as licenses/, with files of any name
			more, err := addFiles(of, name+", "+e.Name(), path, regexp.MustCompile(`.`))
			if err != nil {
				return 0, err
			}
			n += more
		case filepath.Ext(path) != ".go":
			text, err := os.ReadFile(path)
			if err != nil {
				return 0, err
			}
			of[string(text)] = append(of[string(text)], name+", "+e.Name())
			n++
		}
	}
	return n, nil
}

// noticeText returns every text preceded by the names of its files.
func noticeText(of map[string][]string) []byte {
	for _, names := range of {
		slices.Sort(names)
	}
	texts := slices.SortedFunc(maps.Keys(of), func(a, b string) int { return strings.Compare(of[a][0], of[b][0]) })
	var out bytes.Buffer
	out.WriteString("sftseq contains the following software. Its own licence is in LICENSE.\n")
	rule := strings.Repeat("=", 78)
	for _, text := range texts {
		terms := strings.Trim(strings.ReplaceAll(text, "\r\n", "\n"), "\n")
		fmt.Fprintf(&out, "\n%s\n%s\n%s\n\n%s\n", rule, strings.Join(of[text], "\n"), rule, terms)
	}
	return out.Bytes()
}
