package main

import (
	"fmt"
	"path/filepath"
	"strings"
	"testing"

	"github.com/apache/arrow/go/v15/arrow"

	"github.com/sftseq/sftseq/internal/arrowipc"
	"github.com/sftseq/sftseq/internal/must"
	"github.com/sftseq/sftseq/internal/testenv"
)

// sparkColumns is a Python program that prints the columns that examples/spark declares for the
// predictions of a model. It replaces pyarrow and pyspark with empty modules.
const sparkColumns = `
import json, sys, types
for name in ("pyarrow", "pyspark", "pyspark.sql"):
    sys.modules[name] = types.ModuleType(name)
sys.modules["pyspark.sql"].SparkSession = None
sys.path.insert(0, sys.argv[1])
sys.dont_write_bytecode = True
import score
print(score.schema(json.load(open(sys.argv[2] + "/config.json"))))
`

// TestSpark checks that examples/spark declares the columns that the program writes, for models
// with and without label names.
func TestSpark(t *testing.T) {
	testenv.NeedPrograms(t, "python3")
	numbers := goldenPath("post")
	names := func(first string) string {
		labels := []string{first}
		for i := range 9 {
			labels = append(labels, fmt.Sprint("label ", i))
		}
		return withConfig(t, "post", "label_names", labels)
	}
	input := writeText(t, filepath.Join(t.TempDir(), "in.jsonl"), `{"id":"a","text":"[MAX 2 9 ]"}`)
	types := map[arrow.Type]string{arrow.STRING: "string", arrow.INT64: "bigint", arrow.FLOAT32: "float"}
	for _, model := range []string{numbers, names("a`b, c"), names("label 0")} {
		out := succeed(t, "", "predict", "--model", model, "--input", input, "--text", "text", "--id", "id",
			"--shard", "0/1", "--output", "-")
		s := must.Get(arrowipc.NewStream(strings.NewReader(out)))(t)
		var want []string
		for _, f := range s.Schema().Fields() {
			want = append(want, fmt.Sprintf("`%s` %s", strings.ReplaceAll(f.Name, "`", "``"), types[f.Type.ID()]))
		}
		got := client(t, "", []string{"python3", "-c", sparkColumns}, filepath.Join(examplesDir, "spark"), model)
		if strings.TrimSpace(got) != strings.Join(want, ", ") || len(want) != 12 {
			t.Errorf("got columns %s, want the 12 columns %s", got, strings.Join(want, ", "))
		}
	}
}
