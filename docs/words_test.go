package docs_test

import (
	"go/scanner"
	"go/token"
	"io/fs"
	"os"
	"path"
	"regexp"
	"slices"
	"strings"
	"testing"
	"unicode"

	"github.com/sftseq/sftseq/internal/must"
)

// avoided lists words and phrases that readers have to read twice, or for which the field has a
// term (see CONTRIBUTING.md). It states the maximum number of uses in the pages and in the code. A
// maximum may only decrease.
var avoided = []struct {
	phrases     []string
	pages, code int
}{
	{[]string{"tell", "tells", "told", "telling"}, 0, 0},
	{[]string{"so many"}, 0, 0},
	{[]string{"as many"}, 0, 18},
	{[]string{"others than"}, 0, 0},
	{[]string{"one that is"}, 0, 0},
	{[]string{"as it is", "as it was"}, 0, 1},
	{[]string{"at once"}, 0, 0},
	{[]string{"what is there", "what there is", "what that is"}, 0, 0},
	{[]string{"by heart"}, 0, 0},
	{[]string{"who asks", "who asked", "who wants", "who has"}, 0, 0},
	{[]string{"simple model", "simple models"}, 0, 0},
	{[]string{"processor", "processors"}, 0, 0},
	{[]string{fragment}, 0, 1},
}

// fragment stands in avoided for comments behind code that begin with one of fragmentWords.
const fragment = "// of, // which, // that, // what or // those behind code"

var fragmentWords = []string{"of", "which", "that", "what", "those"}

// allowedPhrases are idiomatic uses, which do not count in the pages.
var allowedPhrases = []string{"at most as many", "times as many", "half as many"}

// otherFolders contain test data, built files, results of local runs, and files of other projects. A
// name that begins with / is a path from the root of the tree.
var otherFolders = []string{"testdata", "node_modules", "__pycache__", "/runs", "/data", "/studies", "/gpu-kit",
	"/dist", "/clients/typescript/dist"}

// TestWords checks that the number of avoided phrases in the pages and in the code does not exceed
// their maximum.
func TestWords(t *testing.T) {
	pages, code := map[string][]string{}, map[string][]string{} // files by phrase, with one entry per use
	tree := os.DirFS(root)
	must.Succeed(t, fs.WalkDir(tree, ".", func(file string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		if d.IsDir() {
			other := slices.Contains(otherFolders, d.Name()) || slices.Contains(otherFolders, "/"+file)
			if file != "." && (strings.HasPrefix(d.Name(), ".") || other) {
				return fs.SkipDir
			}
			return nil
		}
		uses := code
		switch ext := path.Ext(file); {
		case file == "CONTRIBUTING.md" || file == "docs/words_test.go": // they list the phrases
			return nil
		case ext == ".md":
			uses = pages
		case d.Name() != "Makefile" &&
			!slices.Contains([]string{".go", ".glsl", ".comp", ".c", ".h", ".py", ".ts", ".mjs", ".sh"}, ext):
			return nil
		}
		text, err := fs.ReadFile(tree, file)
		countPhrases(uses, file, string(text))
		return err
	}))
	for _, p := range allowedPhrases {
		for _, a := range avoided {
			for _, phrase := range a.phrases {
				if strings.Contains(" "+p+" ", " "+phrase+" ") {
					for _, file := range pages[p] {
						i := slices.Index(pages[phrase], file)
						pages[phrase] = slices.Delete(pages[phrase], i, i+1)
					}
				}
			}
		}
	}
	for _, a := range avoided {
		var inPages, inCode []string
		for _, phrase := range a.phrases {
			inPages, inCode = append(inPages, pages[phrase]...), append(inCode, code[phrase]...)
		}
		if len(inPages) > a.pages {
			t.Errorf("the pages have %d uses of %q, at most %d are allowed: %q", len(inPages),
				a.phrases, a.pages, inPages)
		}
		if len(inCode) > a.code {
			t.Errorf("the code has %d uses of %q, at most %d are allowed: reword the new ones, see CONTRIBUTING.md",
				len(inCode), a.phrases, a.code)
		}
		if len(inPages) < a.pages || len(inCode) < a.code {
			t.Logf("%q: lower the bounds to %d and %d", a.phrases, len(inPages), len(inCode))
		}
	}
}

// countPhrases appends file to uses[phrase] once for each use of the phrase in text. Line breaks,
// comment markers and punctuation, except - _ and ', count as spaces.
func countPhrases(uses map[string][]string, file, text string) {
	words := strings.FieldsFunc(strings.ToLower(text), func(r rune) bool {
		return !unicode.IsLetter(r) && !unicode.IsDigit(r) && !strings.ContainsRune("-_'", r)
	})
	joined := " " + strings.Join(words, " ") + " "
	count := func(phrase string) {
		for range strings.Count(joined, " "+phrase+" ") {
			uses[phrase] = append(uses[phrase], file)
		}
	}
	for _, a := range avoided {
		for _, phrase := range a.phrases {
			count(phrase)
		}
	}
	for _, phrase := range allowedPhrases {
		count(phrase)
	}
	for line := range strings.Lines(text) {
		before, comment, _ := strings.Cut(line, "// ")
		first, _, _ := strings.Cut(strings.TrimSpace(comment), " ")
		if strings.TrimSpace(before) != "" && slices.Contains(fragmentWords, first) {
			uses[fragment] = append(uses[fragment], file)
		}
	}
}

// TestCountPhrases checks that countPhrases finds whole words only, and finds phrases across line breaks
// and comment markers.
func TestCountPhrases(t *testing.T) {
	uses := map[string][]string{}
	countPhrases(uses, "f", "x := 1 // of the\n// It is told at\n// once. Retold, at\tonce-only: small-processor.\n// of nothing\n")
	want := map[string][]string{fragment: {"f"}, "told": {"f"}, "at once": {"f"}}
	for _, a := range avoided {
		for _, phrase := range a.phrases {
			if !slices.Equal(uses[phrase], want[phrase]) {
				t.Errorf("%q: got %d uses, want %d", phrase, len(uses[phrase]), len(want[phrase]))
			}
		}
	}
}

// avoidedNames matches identifiers for which the field has another term (see CONTRIBUTING.md), such
// as max and min for bounds.
var avoidedNames = regexp.MustCompile(`^([mM]ost|[lL]east|[fF]ewest)([A-Z]|$)|^([aA]nswer|tell|told|mend|settle|company|lacks)`)

// otherNames match avoidedNames but have another meaning.
var otherNames = []string{
	"mostFrequent", // the most frequent class
	"mostProbable", // the most probable class
}

// TestNames checks that no identifier matches avoidedNames, except otherNames.
func TestNames(t *testing.T) {
	tree := os.DirFS(root)
	must.Succeed(t, fs.WalkDir(tree, ".", func(file string, d fs.DirEntry, err error) error {
		switch {
		case err != nil:
			return err
		case d.IsDir() && (d.Name() == "node_modules" || file != "." && strings.HasPrefix(d.Name(), ".")):
			return fs.SkipDir
		case path.Ext(file) != ".go":
			return nil
		}
		text, err := fs.ReadFile(tree, file)
		var s scanner.Scanner
		s.Init(token.NewFileSet().AddFile(file, -1, len(text)), text, nil, 0)
		for {
			_, kind, name := s.Scan()
			if kind == token.EOF {
				return err
			}
			if kind == token.IDENT && avoidedNames.MatchString(name) && !slices.Contains(otherNames, name) {
				t.Errorf("%s: rename %s, see CONTRIBUTING.md", file, name)
			}
		}
	}))
}
