package source

import (
	"strings"
	"testing"
	"testing/fstest"

	"github.com/sftseq/sftseq/internal/must"
)

func files(pairs ...string) fstest.MapFS {
	m := fstest.MapFS{}
	for i := 0; i < len(pairs); i += 2 {
		m[pairs[i]] = &fstest.MapFile{Data: []byte(pairs[i+1])}
	}
	return m
}

// TestClosure checks that a shader's Sum and Cooperative depend on its file and on the files that it
// includes, directly or indirectly, and on no other file.
func TestClosure(t *testing.T) {
	tree := files(
		"a.comp", "#include \"include/x.glsl\"\nvoid main() {}\n",
		"b.comp", "void main() {}\n",
		"c.comp", " # include \"include/y.glsl\"\n",
		"include/x.glsl", "#include \"y.glsl\"\n// #include \"none.glsl\"\n",
		"include/y.glsl", "#include \"x.glsl\"\n#extension GL_KHR_cooperative_matrix : require\n", // a cyclic include
		"include/z.glsl", "#error")
	before := must.Get(Shaders(tree))(t)
	for file, changed := range map[string]string{"a.comp": "a", "b.comp": "b", "include/x.glsl": "ac",
		"include/y.glsl": "ac", "include/z.glsl": ""} {
		kept := tree[file]
		tree[file] = &fstest.MapFile{Data: append([]byte("// more\n"), kept.Data...)}
		after := must.Get(Shaders(tree))(t)
		tree[file] = kept
		got := ""
		for i, s := range after {
			if s.Sum != before[i].Sum {
				got += s.Name
			}
			if s.Cooperative != (s.Name != "b") {
				t.Errorf("%s: Cooperative is %v, want %v", s.Name, s.Cooperative, s.Name != "b")
			}
		}
		if got != changed {
			t.Errorf("after a change of %s, the sums of %q changed, want those of %q", file, got, changed)
		}
	}
	must.Fail(t, "a.comp includes none.glsl",
		"a nonexistent file")(Shaders(files("a.comp", `#include "none.glsl"`)))
}

// TestSums checks that ParseSums reads the output of String and rejects malformed lines and duplicate names.
func TestSums(t *testing.T) {
	x, y := Sum([]byte("x")), Sum([]byte("y"))
	text := Sums{"b": {x, y}, "a": {y, x}}.String()
	if want := y + "  " + x + "  a\n" + x + "  " + y + "  b\n"; text != want {
		t.Errorf("String returned %q, want %q", text, want)
	}
	got, err := ParseSums(text)
	if err != nil || len(got) != 2 || got["a"] != (Pair{y, x}) || got["b"] != (Pair{x, y}) {
		t.Errorf("ParseSums returned %v, error %v, want the sums of a and b", got, err)
	}
	for _, bad := range []string{"\n", "x\n", x + "  a\n", text + text} {
		if _, err := ParseSums(bad); err == nil || !strings.HasPrefix(err.Error(), "sources.sum:") {
			t.Errorf("%q: error %v, want one that begins with sources.sum", bad, err)
		}
	}
}
