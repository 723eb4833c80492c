// Package models contains trained models, which are part of the program. The README of each folder
// describes its data, training and accuracy.
package models

import (
	"bytes"
	"crypto/sha256"
	"embed"
	"fmt"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"

	"github.com/sftseq/sftseq/internal/atomicfile"
)

// modelFiles are the files of a model. config.json is last, because it marks a complete model.
var modelFiles = []string{"model.safetensors", "config.json"}

//go:embed */config.json */model.safetensors
var content embed.FS

// Names returns the names of the models in alphabetical order.
func Names() (out []string) {
	entries, _ := fs.ReadDir(content, ".")
	for _, e := range entries {
		out = append(out, e.Name())
	}
	return out
}

// Extract writes a model to a folder below root and returns the folder's path. The folder's name
// contains a hash of the model. Extract skips files whose content is already correct.
func Extract(root, name string) (dir string, err error) {
	if names := Names(); !slices.Contains(names, name) {
		return "", fmt.Errorf("expected a built-in model (%s), found %q", strings.Join(names, ", "), name)
	}
	hash := sha256.New()
	var contents [][]byte
	for _, file := range modelFiles {
		b, err := content.ReadFile(path.Join(name, file))
		if err != nil {
			return "", err
		}
		hash.Write(b)
		contents = append(contents, b)
	}
	dir = filepath.Join(root, fmt.Sprintf("%s-%.6x", name, hash.Sum(nil)))
	if err := atomicfile.MakeFolder(dir); err != nil {
		return "", err
	}
	for i, file := range modelFiles {
		to := filepath.Join(dir, file)
		if old, err := os.ReadFile(to); err == nil && bytes.Equal(old, contents[i]) {
			continue
		}
		if err := atomicfile.WriteBytes(to, contents[i]); err != nil {
			return "", err
		}
	}
	return dir, nil
}
