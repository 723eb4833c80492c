// Gen implements "make shaders". It compiles the shaders whose source or SPIR-V does not match the
// recorded checksums, validates the SPIR-V and records the checksums of source and SPIR-V.
package main

import (
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"

	"github.com/sftseq/sftseq/internal/atomicfile"
	"github.com/sftseq/sftseq/shaders/internal/source"
)

// maker compiles shaders to SPIR-V. The field coopmat holds the newer tools that shaders with
// cooperative matrices need.
type maker struct {
	dir            string // directory of the shaders
	plain, coopmat tools
}

// tools are the external programs.
type tools struct {
	compiler  string // glslang; "" if these shaders cannot be compiled
	validator string // spirv-val; "" skips validation
}

func main() {
	var m maker
	flag.StringVar(&m.dir, "dir", "shaders", "directory of the shaders")
	flag.StringVar(&m.plain.compiler, "glslang", "glslangValidator",
		"compiler for shaders without GL_KHR_cooperative_matrix")
	flag.StringVar(&m.plain.validator, "spirv-val", "spirv-val",
		"validator for shaders without GL_KHR_cooperative_matrix")
	flag.StringVar(&m.coopmat.compiler, "glslang-coopmat", "", "compiler that knows GL_KHR_cooperative_matrix")
	flag.StringVar(&m.coopmat.validator, "spirv-val-coopmat", "", "validator for shaders with GL_KHR_cooperative_matrix")
	flag.Parse()
	if err := m.run(os.Stdout); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

// run updates the SPIR-V and the record. A shader that fails keeps its old SPIR-V, and the others
// are still compiled.
func (m *maker) run(out io.Writer) error {
	shaders, err := source.Shaders(os.DirFS(m.dir))
	if err != nil {
		return err
	}
	record := filepath.Join(m.dir, source.SumsFile)
	text, err := os.ReadFile(record)
	if err != nil && !errors.Is(err, os.ErrNotExist) {
		return err
	}
	before, err := source.ParseSums(string(text))
	if err != nil {
		return err
	}
	after := source.Sums{}
	var failures []error
	for _, s := range shaders {
		path := filepath.Join(m.dir, s.Name+".spv")
		had, known := before[s.Name]
		binary, err := os.ReadFile(path)
		if known && err == nil && had == (source.Pair{Source: s.Sum, SPIRV: source.Sum(binary)}) {
			after[s.Name] = had
			continue
		}
		binary, err = m.compile(s)
		if err != nil {
			failures = append(failures, fmt.Errorf("%s.comp: %w", s.Name, err))
			if known {
				after[s.Name] = had
			}
			continue
		}
		if err := write(path, binary); err != nil {
			return err
		}
		after[s.Name] = source.Pair{Source: s.Sum, SPIRV: source.Sum(binary)}
		fmt.Fprintln(out, path)
	}
	if err := m.removeOthers(shaders, out); err != nil {
		return err
	}
	if len(failures) > 0 {
		failures = append(failures, errors.New("the SPIR-V of these shaders does not match their sources"))
	}
	return errors.Join(append(failures, write(record, []byte(after.String())))...)
}

// compile compiles a shader and returns its SPIR-V.
func (m *maker) compile(s source.Shader) ([]byte, error) {
	tools := m.plain
	if s.Cooperative {
		tools = m.coopmat
		if tools.compiler == "" {
			return nil, errors.New("the shader or its SPIR-V is new or has changed: expected a compiler that " +
				"knows GL_KHR_cooperative_matrix as -glslang-coopmat (see make shaders)")
		}
	}
	temporary, err := os.CreateTemp("", s.Name+".*.spv")
	if err != nil {
		return nil, err
	}
	path := temporary.Name()
	defer os.Remove(path)
	if err := temporary.Close(); err != nil {
		return nil, err
	}
	if err := command(tools.compiler,
		source.CompilerArguments(m.dir, filepath.Join(m.dir, s.Name+".comp"), path)...); err != nil {
		return nil, err
	}
	if tools.validator != "" {
		if err := command(tools.validator, source.ValidatorArguments(path)...); err != nil {
			return nil, err
		}
	}
	return os.ReadFile(path)
}

// command runs a program. The error includes the program's output.
func command(name string, args ...string) error {
	out, err := exec.Command(name, args...).CombinedOutput()
	if err != nil {
		return fmt.Errorf("%s: %w\n%s", name, err, out)
	}
	return nil
}

// removeOthers removes SPIR-V without a source.
func (m *maker) removeOthers(shaders []source.Shader, out io.Writer) error {
	sources := map[string]bool{}
	for _, s := range shaders {
		sources[s.Name] = true
	}
	binaries, err := filepath.Glob(filepath.Join(m.dir, "*.spv"))
	if err != nil {
		return err
	}
	for _, path := range binaries {
		if !sources[strings.TrimSuffix(filepath.Base(path), ".spv")] {
			fmt.Fprintln(out, path, "has no source: removed")
			if err := os.Remove(path); err != nil {
				return err
			}
		}
	}
	return nil
}

func write(path string, data []byte) error {
	return atomicfile.WriteBytes(path, data)
}
