// Package source reads the sources of shaders and the record of which SPIR-V
// was compiled from which.
package source

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"io/fs"
	"path"
	"regexp"
	"slices"
	"strings"
)

// Shader is a source file with what it includes.
type Shader struct {
	Name        string // base name, without .comp
	Sum         string // SHA-256 of the file and all it includes
	Cooperative bool   // asks for GL_KHR_cooperative_matrix, which older compilers lack
}

var (
	include     = regexp.MustCompile(`(?m)^[ \t]*#[ \t]*include[ \t]+["<]([^">\n]+)[">]`)
	cooperative = regexp.MustCompile(`(?m)^[ \t]*#[ \t]*extension[ \t]+GL_KHR_cooperative_matrix\b`)
)

// Shaders reads the shaders of a directory, by their names.
func Shaders(dir fs.FS) ([]Shader, error) {
	files, err := fs.Glob(dir, "*.comp")
	if err != nil {
		return nil, err
	}
	var list []Shader
	for _, file := range files {
		c := closure{dir: dir}
		if err := c.add(file); err != nil {
			return nil, err
		}
		s := Shader{Name: strings.TrimSuffix(file, ".comp")}
		h := sha256.New()
		for i, text := range c.texts {
			fmt.Fprintf(h, "%s %d\n%s", c.files[i], len(text), text)
			s.Cooperative = s.Cooperative || cooperative.Match(text)
		}
		s.Sum = hex.EncodeToString(h.Sum(nil))
		list = append(list, s)
	}
	return list, nil
}

// closure is a file and all that it includes, each once, in the order in which
// they are named first. Conditions are not looked at: it may hold too much.
type closure struct {
	dir   fs.FS
	files []string
	texts [][]byte
}

func (c *closure) add(file string) error {
	if slices.Contains(c.files, file) {
		return nil
	}
	text, err := fs.ReadFile(c.dir, file)
	if err != nil {
		return err
	}
	c.files, c.texts = append(c.files, file), append(c.texts, text)
	for _, m := range include.FindAllSubmatch(text, -1) {
		// As the compiler does: beside the file, then from the directory.
		name := string(m[1])
		beside := path.Join(path.Dir(file), name)
		if _, err := fs.Stat(c.dir, beside); err == nil {
			name = beside
		}
		if err := c.add(path.Clean(name)); err != nil {
			return fmt.Errorf("%s includes %s: %w", file, m[1], err)
		}
	}
	return nil
}

// CompilerArguments are what glslang is called with.
func CompilerArguments(dir, file, out string) []string {
	return []string{"-V", "--target-env", "vulkan1.2", "-I" + dir, "-o", out, file}
}

// ValidatorArguments are what spirv-val is called with.
func ValidatorArguments(file string) []string { return []string{"--target-env", "vulkan1.2", file} }
