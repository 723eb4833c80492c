package lra

import (
	"context"
	"slices"
	"strings"
	"testing"

	"github.com/sftseq/sftseq/internal/must"
)

// TestTasks checks that every task has a unique name, which Lookup finds, and an importer or a
// generator.
func TestTasks(t *testing.T) {
	names := Names()
	for _, name := range []string{"image", "listops", "pathfinder", "retrieval", "shape-parts", "shapes", "text"} {
		if !slices.Contains(names, name) {
			t.Errorf("no task %s among %v", name, names)
		}
	}
	if !slices.IsSorted(names) || len(slices.Compact(slices.Clone(names))) != len(names) {
		t.Errorf("names %v, want unique names in alphabetical order", names)
	}
	for _, task := range Tasks() {
		if found, err := Lookup(task.Name); err != nil || found != task {
			t.Errorf("Lookup(%q): got the task itself: %v, error %v; want true, no error", task.Name, found == task,
				err)
		}
		if task.Import == nil && task.Generator == nil {
			t.Errorf("%s: got neither Import nor Generator, want at least one", task.Name)
		}
		must.Fail(t, "expected a task with a generator", task.Name,
			"without a generator")((&Task{Name: task.Name}).Generate(context.Background(),
			t.TempDir(), GenerateOptions{}))
		must.Fail(t, "expected a task with official files to convert", task.Name,
			"without an importer")((&Task{Name: task.Name}).Convert(context.Background(), "",
			t.TempDir(), ConvertOptions{}))
	}
	if _, err := Lookup("listop"); err == nil ||
		err.Error() != `task "listop": expected one of `+strings.Join(names, ", ") {
		t.Errorf("error %v, want an error that lists the tasks", err)
	}
}

// TestGenerators checks that every generator has an example command and options with unique names, that
// Rule returns a new rule for each call, and that Generate writes a data set.
func TestGenerators(t *testing.T) {
	for _, task := range Tasks() {
		if task.Generator == nil {
			continue
		}
		g, taken := task.Generator, []string{"out", "train", "val", "test", "seed", "no-baselines", "force"}
		if !strings.HasPrefix(g.Example, "sftseq data generate "+task.Name+" ") ||
			g.Usage == "" || g.Description == "" {
			t.Errorf("%s: example, usage or description is missing in %+v", task.Name, g)
		}
		for i, o := range g.Rule().Options() {
			if slices.Contains(taken, o.Name) || o.Usage == "" {
				t.Errorf("%s: option %+v has no usage, or its name occurs twice", task.Name, o)
			}
			taken = append(taken, o.Name)
			if o.On != nil {
				if *o.On = true; *g.Rule().Options()[i].On {
					t.Errorf("%s: option %s is shared between rules", task.Name, o.Name)
				}
				continue
			}
			*o.Value = -1
			if g.Rule().Validate() != nil {
				t.Errorf("%s: option %s is shared between rules", task.Name, o.Name)
			}
		}
		d, err := task.Generate(t.Context(), t.TempDir(), GenerateOptions{Train: 3, Val: 2, Test: 1, Seed: 1})
		if err != nil {
			t.Errorf("%s: %v", task.Name, err)
			continue
		}
		if d.Manifest.Name != task.Name || d.Manifest.Provenance["generator"] != task.Name ||
			d.Manifest.Splits["train"].Rows != 3 {
			t.Errorf("%s: manifest has the name %s, %d training rows, provenance %v; want the task as name and "+
				"generator, 3 rows", task.Name, d.Manifest.Name, d.Manifest.Splits["train"].Rows, d.Manifest.Provenance)
		}
	}
}
