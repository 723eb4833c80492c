package main

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"github.com/urfave/cli/v2"

	builtin "github.com/sftseq/sftseq/models"
)

// builtinPrefix begins the name of a model that is part of the program.
const builtinPrefix = "builtin:"

// builtinModel returns the value of --model; for builtin:NAME it writes the model to a folder of the cache and
// returns this folder.
func builtinModel(value string) (string, error) {
	name, ok := strings.CutPrefix(value, builtinPrefix)
	if !ok {
		return value, nil
	}
	cache, err := os.UserCacheDir()
	if err != nil {
		return "", fmt.Errorf("--model %s: no cache directory for the model: %w (set XDG_CACHE_HOME, or pass "+
			"--model DIR)", value, err)
	}
	dir, err := builtin.Extract(filepath.Join(cache, "sftseq", "models"), name)
	if err != nil {
		return "", fmt.Errorf("--model %s: %w", value, err)
	}
	return dir, nil
}

// setBuiltinModel is the action of --model, which runs before the command: it replaces builtin:NAME by the
// model's folder.
func setBuiltinModel(c *cli.Context, value string) error {
	dir, err := builtinModel(value)
	if err != nil || dir == value {
		return err
	}
	return c.Set("model", dir)
}
