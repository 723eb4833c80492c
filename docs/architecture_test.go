package docs_test

import (
	"bytes"
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"
	"unicode"

	"github.com/sftseq/sftseq/internal/must"
)

// root is the module's directory, relative to this package.
const root = ".."

// reference matches a file, optionally followed by names that the file declares, or a directory:
//
//	`sft/pass.go`   `sft/pass.go: newPass, recordedPass`   `internal/cpu/`
//
// Files are Go, GLSL or C. Names of methods omit the parentheses of a pointer receiver.
var reference = regexp.MustCompile("`([A-Za-z0-9_./-]+\\.(?:go|glsl|comp|c))(?:: ([^`\n]+))?`|`([a-z0-9_][a-z0-9_./-]*/)`")

// placeholder begins the names of files that a reader would add.
const placeholder = "NAME"

// TestReferences checks that the files, names and directories that the pages mention exist. It ignores
// pages of experiments, because they describe the code of their time.
func TestReferences(t *testing.T) {
	pages := must.Get(filepath.Glob("*.md"))(t)
	records := must.Get(filepath.Glob("adr/*.md"))(t)
	declared := map[string]map[string]bool{}
	found := 0
	for _, page := range append(pages, records...) {
		text := must.Get(os.ReadFile(page))(t)
		for _, m := range reference.FindAllStringSubmatch(string(text), -1) {
			file, names, dir := m[1], m[2], m[3]
			if dir != "" {
				if info, err := os.Stat(filepath.Join(root, dir)); err != nil || !info.IsDir() {
					t.Errorf("%s: %s: the directory does not exist", page, m[0])
				}
				continue
			}
			if strings.HasPrefix(filepath.Base(file), placeholder) {
				continue
			}
			found++
			if declared[file] == nil {
				declared[file] = declarations(t, page, file)
			}
			for name := range strings.SplitSeq(names, ",") {
				name = strings.TrimSpace(name)
				if name != "" && !declared[file][name] {
					t.Errorf("%s: %s: %s does not declare %s", page, m[0], file, name)
				}
			}
		}
	}
	if found < 80 {
		t.Errorf("found %d references to files, want at least 80: does the pattern match them?", found)
	}
}

// shaderOrC matches a declaration at the beginning of a line of GLSL or C, and captures its first
// name.
var shaderOrC = regexp.MustCompile(`(?m)^(?:#define\s+|(?:layout\([^)\n]*\)\s*)?(?:\w+[ *]+)+)(\w+)`)

// declarations returns the names that a file declares. For a Go file these are functions,
// Type.method, types, Type.field, constants and variables.
func declarations(t *testing.T, page, file string) map[string]bool {
	names := map[string]bool{}
	if filepath.Ext(file) != ".go" {
		text, err := os.ReadFile(filepath.Join(root, file))
		if err != nil {
			t.Errorf("%s: %s: %v", page, file, err)
		}
		for _, m := range shaderOrC.FindAllSubmatch(text, -1) {
			names[string(m[1])] = true
		}
		return names
	}
	tree, err := parser.ParseFile(token.NewFileSet(), filepath.Join(root, file), nil, parser.ParseComments|parser.SkipObjectResolution)
	if err != nil {
		t.Errorf("%s: %s: %v", page, file, err)
		return names
	}
	for _, d := range tree.Decls {
		switch d := d.(type) {
		case *ast.FuncDecl:
			name := d.Name.Name
			if d.Recv != nil {
				name = receiver(d.Recv.List[0].Type) + "." + name
			}
			names[name] = true
		case *ast.GenDecl:
			for _, s := range d.Specs {
				declareSpec(names, s)
			}
		}
	}
	return names
}

// declareSpec adds the names that spec declares to the set names.
func declareSpec(names map[string]bool, spec ast.Spec) {
	switch s := spec.(type) {
	case *ast.ValueSpec:
		for _, n := range s.Names {
			names[n.Name] = true
		}
	case *ast.TypeSpec:
		names[s.Name.Name] = true
		var members *ast.FieldList
		switch body := s.Type.(type) {
		case *ast.StructType:
			members = body.Fields
		case *ast.InterfaceType:
			members = body.Methods
		default:
			return
		}
		for _, f := range members.List {
			for _, n := range f.Names {
				names[s.Name.Name+"."+n.Name] = true
			}
		}
	}
}

// receiver returns the name of a method's receiver type.
func receiver(e ast.Expr) string {
	switch e := e.(type) {
	case *ast.StarExpr:
		return receiver(e.X)
	case *ast.IndexExpr:
		return receiver(e.X)
	case *ast.Ident:
		return e.Name
	}
	return ""
}

// importRules lists forbidden dependencies, direct or indirect, without the module path.
var importRules = []struct {
	from  string // a package and all packages below it; "*" means every package
	never []string
	why   string
}{
	{"*", []string{"cmd"}, "no package imports a program"},
	{"sft", []string{"internal/cpu", "vk", "device", "lra", "tokenizers"},
		"the model depends on no device, task or tokenizer"},
	{"sft/config", []string{"internal/tensor", "sft/internal", "sft/train"},
		"a configuration does not depend on the code that runs it"},
	{"sft/internal/model", []string{"sft/train"}, "the model does not train"},
	{"internal/tensor", []string{"internal/cpu", "vk", "device", "sft", "seq"},
		"the interface between models and devices depends on neither"},
	{"internal/cpu", []string{"sft", "seq", "lra", "tokenizers", "vk"}, "a device knows kernels, not models"},
	{"vk", []string{"sft", "seq", "lra", "tokenizers", "internal/cpu", "device"}, "a device knows kernels, not models"},
	{"shaders", []string{"vk", "internal/tensor"}, "shaders are only embedded files"},
	{"seq", []string{"sft", "internal/tensor", "internal/cpu", "vk", "device", "lra", "tokenizers"}, "sequences do not depend on their readers"},
	{"internal/arrowipc", []string{"seq", "sft", "lra", "tokenizers", "internal/table", "internal/index"}, "the framing of messages does not depend on their contents"},
	{"internal/bench", []string{"lra"}, "the caller passes the model to measure"},
	{"internal/distributed", []string{"sft", "seq", "internal/tensor", "internal/cpu", "vk", "lra"}, "the exchange between ranks depends only on numbers"},
	{"internal/report", []string{"internal/cpu", "vk", "device", "lra"}, "the caller passes the content of the page"},
	{"internal/baseline", []string{"sft", "internal/tensor", "internal/cpu", "vk", "device", "lra"}, "baselines read only tokens and labels"},
	{"internal/ngram", []string{"sft", "seq", "internal/tensor", "lra", "tokenizers"}, "n-grams read only units"},
	{"internal/linear", []string{"sft", "internal/tensor", "internal/cpu", "vk", "device", "lra", "tokenizers"}, "a linear model reads only tokens and labels"},
	{"internal/chart", []string{"sft", "seq", "lra", "tokenizers", "internal/metrics", "internal/report"}, "a chart does not depend on the meaning of its values"},
	{"internal/serve", []string{"internal/tensor/conformance", "internal/cpu", "vk", "device", "lra"}, "the caller passes the model to the server"},
	{"internal/inference", []string{"internal/cpu", "vk", "device", "lra", "internal/serve"},
		"the caller passes the model"},
	{"internal/evaluation", []string{"internal/cpu", "vk", "device", "lra", "internal/serve"}, "the caller passes the model to evaluate"},
	{"internal/serve/transport", []string{"sft", "seq", "internal/tensor", "internal/requests", "internal/index"}, "a stream does not depend on the contents of its messages"},
	{"internal/serve/fair", []string{"sft", "seq", "internal/tensor", "internal/requests", "internal/index", "internal/serve/transport"}, "the scheduler does not depend on the work it schedules"},
	{"internal/serve/batching", []string{"internal/requests", "internal/index", "internal/serve/transport", "internal/cpu", "vk", "device"}, "batches do not depend on their clients"},
	{"internal/index", []string{"seq", "sft", "internal/tensor", "internal/serve"}, "an index does not depend on the source of its vectors"},
	{"internal/cloud", []string{"sft", "internal/tensor", "internal/cpu", "vk", "device", "lra", "tokenizers"}, "clouds do not depend on their readers"},
	{"internal/graphlines", []string{"sft", "internal/tensor", "internal/cpu", "vk", "device", "lra"}, "graphs do not depend on their readers"},
	{"internal/graphlines", []string{"sft", "internal/convert"}, "random walks do not depend on conversion"},
	{"internal/onnx", []string{"sft", "seq", "internal/tensor", "internal/philox"}, "the file format does not depend on the model"},
	{"internal/export", []string{"internal/cpu", "vk", "device", "lra", "tokenizers"}, "the caller passes the model"},
	{"lra", []string{"internal/tensor/conformance", "internal/cpu", "vk", "device"}, "a task chooses no device"},
	{"lra", []string{"internal/table", "internal/convert"}, "importers of the tasks do not depend on readers of tables"},
	{"internal/atomicfile", []string{"sft", "seq", "internal/safetensors"}, "files and checksums do not depend on their contents"},
	{"tokenizers", []string{"seq", "sft", "lra"}, "a tokenizer does not depend on its users"},
	{"sinusoid", []string{"internal/tensor", "internal/cpu", "vk", "sft", "seq"}, "mathematics depends on nothing"},
	{"internal/fmath", []string{"internal/tensor", "internal/cpu", "vk", "sft", "seq"}, "mathematics depends on nothing"},
	{"internal/philox", []string{"internal/tensor", "internal/cpu", "vk", "sft", "seq"}, "mathematics depends on nothing"},
}

// TestImports checks the dependencies of packages against importRules. Programs, test files and packages
// whose names end in "test" may import any package.
func TestImports(t *testing.T) {
	imports := moduleImports(t)
	for _, rule := range importRules {
		applied := false
		for from := range imports {
			if rule.from != "*" && !within(from, rule.from) || within(from, "cmd") || strings.HasSuffix(from, "test") {
				continue
			}
			applied = true
			for to, by := range reach(imports, from) {
				for _, never := range rule.never {
					if within(to, never) {
						t.Errorf("%s imports %s (through %s): %s", from, to, by, rule.why)
					}
				}
			}
		}
		if !applied {
			t.Errorf("importRules names the package %s, which does not exist", rule.from)
		}
	}
}

// TestPackages checks that the table of packages contains each package of the repository or its parent
// directory. It ignores the packages in examples and shaders.
func TestPackages(t *testing.T) {
	page := must.Get(os.ReadFile("architecture.md"))(t)
	_, table, _ := strings.Cut(string(page), "\n## Packages\n")
	table, _, _ = strings.Cut(table, "\n```")
	for from := range moduleImports(t) {
		if !strings.Contains(table, "`"+from+"/`") && !strings.Contains(table, "`"+filepath.ToSlash(filepath.Dir(from))+"/`") &&
			!within(from, "examples") && !within(from, "shaders") {
			t.Errorf("the table of packages has neither %s nor its parent directory, want one of them", from)
		}
	}
}

func within(path, parent string) bool {
	return path == parent || strings.HasPrefix(path, parent+"/")
}

// moduleImports returns, for each package, the packages of this module that its files import. It ignores
// test files.
func moduleImports(t *testing.T) map[string][]string {
	imports := map[string][]string{}
	goFiles(t, func(path string, text []byte) {
		if strings.HasSuffix(path, "_test.go") {
			return
		}
		tree, err := parser.ParseFile(token.NewFileSet(), path, text, parser.ImportsOnly)
		if err != nil {
			t.Error(err)
			return
		}
		from := filepath.ToSlash(filepath.Dir(path))
		imports[from] = slices.Clip(imports[from])
		for _, spec := range tree.Imports {
			name, err := strconv.Unquote(spec.Path.Value)
			if to, ok := strings.CutPrefix(name, "github.com/sftseq/sftseq/"); err == nil && ok {
				imports[from] = append(imports[from], to)
			}
		}
	})
	return imports
}

// reach returns all direct and indirect dependencies of a package, each with a package that imports
// it.
func reach(imports map[string][]string, from string) map[string]string {
	seen := map[string]string{}
	var walk func(p string)
	walk = func(p string) {
		for _, to := range imports[p] {
			if _, ok := seen[to]; !ok {
				seen[to] = p
				walk(to)
			}
		}
	}
	walk(from)
	return seen
}

// maxLines is the maximum number of lines in a Go file, so that files stay readable.
const maxLines = 500

// TestFileLength checks that no Go file has more than maxLines lines, except generated files.
func TestFileLength(t *testing.T) {
	generated := regexp.MustCompile(`(?m)^// Code generated .* DO NOT EDIT\.$`)
	goFiles(t, func(path string, text []byte) {
		if n := bytes.Count(text, []byte("\n")); n > maxLines && !generated.Match(text) {
			t.Errorf("%s has %d lines, at most %d are allowed: split it", path, n, maxLines)
		}
	})
}

// maxFiles is the exclusive limit on the number of Go files in a package of sft. Test files do not count.
const maxFiles = 45

// TestPackageSize checks that the packages of sft have fewer than maxFiles files.
func TestPackageSize(t *testing.T) {
	files := map[string]int{}
	goFiles(t, func(path string, _ []byte) {
		if folder := filepath.ToSlash(filepath.Dir(path)); within(folder, "sft") && !strings.HasSuffix(path, "_test.go") {
			files[folder]++
		}
	})
	for folder, n := range files {
		if n >= maxFiles {
			t.Errorf("%s has %d files, fewer than %d are allowed: split it", folder, n, maxFiles)
		}
	}
	if len(files) < 4 {
		t.Errorf("found %d packages of sft, want at least 4", len(files))
	}
}

// goFiles calls visit for each Go file of the repository, including nested modules, with its path relative
// to the root. It skips testdata and hidden directories.
func goFiles(t *testing.T, visit func(path string, text []byte)) {
	t.Helper()
	tree := os.DirFS(root)
	must.Succeed(t, fs.WalkDir(tree, ".", func(path string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		if d.IsDir() {
			if name := d.Name(); path != "." && (strings.HasPrefix(name, ".") || name == "testdata") {
				return fs.SkipDir
			}
			return nil
		}
		if !strings.HasSuffix(path, ".go") {
			return nil
		}
		text, err := fs.ReadFile(tree, path)
		if err != nil {
			return err
		}
		visit(path, text)
		return nil
	}))
}

// Patterns for the links, headings and code blocks of a page.
var (
	pageLink = regexp.MustCompile(`\]\(([^)\s]+)\)`)
	heading  = regexp.MustCompile(`(?m)^#+ (.+)$`)
	code     = regexp.MustCompile("(?ms)^```.*?^```$")
)

// TestLinks checks that the files and headings that links name exist. It ignores links to other sites.
func TestLinks(t *testing.T) {
	var pages []string
	for _, pattern := range []string{"../*.md", "*.md", "*/*.md", "../examples/*.md", "../examples/*/README.md", "../clients/*/README.md",
		"../models/*/README.md"} {
		found := must.Get(filepath.Glob(pattern))(t)
		pages = append(pages, found...)
	}
	for _, page := range pages {
		for _, m := range pageLink.FindAllStringSubmatch(prose(t, page), -1) {
			target, anchor, hasAnchor := strings.Cut(m[1], "#")
			if strings.Contains(target, ":") {
				continue // link to another site
			}
			to := page
			if target != "" {
				to = filepath.Join(filepath.Dir(page), target)
			}
			if _, err := os.Stat(to); err != nil {
				t.Errorf("%s: %s: %v", page, m[1], err)
			} else if hasAnchor && !slices.Contains(anchors(t, to), anchor) {
				t.Errorf("%s: %s: the heading does not exist", page, m[1])
			}
		}
	}
}

// prose returns a page without its code blocks.
func prose(t *testing.T, page string) string {
	text := must.Get(os.ReadFile(page))(t)
	return code.ReplaceAllString(string(text), "")
}

// anchors returns the anchors of a page's headings.
func anchors(t *testing.T, page string) (out []string) {
	for _, m := range heading.FindAllStringSubmatch(prose(t, page), -1) {
		out = append(out, strings.Map(func(r rune) rune {
			switch {
			case r == ' ':
				return '-'
			case r == '-' || r == '_' || unicode.IsLetter(r) || unicode.IsDigit(r):
				return unicode.ToLower(r)
			}
			return -1
		}, m[1]))
	}
	return out
}
