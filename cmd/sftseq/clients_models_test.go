package main

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/sftseq/sftseq/internal/must"
	"github.com/sftseq/sftseq/sft"
	"github.com/sftseq/sftseq/sft/config"
)

// clientModels returns a folder with the golden models and two tagging models with random weights:
// parts for the points of the golden clouds, nodes for the golden graphs.
func clientModels(t *testing.T) string {
	t.Helper()
	dir := t.TempDir()
	golden := must.Get(filepath.Abs(goldenPath()))(t)
	for _, m := range must.Get(os.ReadDir(golden))(t) {
		must.Succeed(t, os.Symlink(filepath.Join(golden, m.Name()), filepath.Join(dir, m.Name())))
	}
	for name, base := range map[string]string{"parts": "clouds", "nodes": "graphs"} {
		m := must.Get(sft.Load(goldenPath(base)))(t)
		c := *m.Config
		c.Task, c.LabelNames, c.NumLabels = config.Tagging, []string{"mug/body", "mug/handle"}, 2
		if base == "graphs" {
			c.LabelNames = []string{"acid", "other"}
		}
		must.Succeed(t, os.Mkdir(filepath.Join(dir, name), 0o777))
		must.Succeed(t, sft.NewModel(&c, 1).Save(filepath.Join(dir, name)))
	}
	return dir
}
