package config_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/sftseq/sftseq/internal/must"
	"github.com/sftseq/sftseq/sft/internal/configtest"
)

// TestScalesOfDamagedData checks that a missing or damaged training split is an error, not a model
// with other scales.
func TestScalesOfDamagedData(t *testing.T) {
	rows := [][][]float32{{{5001, 7}, {5003, 7}}, {{4999, 7}}}
	for name, damage := range map[string]func(path string) error{
		"missing": os.Remove,
		"cut":     func(path string) error { return os.Truncate(path, must.Get(os.Stat(path))(t).Size()/2) },
	} {
		set := configtest.SeriesSet(t, []string{"v", "same"}, rows...)
		must.Succeed(t, damage(filepath.Join(set.Dir, "train.arrow")))
		if err := configtest.TinyConfig().DescribeDataset(set); err == nil ||
			!strings.Contains(err.Error(), "train.arrow") {
			t.Errorf("%s: error %v, want one that names train.arrow", name, err)
		}
	}
}
