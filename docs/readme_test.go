package docs

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/sftseq/sftseq/internal/must"
)

// TestReadmeProgram checks that the Go program in README.md compiles.
func TestReadmeProgram(t *testing.T) {
	_, program, _ := strings.Cut(string(must.Get(os.ReadFile("../README.md"))(t)), "```go\n")
	program, _, found := strings.Cut(program, "```")
	if !found {
		t.Fatal("README.md has no Go program")
	}
	file := filepath.Join(t.TempDir(), "main.go")
	must.Succeed(t, os.WriteFile(file, []byte(program), 0o666))
	check := exec.Command("go", "vet", file)
	check.Dir = ".."
	if text, err := check.CombinedOutput(); err != nil {
		t.Errorf("%v\n%s", err, text)
	}
}
