package main

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/urfave/cli/v2"

	builtin "github.com/sftseq/sftseq/models"
)

// builtinPrefix begins the name of a model that is part of the program.
const builtinPrefix = "builtin:"

// temporaryModels is the key of the temporary folders of models in the metadata of the program, a *[]string.
const temporaryModels = "temporary models"

// setBuiltinModel is the action of --model: for builtin:NAME it writes the model to a folder of the cache, or of the
// temporary files if that fails, and sets --model to this folder. An action runs only for a flag that was given, so `sftseq files`
// calls setBuiltinModel itself for its default model.
func setBuiltinModel(c *cli.Context, value string) error {
	name, ok := strings.CutPrefix(value, builtinPrefix)
	if !ok {
		return nil
	}
	if names := builtin.Names(); !slices.Contains(names, name) {
		return usage(c, "--model %s: expected %s%s", value, builtinPrefix, strings.Join(names, ", "+builtinPrefix))
	}
	cache, err := os.UserCacheDir()
	dir := ""
	if err == nil {
		dir, err = builtin.Extract(filepath.Join(cache, "sftseq", "models"), name)
	}
	if err != nil {
		var temporary string
		if temporary, err = os.MkdirTemp("", "sftseq-model-"); err == nil {
			folders := c.App.Metadata[temporaryModels].(*[]string)
			*folders = append(*folders, temporary)
			dir, err = builtin.Extract(temporary, name)
		}
	}
	if err != nil {
		return fmt.Errorf("--model %s: %w", value, err)
	}
	return c.Set("model", dir)
}

// removeTemporaryModels removes the temporary folders of models when the program ends.
func removeTemporaryModels(app *cli.App) {
	for _, folder := range *app.Metadata[temporaryModels].(*[]string) {
		os.RemoveAll(folder)
	}
}
