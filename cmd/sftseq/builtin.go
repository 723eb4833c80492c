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

// temporaryModels is a key in the metadata of the program. The value, a *[]string, lists the temporary
// folders of models.
const temporaryModels = "temporary models"

// builtinNames is a key in the metadata of the program. The value, a map[string]string, maps each
// folder that setBuiltinModel stored in --model to the name of its model, such as builtin:files.
const builtinNames = "built-in models"

// givenModel returns --model as the user wrote it, for messages: builtin:NAME for a built-in model.
func givenModel(c *cli.Context) string {
	dir := c.String("model")
	if name, ok := c.App.Metadata[builtinNames].(map[string]string)[dir]; ok {
		return name
	}
	return dir
}

// isBuiltin reports whether --model is a built-in model.
func isBuiltin(c *cli.Context) bool { return givenModel(c) != c.String("model") }

// setBuiltinModel is the action of --model. For builtin:NAME it sets --model to the folder that
// builtinFolder returns. An action runs only if the flag is given, so `sftseq files` calls
// setBuiltinModel itself for its default model.
func setBuiltinModel(c *cli.Context, value string) error {
	if !strings.HasPrefix(value, builtinPrefix) {
		return nil
	}
	dir, err := builtinFolder(c, "--model ", value)
	if err != nil {
		return err
	}
	c.App.Metadata[builtinNames].(map[string]string)[dir] = value
	return c.Set("model", dir)
}

// builtinFolder writes a built-in model to a folder in the cache, or to a temporary folder if this fails,
// and returns the folder. value is builtin:NAME. prefix precedes it in errors.
func builtinFolder(c *cli.Context, prefix, value string) (dir string, err error) {
	name := strings.TrimPrefix(value, builtinPrefix)
	if names := builtin.Names(); !slices.Contains(names, name) {
		return "", usage(c, "%s%s: expected %s%s", prefix, value, builtinPrefix,
			strings.Join(names, ", "+builtinPrefix))
	}
	cache, err := os.UserCacheDir()
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
		return "", fmt.Errorf("%s%s: %w", prefix, value, err)
	}
	return dir, nil
}

// removeTemporaryModels removes the temporary folders of models when the program ends.
func removeTemporaryModels(app *cli.App) {
	for _, folder := range *app.Metadata[temporaryModels].(*[]string) {
		os.RemoveAll(folder)
	}
}
