package table

import (
	"fmt"
	"os"
	"path"
	"path/filepath"
	"regexp"
	"slices"
	"strings"

	"go.yaml.in/yaml/v3"

	"github.com/sftseq/sftseq/internal/atomicfile"
)

// hubConfig is a configuration of a data set. Several configurations are separate tables in one
// folder.
type hubConfig struct {
	name      string
	line      int
	patterns  []string // patterns of its files; empty means all files
	isDefault bool
}

// maxCard is the maximum size of a card in bytes.
const maxCard = 1 << 20

// readCard returns the YAML of a folder's card, which is between two --- lines. It returns false if
// the folder has no card with YAML.
func readCard(dir string) (card string, ok bool) {
	text, err := atomicfile.ReadRegular(filepath.Join(dir, hubCard), maxCard)
	if err != nil {
		return "", false
	}
	card = strings.ReplaceAll(strings.TrimPrefix(string(text), "\ufeff"), "\r\n", "\n")
	card, found := strings.CutPrefix(card, "---\n")
	card, _, closed := strings.Cut(card, "\n---")
	return card, found && closed
}

// readHubConfigs returns the configurations that a folder's card lists under configs. It returns nil
// if the card cannot be read.
//
// Source: https://huggingface.co/docs/hub/datasets-manual-configuration
func readHubConfigs(dir string) (configs []hubConfig) {
	card, ok := readCard(dir)
	var listed struct {
		Configs []yaml.Node `yaml:"configs"`
	}
	if !ok || yaml.Unmarshal([]byte("\n"+card), &listed) != nil { // with the line numbers of the file
		return nil
	}
	for _, node := range listed.Configs {
		var c struct {
			Name    string    `yaml:"config_name"`
			Default bool      `yaml:"default"`
			Folder  string    `yaml:"data_dir"`
			Files   yaml.Node `yaml:"data_files"`
		}
		if node.Decode(&c) != nil {
			return nil
		}
		patterns := hubPatterns(&c.Files)
		if c.Folder != "" {
			patterns = append(patterns, path.Join(c.Folder, "**"))
		}
		configs = append(configs, hubConfig{c.Name, node.Line, patterns, c.Default || c.Name == "default"})
	}
	return configs
}

// hubPatterns returns the patterns of data_files: a string, a list, or the values of the key path
// by split.
func hubPatterns(node *yaml.Node) (patterns []string) {
	switch node.Kind {
	case yaml.ScalarNode:
		return []string{node.Value}
	case yaml.SequenceNode:
		for _, element := range node.Content {
			patterns = append(patterns, hubPatterns(element)...)
		}
	case yaml.MappingNode:
		for i := 1; i < len(node.Content); i += 2 {
			if key := node.Content[i-1].Value; key != "split" {
				patterns = append(patterns, hubPatterns(node.Content[i])...)
			}
		}
	}
	return patterns
}

// globReplacer replaces wildcards in file patterns by regular expressions.
var globReplacer = strings.NewReplacer(`\*\*/`, `(.*/)?`, `\*\*`, `.*`, `\*`, `[^/]*`, `\?`, `[^/]`)

// contains reports whether a file of the folder belongs to the configuration.
func (c *hubConfig) contains(file string) bool {
	return len(c.patterns) == 0 || slices.ContainsFunc(c.patterns, func(pattern string) bool {
		matched, err := regexp.MatchString("^"+globReplacer.Replace(regexp.QuoteMeta(path.Clean(pattern)))+"$", file)
		return matched && err == nil
	})
}

// cardOf returns the configurations of a folder's card and the card's folder. If the folder has no
// card, it may be the folder data beside its parent's card. The patterns are then relative to the
// parent, and prefix is the folder's name.
func cardOf(dir string) (configs []hubConfig, root, prefix string) {
	if _, err := os.Stat(filepath.Join(dir, hubCard)); err == nil {
		return readHubConfigs(dir), dir, ""
	}
	full, err := filepath.Abs(dir)
	if err != nil {
		return nil, dir, ""
	}
	return readHubConfigs(filepath.Dir(full)), filepath.Join(dir, ".."), filepath.Base(full)
}

// checkConfigs returns an error for tables of several configurations, unless the default
// configuration has all tables.
func checkConfigs(dir string, shards []string) error {
	var names, examples []string
	configs, root, prefix := cardOf(dir)
	shards = slices.Clone(shards)
	for i := range shards {
		shards[i] = path.Join(prefix, shards[i])
	}
	line := 0
	for _, config := range configs {
		files := slices.DeleteFunc(slices.Clone(shards), func(file string) bool { return !config.contains(file) })
		if config.isDefault && len(files) == len(shards) {
			return nil
		}
		if len(files) > 0 {
			names, examples = append(names, config.name), append(examples, files[0])
			if line == 0 {
				line = config.line
			}
		}
	}
	if len(names) < 2 {
		return nil
	}
	return fmt.Errorf("expected tables of one configuration, found tables of %s (%s:%d): "+
		"give the files of one configuration, "+
		"or a folder that contains no others, such as %s for %s", strings.Join(names, ", "),
		filepath.Join(root, hubCard), line, filepath.Join(root, filepath.FromSlash(examples[0])), names[0])
}

// CheckConfigs returns an error if files below a folder belong to several configurations of its
// card or of its parent's card, unless the default configuration has all of them.
func CheckConfigs(dir string, files []string) error {
	var relative []string
	for _, file := range files {
		path, err := filepath.Rel(dir, file)
		if err != nil {
			return err
		}
		relative = append(relative, filepath.ToSlash(path))
	}
	if err := checkConfigs(dir, relative); err != nil {
		return fmt.Errorf("%s: %w", dir, err)
	}
	return nil
}
