package shaders

import (
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/sftseq/sftseq/internal/must"
	"github.com/sftseq/sftseq/internal/testenv"
	"github.com/sftseq/sftseq/shaders/internal/source"
)

// readShaders returns the sources of all shaders.
func readShaders(t *testing.T) []source.Shader {
	t.Helper()
	list := must.Get(source.Shaders(os.DirFS(".")))(t)
	if len(list) == 0 {
		t.Fatal("no shaders")
	}
	return list
}

// TestSources checks that every shader has SPIR-V compiled from its current source, and that there
// is no other SPIR-V.
func TestSources(t *testing.T) {
	text := must.Get(os.ReadFile(source.SumsFile))(t)
	sums := must.Get(source.ParseSums(string(text)))(t)
	if sums.String() != string(text) {
		t.Errorf("%s differs from the output of make shaders", source.SumsFile)
	}
	binaries := map[string]bool{}
	names := must.Get(filepath.Glob("*.spv"))(t)
	for _, name := range names {
		binaries[strings.TrimSuffix(name, ".spv")] = true
	}
	for _, s := range readShaders(t) {
		sum, known := sums[s.Name]
		delete(sums, s.Name)
		if !binaries[s.Name] {
			t.Errorf("%s.comp has no SPIR-V: run make shaders", s.Name)
			continue
		}
		delete(binaries, s.Name)
		binary, err := os.ReadFile(s.Name + ".spv")
		switch {
		case err != nil:
			t.Error(err)
		case !known || sum.Source != s.Sum:
			t.Errorf("%s.spv was not compiled from the current %s.comp: run make shaders", s.Name, s.Name)
		case sum.SPIRV != source.Sum(binary):
			t.Errorf("%s.spv differs from the output of make shaders: run it again", s.Name)
		}
	}
	for name := range binaries {
		t.Errorf("%s.spv has no source: run make shaders", name)
	}
	if len(sums) > 0 {
		t.Errorf("%s names nonexistent shaders: %v", source.SumsFile, slices.Sorted(maps.Keys(sums)))
	}
}

// TestCompilers checks the shaders without cooperative matrices: the SPIR-V is valid, and the
// compiler accepts the sources.
func TestCompilers(t *testing.T) {
	testenv.Long(t, "starts two programs for each shader")
	testenv.NeedPrograms(t, "glslangValidator", "spirv-val")
	testCompilers(t, false, "glslangValidator", "spirv-val")
}

// TestNewerCompilers performs the checks of TestCompilers on the shaders with cooperative matrices,
// for which newer tools are needed.
func TestNewerCompilers(t *testing.T) {
	testenv.Long(t, "starts two programs for each shader")
	compiler, validator := "../.tools/bin/glslang", "../.tools/bin/spirv-val"
	testenv.NeedFile(t, "newer shader tools", compiler)
	testenv.NeedFile(t, "newer shader tools", validator)
	testCompilers(t, true, compiler, validator)
}

func testCompilers(t *testing.T, cooperative bool, compiler, validator string) {
	tested := 0
	for _, s := range readShaders(t) {
		if s.Cooperative != cooperative {
			continue
		}
		tested++
		t.Run(s.Name, func(t *testing.T) {
			call(t, validator, source.ValidatorArguments(s.Name+".spv")...)
			call(t, compiler, source.CompilerArguments(".", s.Name+".comp", filepath.Join(t.TempDir(), "out.spv"))...)
		})
	}
	if tested == 0 {
		t.Error("no shaders")
	}
}

func call(t *testing.T, name string, args ...string) {
	t.Helper()
	if out, err := exec.Command(name, args...).CombinedOutput(); err != nil {
		t.Errorf("%s: %v\n%s", filepath.Base(name), err, out)
	}
}

// TestWords checks that the embedded file of every shader begins with SPIR-V's magic number and is
// longer than a SPIR-V header, and that Words returns an error for an unknown name.
func TestWords(t *testing.T) {
	for _, s := range readShaders(t) {
		words, err := Words(s.Name)
		if err != nil {
			t.Error(err)
			continue
		}
		const magic, header = 0x07230203, 5
		if len(words) <= header || words[0] != magic {
			t.Errorf("%s: %d words, the first of them %#x, want more than %d, the first of them %#x", s.Name,
				len(words), words[:min(1, len(words))], header, magic)
		}
	}
	must.Fail(t, `"nothing"`)(Words("nothing"))
}
