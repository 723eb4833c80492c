package table

import (
	"fmt"
	"maps"
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
	files     []hubFiles // empty means all files
	isDefault bool
}

// hubFiles are the files of a configuration that match a pattern.
type hubFiles struct {
	split   string // "" if the card does not name the split
	pattern string
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
// if the card cannot be read or a configuration is malformed.
//
// Source: https://huggingface.co/docs/hub/datasets-manual-configuration
func readHubConfigs(dir string) (configs []hubConfig) {
	card, ok := readCard(dir)
	var listed struct {
		Configs []yaml.Node `yaml:"configs"`
	}
	if !ok || yaml.Unmarshal([]byte("\n"+card), &listed) != nil { // "\n" keeps the line numbers of the file
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
		files := dataFiles(&c.Files, "")
		if c.Folder != "" {
			files = append(files, hubFiles{"", path.Join(c.Folder, "**")})
		}
		configs = append(configs, hubConfig{c.Name, node.Line, files, c.Default || c.Name == "default"})
	}
	return configs
}

// dataFiles returns the files of data_files: a pattern, a list, an object with the keys split and
// path, or an object with the patterns of each split.
func dataFiles(node *yaml.Node, split string) (files []hubFiles) {
	switch node.Kind {
	case yaml.ScalarNode:
		return []hubFiles{{split, node.Value}}
	case yaml.SequenceNode:
		for _, element := range node.Content {
			files = append(files, dataFiles(element, split)...)
		}
	case yaml.MappingNode:
		values := map[string]*yaml.Node{}
		for i := 1; i < len(node.Content); i += 2 {
			values[node.Content[i-1].Value] = node.Content[i]
		}
		if patterns := values["path"]; patterns != nil {
			if name := values["split"]; name != nil {
				split = name.Value
			}
			return dataFiles(patterns, split)
		}
		for _, name := range slices.Sorted(maps.Keys(values)) {
			files = append(files, dataFiles(values[name], name)...)
		}
	}
	return files
}

// globReplacer replaces the wildcards of a file pattern, as escaped by [regexp.QuoteMeta], by regular
// expressions.
var globReplacer = strings.NewReplacer(`\*\*/`, `(.*/)?`, `\*\*`, `.*`, `\*`, `[^/]*`, `\?`, `[^/]`,
	`\[!`, `[^`, `\[`, `[`, `\]`, `]`)

// contains reports whether a file, named relative to the card, belongs to the configuration. It also
// returns the file's split, or "" if the card names none.
func (c *hubConfig) contains(file string) (split string, ok bool) {
	for _, f := range c.files {
		pattern := "^" + globReplacer.Replace(regexp.QuoteMeta(path.Clean(f.pattern))) + "$"
		if matched, err := regexp.MatchString(pattern, file); matched && err == nil {
			return f.split, true
		}
	}
	return "", len(c.files) == 0
}

// cardSplits returns the split of each table according to a configuration of the card. The configuration
// must name a split for every table, and at least two splits, one of them train. Of several such
// configurations, cardSplits uses the default or, without a default, the first. Without such a
// configuration, it returns nil.
func cardSplits(dir string, shards []string) (splits map[string]string) {
	configs, _, prefix := cardOf(dir)
	for _, config := range configs {
		found := map[string]string{}
		for _, shard := range shards {
			if split, _ := config.contains(path.Join(prefix, shard)); split != "" {
				found[shard] = split
			}
		}
		if len(found) == len(shards) && severalSplits(found) && (splits == nil || config.isDefault) {
			splits = found
		}
	}
	return splits
}

// maxCardDepth is the maximum number of levels from a folder up to its card: 2 for data/en below README.md.
const maxCardDepth = 2

// nearestCard returns the folder of the card for dir: dir itself if it has a README.md, otherwise the
// nearest folder up to maxCardDepth levels above whose card has YAML. Without such a folder, root is
// dir. prefix is the path from root to dir.
func nearestCard(dir string) (root, prefix string) {
	if _, err := os.Stat(filepath.Join(dir, hubCard)); err == nil {
		return dir, ""
	}
	full, err := filepath.Abs(dir)
	if err != nil {
		return dir, ""
	}
	root = dir
	for range maxCardDepth {
		root, prefix = filepath.Join(root, ".."), path.Join(filepath.Base(full), prefix)
		full = filepath.Dir(full)
		if _, ok := readCard(full); ok {
			return root, prefix
		}
	}
	return dir, ""
}

// cardOf returns the configurations of a folder's nearest card. root is the card's folder, to which the
// patterns are relative. prefix is the path from root to dir.
func cardOf(dir string) (configs []hubConfig, root, prefix string) {
	root, prefix = nearestCard(dir)
	return readHubConfigs(root), root, prefix
}

// checkConfigs returns an error if the tables belong to several configurations, or if only some of
// them belong to a configuration. It returns nil if the default configuration has all tables.
func checkConfigs(dir string, shards []string) error {
	configs, root, prefix := cardOf(dir)
	listed := map[string]bool{} // tables of any configuration
	var found []hubConfig       // configurations with tables
	var examples []string       // a table of each configuration in found
	for _, config := range configs {
		files := 0
		for _, shard := range shards {
			if _, ok := config.contains(path.Join(prefix, shard)); ok {
				if files++; files == 1 {
					examples = append(examples, shard)
				}
				listed[shard] = true
			}
		}
		switch {
		case files == len(shards) && config.isDefault:
			return nil
		case files > 0:
			found = append(found, config)
		}
	}
	if len(found) == 0 || len(found) == 1 && len(listed) == len(shards) {
		return nil
	}
	names := found[0].name
	for _, config := range found[1:] {
		names += ", " + config.name
	}
	if len(found) == 1 {
		other := slices.IndexFunc(shards, func(shard string) bool { return !listed[shard] })
		names += fmt.Sprintf(" and tables of no configuration, such as %s", filepath.FromSlash(shards[other]))
	}
	return fmt.Errorf("expected tables of one configuration, found tables of %s (%s:%d): "+
		"pass the files of one configuration, "+
		"or a folder that contains no other tables, such as %s for %s", names, filepath.Join(root, hubCard), found[0].line,
		filepath.Join(dir, filepath.FromSlash(found[0].folder(examples[0], prefix, shards))), found[0].name)
}

// folder returns the folder of a configuration's table if the folder has all tables of the
// configuration and no other table. Otherwise, it returns the table.
func (c *hubConfig) folder(table, prefix string, shards []string) string {
	folder := path.Dir(table)
	for _, shard := range shards {
		_, own := c.contains(path.Join(prefix, shard))
		if own != strings.HasPrefix(shard, folder+"/") {
			return table
		}
	}
	return folder
}

// CheckConfigs returns an error if files below a folder belong to several configurations of the
// nearest card, or if only some of them belong to a configuration. It returns nil if the default
// configuration has all files.
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
