package main

import (
	"bytes"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/sftseq/sftseq/internal/must"
)

const root = "../.."

// checkout copies the working tree to a folder as the only commit of a repository. Equal trees become
// equal commits.
func checkout(t *testing.T) string {
	t.Helper()
	dir := t.TempDir()
	for name := range strings.SplitSeq(command(t, root, "git", "ls-files", "-z", "--cached", "--others",
		"--exclude-standard"), "\x00") {
		info, err := os.Lstat(filepath.Join(root, name))
		if name == "" || err != nil || !info.Mode().IsRegular() { // the end of the list, a deleted file or a link
			continue
		}
		text := must.Get(os.ReadFile(filepath.Join(root, name)))(t)
		path := filepath.Join(dir, name)
		must.Succeed(t, os.MkdirAll(filepath.Dir(path), 0o777))
		must.Succeed(t, os.WriteFile(path, text, info.Mode().Perm()))
	}
	command(t, dir, "git", "init", "--quiet")
	command(t, dir, "git", "add", "--all")
	command(t, dir, "git", "commit", "--quiet", "--message", "all")
	return dir
}

// command runs a command in a folder and returns its standard output.
func command(t *testing.T, dir, name string, args ...string) string {
	t.Helper()
	c := exec.CommandContext(t.Context(), name, args...)
	c.Dir = dir
	const at = "2030-01-02T03:04:05Z"
	c.Env = append(os.Environ(), "GIT_CONFIG_GLOBAL=/dev/null", "GIT_AUTHOR_NAME=a", "GIT_AUTHOR_EMAIL=a",
		"GIT_COMMITTER_NAME=a", "GIT_COMMITTER_EMAIL=a",
		"GIT_AUTHOR_DATE="+at, "GIT_COMMITTER_DATE="+at)
	var errs bytes.Buffer
	c.Stderr = &errs
	out, err := c.Output()
	if err != nil {
		t.Fatalf("%s %s: %v\n%s%s", name, strings.Join(args, " "), err, out, &errs)
	}
	return string(out)
}
