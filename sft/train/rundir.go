package train

import (
	"fmt"
	"os"
	"path/filepath"

	"github.com/gofrs/flock"

	"github.com/sftseq/sftseq/internal/atomicfile"
	"github.com/sftseq/sftseq/sft/internal/model"
)

// openRunDirectory creates or locks a run directory, so that no other program can train in it, and
// removes incomplete files of a killed run.
func openRunDirectory(dir string) (*flock.Flock, error) {
	last := filepath.Dir(filepath.Join(dir, model.CheckpointFile))
	if err := os.MkdirAll(last, 0o777); err != nil {
		return nil, err
	}
	lock := flock.New(filepath.Join(dir, ".lock"))
	ok, err := lock.TryLock()
	if err != nil {
		return nil, fmt.Errorf("%s: %w", dir, err)
	}
	if !ok {
		return nil, fmt.Errorf("%s: another program is training in this directory", dir)
	}
	for _, name := range []string{model.ConfigFile, model.WeightsFile, model.CheckpointFile, metricsFile} {
		if err := atomicfile.Clean(filepath.Join(dir, name)); err != nil {
			return nil, err
		}
	}
	return lock, nil
}
