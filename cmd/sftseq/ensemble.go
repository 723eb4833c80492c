package main

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"github.com/urfave/cli/v2"

	"github.com/sftseq/sftseq/internal/visible"
	"github.com/sftseq/sftseq/sft"
)

// models are what --model names: a model, or those in the folder that train --seeds leaves,
// which answer together.
type models struct {
	*sft.Model // the first
	others     []*sft.Model
}

// loadModels reads --model for a command that asks for answers alone.
func loadModels(c *cli.Context) (m models, err error) {
	dir := c.String("model")
	members := membersOf(dir)
	if dir == "" || len(members) == 1 && members[0] == dir {
		m.Model, err = loadModel(c)
		return m, err
	}
	for i, name := range members {
		one, err := sft.Load(name)
		if err != nil {
			return models{}, err
		}
		if i == 0 {
			m.Model = one
			continue
		}
		if err := m.Config.SameQuestions(one.Config); err != nil {
			return models{}, fmt.Errorf("%s: expected models that answer together, and %s does not fit %s: %w; --model takes one of them, too (%s)",
				dir, filepath.Base(name), filepath.Base(members[0]), err, shortList(bases(members), 10))
		}
		m.others = append(m.others, one)
	}
	if !m.alone() {
		fmt.Fprintf(c.App.ErrWriter, "%s: %d models, which answer together: %s\n", dir, len(members), shortList(bases(members), 10))
	}
	return m, nil
}

// alone reports whether it is a single model.
func (m models) alone() bool { return m.others == nil }

func (m models) all() []*sft.Model { return append([]*sft.Model{m.Model}, m.others...) }

// truncate has the models read the beginning of longer sequences.
func (m models) truncate() {
	m.Config.Truncate()
	for _, o := range m.others {
		o.Config.Truncate()
	}
}

// needsOne refuses an ensemble for what a single model alone does. What is a flag or a command.
func (m models) needsOne(dir, what string) error {
	if m.alone() {
		return nil
	}
	members := bases(membersOf(dir))
	return fmt.Errorf("%s: expected a model, found %d that answer together, and do no more: name one of them, such as --model %s (%s)",
		what, len(members), visible.Quote(filepath.Join(dir, members[0])), shortList(members, 10))
}

// membersOf are the directories of the models that answer together: those in a folder that is no
// model itself, or that one directory.
func membersOf(dir string) []string {
	if _, err := os.Stat(filepath.Join(dir, "config.json")); !errors.Is(err, fs.ErrNotExist) {
		return []string{dir}
	}
	paths, _ := filepath.Glob(filepath.Join(escapeGlob(dir), "*", "model.safetensors"))
	if len(paths) == 0 {
		return []string{dir}
	}
	for i, path := range paths {
		paths[i] = filepath.Dir(path)
	}
	return paths
}

// escapeGlob has a pattern match a directory by its name.
var escapeGlob = strings.NewReplacer(`\`, `\\`, `*`, `\*`, `?`, `\?`, `[`, `\[`).Replace

func bases(paths []string) (names []string) {
	for _, path := range paths {
		names = append(names, filepath.Base(path))
	}
	return names
}

// tokenizerDir is where the file of a model's tokenizer is, if it has one.
func tokenizerDir(c *cli.Context) string { return membersOf(c.String("model"))[0] }
