package main

import (
	"bytes"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/sftseq/sftseq/internal/must"
)

// compiler is a script that replaces glslang. It copies the source to the output, and fails for
// sources that contain "error".
const compiler = `#!/bin/sh
while [ $# -gt 1 ]; do
	case $1 in -o) out=$2; shift;; esac
	shift
done
! grep error "$1" && cp "$1" "$out"
`

// TestRun checks that gen compiles only the shaders whose source, included file or SPIR-V has
// changed, and those that failed before. The error names a shader that fails, and the shader keeps its
// SPIR-V.
func TestRun(t *testing.T) {
	m := maker{dir: t.TempDir(), plain: tools{compiler: filepath.Join(t.TempDir(), "compiler"), validator: "true"}}
	write := func(path, text string) {
		t.Helper()
		must.Succeed(t, os.WriteFile(path, []byte(text), 0o777))
	}
	file := func(name string) string { return filepath.Join(m.dir, name) }
	run := func(want string, failure string) {
		t.Helper()
		var out bytes.Buffer
		err := m.run(&out)
		if got := strings.ReplaceAll(out.String(), m.dir+string(filepath.Separator), ""); got != want {
			t.Errorf("output %q, want %q", got, want)
		}
		if (err == nil) != (failure == "") || err != nil && !strings.Contains(err.Error(), failure) {
			t.Errorf("error %v, want %q", err, failure)
		}
	}
	write(m.plain.compiler, compiler)
	write(file("a.comp"), "#include \"x.glsl\"\n")
	write(file("b.comp"), "b")
	write(file("x.glsl"), "x")
	write(file("c.spv"), "c")
	run("a.spv\nb.spv\nc.spv has no source: removed\n", "")
	run("", "")
	write(file("x.glsl"), "y")
	run("a.spv\n", "")
	write(file("b.spv"), "touched")
	run("b.spv\n", "")
	write(file("a.comp"), "an error")
	write(file("b.comp"), "better")
	run("b.spv\n", "a.comp: ")
	run("", "an error")
	write(file("a.comp"), "#extension GL_KHR_cooperative_matrix : require\n")
	run("", "-glslang-coopmat")
	m.coopmat.compiler = m.plain.compiler
	run("a.spv\n", "")
	m.coopmat.compiler = ""
	run("", "")
	m.plain.validator = "false"
	write(file("b.comp"), "best")
	run("", "b.comp: false: ")
	if text, err := os.ReadFile(file("b.spv")); err != nil || string(text) != "better" {
		t.Errorf("b.spv contains %q, want the previous SPIR-V; error %v", text, err)
	}
}
