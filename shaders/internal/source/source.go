// Package source reads the sources of shaders, and the record of the checksums of sources and their
// SPIR-V.
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

// Shader is a source file together with all files that it includes.
type Shader struct {
	Name        string // base name without .comp
	Sum         string // SHA-256 of the file and all its includes
	Cooperative bool   // true if a file names the extension GL_KHR_cooperative_matrix, unknown to older compilers
}

var (
	include     = regexp.MustCompile(`(?m)^[ \t]*#[ \t]*include[ \t]+["<]([^">\n]+)[">]`)
	cooperative = regexp.MustCompile(`(?m)^[ \t]*#[ \t]*extension[ \t]+GL_KHR_cooperative_matrix\b`)
)

// Shaders returns the shaders of a directory, sorted by name.
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

// closure collects a file and all files that it includes, directly or indirectly. Each file occurs
// once, in the order of the first #include. As closure ignores #if, it may contain files that the
// compiler does not read.
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
		// Search like the compiler: relative to the file, then to the directory.
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

// CompilerArguments returns the arguments for glslang.
func CompilerArguments(dir, file, out string) []string {
	return []string{"-V", "--target-env", "vulkan1.2", "-I" + dir, "-o", out, file}
}

// ValidatorArguments returns the arguments for spirv-val.
func ValidatorArguments(file string) []string { return []string{"--target-env", "vulkan1.2", file} }
