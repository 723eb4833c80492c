package config

import (
	"github.com/sftseq/sftseq/internal/spectra"
)

// Exported for the tests in package config_test.
var (
	ConfigKeys = configKeys
	TopKeys    = topKeys
	KeysOf     = keysOf
)

// Book returns the codebook of the spectra.
func (t *MaskTargets) Book() spectra.Codebook { return t.book }

// AddTask adds a task that differs from another task only in its name. remove deletes it.
func AddTask(name, like string) (remove func()) {
	tasks[name] = tasks[like]
	return func() { delete(tasks, name) }
}
