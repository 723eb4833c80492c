package docs_test

import (
	"go/ast"
	"go/parser"
	"go/token"
	"path"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"
)

// TestPublicNames checks that public packages use no internal type in an exported declaration or in
// its comment, because users cannot import internal packages.
func TestPublicNames(t *testing.T) {
	packages := map[string]bool{}
	goFiles(t, func(file string, text []byte) {
		folder := path.Dir(file)
		if strings.HasSuffix(file, "_test.go") || slices.Contains(strings.Split(folder, "/"), "internal") ||
			within(folder, "cmd") || within(folder, "examples") {
			return
		}
		packages[folder] = true
		files := token.NewFileSet()
		tree, err := parser.ParseFile(files, file, text, parser.ParseComments)
		if err != nil {
			t.Error(err)
			return
		}
		if ast.FileExports(tree); tree.Doc != nil {
			tree.Decls = append(tree.Decls, &ast.GenDecl{Doc: tree.Doc})
		}
		for _, name := range internalNames(tree) {
			foreign := regexp.MustCompile(`\b` + name + `\.[A-Z]\w*`)
			for _, d := range tree.Decls {
				if f, ok := d.(*ast.FuncDecl); ok {
					if f.Recv != nil && !ast.IsExported(receiver(f.Recv.List[0].Type)) {
						continue
					}
					f.Body = nil
				}
				ast.Inspect(d, func(n ast.Node) bool {
					switch n := n.(type) {
					case *ast.ValueSpec:
						n.Values = nil // values may come from any package; only types matter
					case *ast.SelectorExpr:
						if x, ok := n.X.(*ast.Ident); ok && x.Name == name {
							t.Errorf("%s names %s.%s, which users cannot import",
								files.Position(n.Pos()), name, n.Sel.Name)
						}
					case *ast.CommentGroup:
						if found := foreign.FindString(n.Text()); found != "" {
							t.Errorf("%s: the comment names %s, which users cannot import",
								files.Position(n.Pos()), found)
						}
					}
					return true
				})
			}
		}
	})
	for _, p := range []string{"seq", "sft", "sft/config", "sft/train", "sinusoid",
		"tokenizers", "lra", "device", "vk"} {
		if !packages[p] {
			t.Errorf("the package %s does not exist", p)
		}
	}
}

// internalNames returns the names under which a file imports internal packages.
func internalNames(tree *ast.File) (names []string) {
	for _, spec := range tree.Imports {
		imported, err := strconv.Unquote(spec.Path.Value)
		if err != nil || !strings.Contains(imported, "/internal/") {
			continue
		}
		if spec.Name != nil {
			names = append(names, spec.Name.Name)
		} else {
			names = append(names, path.Base(imported))
		}
	}
	return names
}
