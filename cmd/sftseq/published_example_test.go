package main

import (
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/sftseq/sftseq/internal/must"
	"github.com/sftseq/sftseq/internal/testenv"
)

// lrgb replaces PyTorch Geometric, so that the test downloads nothing. Its graphs have the shapes
// and types of PyTorch Geometric's data sets.
const lrgb = `
class Tensor:
    def __init__(self, rows): self.rows = rows
    def tolist(self): return self.rows
    def t(self): return Tensor([list(column) for column in zip(*self.rows)])
    def view(self, size):
        assert size == -1
        return Tensor([x for row in self.rows for x in row] if isinstance(self.rows[0], list) else self.rows)

class Data:
    pass

def LRGBDataset(root, name, split):
    for g in range({"train": 24, "val": 8, "test": 8}[split]):
        data, n = Data(), 4 + g % 3
        data.edge_index = Tensor([list(range(n)) * 2, [(i + 1) % n for i in range(n)] * 2])
        if name == "PascalVOC-SP":
            data.x = Tensor([[0.25 * ((i + k + g) % 4) for k in range(14)] for i in range(n)])
            data.edge_attr = Tensor([[0.5, float(i)] for i in range(2 * n)])
            data.y = Tensor([(i + g) % 21 for i in range(n)])
        else:
            data.x = Tensor([[5 + (i + g) % 3, 0, 2, 5, i % 3, 0, 1, g % 2, 1] for i in range(n)])
            data.edge_attr = Tensor([[i % 2, 0, 0] for i in range(2 * n)])
            data.y = Tensor([[1.0 if (g + k) % 5 == 0 else 0.0 for k in range(10)] if name == "Peptides-func" else [0.1 * (n + k) for k in range(11)]])
        yield data
`

// TestPublishedExample runs the Python code and the commands of docs/published-clouds-graphs.md on
// smaller data. The code exports graphs; the commands convert graphs and point clouds, train and evaluate.
func TestPublishedExample(t *testing.T) {
	testenv.NoRace(t, "runs code that TestClouds, TestConvertCloud and TestGraphs cover")
	testenv.NeedPrograms(t, "python3")
	page := readText(t, "../../docs/published-clouds-graphs.md")
	dir := t.TempDir()
	for name, folder := range map[string]string{"modelnet40_normal_resampled": modelNet40(t),
		"shapenetcore_partanno_segmentation_benchmark_v0_normal": shapeNetPartFolder(t)} {
		must.Succeed(t, os.Rename(folder, filepath.Join(dir, name)))
	}
	must.Succeed(t, os.MkdirAll(filepath.Join(dir, "torch_geometric"), 0o777))
	writeText(t, filepath.Join(dir, "torch_geometric", "datasets.py"), lrgb)
	smallerFlags := map[string][]string{"modelnet40": {"--points", "16"}, "shapenetpart": {"--points", "16"}}
	commands := 0
	for _, block := range strings.Split(page, "```")[1:] {
		if script, ok := strings.CutPrefix(block, "python\n"); ok {
			c := exec.Command("python3", "-c", script)
			c.Dir = dir
			if out, err := c.CombinedOutput(); err != nil {
				t.Fatalf("error %v, output:\n%s", err, out)
			}
		}
		lines, ok := strings.CutPrefix(block, "sh\n")
		if !ok {
			continue
		}
		for line := range strings.Lines(lines) {
			args := strings.Fields(line)[1:]
			for i := 1; i < len(args); i++ {
				if slices.Contains([]string{"--from", "--to", "--data", "--out", "--model"}, args[i-1]) {
					args[i] = filepath.Join(dir, args[i])
				}
			}
			switch args[0] {
			case "data":
				args = append(args, smallerFlags[args[2]]...)
			case "train":
				args = append(args, tiny...)
			}
			done(t, "", args...)
			commands++
		}
	}
	equal(t, commands, 9)
	for name, want := range map[string]string{
		"peptides-func":   `"label":[1,6]`, // graph 4: (4 + k) mod 5 is 0
		"peptides-struct": `"Inertia_mass_a":0.4,`,
		"pascalvoc-sp":    `"tags":[4,5,6,7,8]`,
	} {
		line := strings.Split(readText(t, filepath.Join(dir, name, "test.jsonl")), "\n")[4]
		if name == "peptides-struct" {
			line = strings.Split(readText(t, filepath.Join(dir, name, "test.jsonl")), "\n")[0]
		}
		contains(t, strings.ReplaceAll(line, " ", ""), want)
	}
}
