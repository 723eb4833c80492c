package docs

import (
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/sftseq/sftseq/internal/must"
)

// taskComparison matches code that compares the task of a configuration or a preset, or the kind of a
// model's predictions, and type assertions to an objective.
var taskComparison = regexp.MustCompile(`(?i:task|kind) [!=]= (?:config\.)?(Classification|Retrieval|Regression|MultiLabel|Tagging|FillMask)\w*` +
	`|case (?:config\.)?(Classification|Retrieval|Regression|MultiLabel|Tagging|FillMask)\b` +
	`|[!=]= config\.(Classes|Labels|Numbers|Tags|MaskedTokens)\b|case config\.(Classes|Labels|Numbers|Tags|MaskedTokens)\b` +
	`|\.\((classification|retrieval|regression|multiLabel|tagging|fillMask|rows)\)`)

// ownFiles matches the files of objectives and of tasks of data, which may depend on the task.
var ownFiles = regexp.MustCompile(`^(internal/task/.*|seq/.*|sft/internal/(configtest|modeltest)/.*|sft/(?:config/|internal/model/|train/)?(rows|classification|retrieval|regression|multilabel|tagging|spandecoding|fillmask|fill|masking)\.go)$`)

// exceptions lists other files that may compare the task of a model, with the reason.
var exceptions = map[string]string{
	"cmd/sftseq/train_data.go":  "only a fill-mask run continues with the mask targets of its source",
	"cmd/sftseq/train_flags.go": "flags are defined before a configuration exists",
}

// TestTaskComparisons checks that only ownFiles and exceptions compare the task of a model. Other code that
// depends on the task must be a method of an objective in the packages of sft, or of a task in internal/task.
func TestTaskComparisons(t *testing.T) {
	found := map[string]bool{}
	must.Succeed(t, filepath.WalkDir("..", func(path string, d fs.DirEntry, err error) error {
		path = filepath.ToSlash(strings.TrimPrefix(path, "../"))
		switch {
		case err != nil:
			return err
		case d.IsDir() && (d.Name() == ".git" || d.Name() == "node_modules"):
			return fs.SkipDir
		case d.IsDir() || !strings.HasSuffix(path, ".go") || strings.HasSuffix(path, "_test.go") ||
			ownFiles.MatchString(path):
			return nil
		}
		text, err := os.ReadFile(filepath.Join("..", path))
		if err != nil {
			return err
		}
		if where := taskComparison.Find(text); where != nil {
			if found[path] = true; exceptions[path] == "" {
				t.Errorf("%s compares the task of a model: %s", path, where)
			}
		}
		return nil
	}))
	for path := range exceptions {
		if !found[path] {
			t.Errorf("%s does not compare the task any more: remove it from exceptions", path)
		}
	}
}
