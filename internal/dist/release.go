package main

import (
	"bytes"
	"context"
	"crypto/sha256"
	"debug/buildinfo"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/dustin/go-humanize"

	"github.com/sftseq/sftseq/internal/atomicfile"
)

// release builds the archives of a commit.
type release struct {
	root    string // root directory of the module
	out     string // directory for the archives and SHA256SUMS
	scratch string // directory for temporary files
}

// build writes the archives of the targets, and then their checksums.
func (r *release) build(ctx context.Context, targets []target) error {
	if err := os.MkdirAll(r.out, 0o777); err != nil {
		return err
	}
	common, err := r.commonFiles(ctx)
	if err != nil {
		return err
	}
	var sums []string
	for _, t := range targets {
		name, content, err := r.archive(ctx, t, common)
		if err != nil {
			return err
		}
		if err := atomicfile.WriteBytes(filepath.Join(r.out, name), content); err != nil {
			return err
		}
		fmt.Printf("%s: %s\n", filepath.Join(r.out, name), humanize.IBytes(uint64(len(content))))
		sums = append(sums, fmt.Sprintf("%x  %s\n", sha256.Sum256(content), name))
	}
	slices.SortFunc(sums, func(a, b string) int { return strings.Compare(a[64:], b[64:]) })
	return atomicfile.WriteBytes(filepath.Join(r.out, "SHA256SUMS"), []byte(strings.Join(sums, "")))
}

// commonFiles returns the files that are equal in all archives, by their names in the archive.
func (r *release) commonFiles(ctx context.Context) (map[string][]byte, error) {
	program, _, err := r.program(ctx, host())
	if err != nil {
		return nil, err
	}
	files := map[string][]byte{}
	for name, args := range map[string][]string{
		"man/man1/sftseq.1":       {"man"},
		"completions/sftseq.bash": {"completion", "bash"},
		"completions/_sftseq":     {"completion", "zsh"},
		"completions/sftseq.fish": {"completion", "fish"},
		"completions/sftseq.ps1":  {"completion", "powershell"},
	} {
		c := exec.CommandContext(ctx, program, args...)
		var errs bytes.Buffer
		c.Stderr = &errs
		if files[name], err = c.Output(); err != nil {
			return nil, fmt.Errorf("sftseq %s: %w\n%s", strings.Join(args, " "), err, &errs)
		}
	}
	for _, name := range []string{"LICENSE", "README.md"} {
		if files[name], err = os.ReadFile(filepath.Join(r.root, name)); err != nil {
			return nil, err
		}
	}
	return files, nil
}

// archive returns the archive for a target and its file name.
func (r *release) archive(ctx context.Context, t target, common map[string][]byte) (name string,
	content []byte, err error) {
	program, from, err := r.program(ctx, t)
	if err != nil {
		return "", nil, err
	}
	binary, err := os.ReadFile(program)
	if err != nil {
		return "", nil, err
	}
	licences, err := r.notice(ctx, t)
	if err != nil {
		return "", nil, err
	}
	folder := "sftseq-" + from.version + "-" + t.suffix()
	files := []file{{folder + "/" + t.executable("sftseq"), binary, 0o755}, {folder + "/NOTICE", licences, 0o644}}
	for name, content := range common {
		files = append(files, file{folder + "/" + name, content, 0o644})
	}
	slices.SortFunc(files, func(a, b file) int { return strings.Compare(a.name, b.name) })
	if t.system == "windows" {
		content, err = zipArchive(files, from.time)
		return folder + ".zip", content, err
	}
	content, err = tarArchive(files, from.time)
	return folder + ".tar.gz", content, err
}

// commit identifies the source of a program.
type commit struct {
	version string
	time    time.Time
}

// program builds the program for a target and returns its path and commit. The result does not
// depend on the path of the checkout or, without Vulkan, on the presence of a C compiler.
func (r *release) program(ctx context.Context, t target) (path string, from commit, err error) {
	path = filepath.Join(r.scratch, t.executable("sftseq-"+t.suffix()))
	if _, err := t.goCommand(ctx, r.root, "build", "-trimpath", "-buildvcs=true", "-ldflags=-s -w", "-o", path,
		"./cmd/sftseq"); err != nil {
		return "", commit{}, err
	}
	info, err := buildinfo.ReadFile(path)
	if err != nil {
		return "", commit{}, err
	}
	from.version = info.Main.Version
	for _, s := range info.Settings {
		if s.Key == "vcs.time" {
			from.time, err = time.Parse(time.RFC3339, s.Value)
		}
	}
	if err == nil && from.time.IsZero() {
		err = errors.New("found none: build releases in a git checkout")
	}
	if err != nil {
		return "", commit{}, fmt.Errorf("%s: expected the time of the commit in the program: %w", path, err)
	}
	return path, from, nil
}
