package config

import (
	"github.com/sftseq/sftseq/internal/spectra"
)

// What tests of another package need of the keys of config.json.
var (
	ConfigKeys = configKeys
	TopKeys    = topKeys
	KeysOf     = keysOf
)

// Book is the codebook of the spectra.
func (t *MaskTargets) Book() spectra.Codebook { return t.book }

// AddTask adds a task that differs from another in its name alone, until remove is called.
func AddTask(name, like string) (remove func()) {
	tasks[name] = tasks[like]
	return func() { delete(tasks, name) }
}
