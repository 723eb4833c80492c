package table

import (
	"fmt"
	"os"
	"path"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
)

// hubConfig is a configuration of a data set: one of several tables that share a folder.
type hubConfig struct {
	name      string
	line      int
	patterns  []string // patterns of its files; none means all files
	isDefault bool
}

// readHubConfigs returns the configurations that the card of a folder lists under configs.
//
// Source: https://huggingface.co/docs/hub/datasets-manual-configuration
func readHubConfigs(dir string) (configs []hubConfig) {
	text, err := os.ReadFile(filepath.Join(dir, hubCard))
	if err != nil {
		return nil
	}
	lines := strings.Split(strings.ReplaceAll(string(text), "\r\n", "\n"), "\n")
	if strings.TrimSpace(strings.TrimPrefix(lines[0], "\ufeff")) != "---" {
		return nil
	}
	inside := false
	for n, line := range lines[1:] {
		trimmed := strings.TrimSpace(line)
		if trimmed == "---" {
			break
		}
		if line != "" && !strings.ContainsAny(line[:1], " -#\t") {
			inside = strings.HasPrefix(line, "configs:")
			continue
		}
		if !inside {
			continue
		}
		key, value := hubEntry(trimmed)
		if key == "config_name" {
			configs = append(configs, hubConfig{name: value, line: n + 2, isDefault: value == "default"})
		} else if len(configs) > 0 {
			configs[len(configs)-1].add(key, value)
		}
	}
	return configs
}

// hubEntry returns the key and the value of a line of YAML; the key of an element of a list is "".
func hubEntry(line string) (key, value string) {
	line = strings.TrimSpace(strings.TrimLeft(line, "- "))
	key, value, isMapping := strings.Cut(line+" ", ": ")
	if !isMapping {
		key, value = "", line
	}
	value = strings.TrimSpace(value)
	if before, _, comment := strings.Cut(value, " #"); comment {
		value = strings.TrimSpace(before)
	}
	return key, strings.Trim(value, `"'`)
}

// add reads a line of a configuration.
func (c *hubConfig) add(key, value string) {
	switch key {
	case "default":
		c.isDefault = value == "true"
	case "data_dir":
		c.patterns = append(c.patterns, path.Join(value, "**"))
	case "", "path", "data_files":
		for _, pattern := range strings.Split(strings.Trim(value, "[]"), ",") {
			if pattern = strings.Trim(pattern, ` "'`); pattern != "" {
				c.patterns = append(c.patterns, pattern)
			}
		}
	}
}

// globs are the regular expressions of the wildcards in patterns of files.
var globs = strings.NewReplacer(`\*\*/`, `(.*/)?`, `\*\*`, `.*`, `\*`, `[^/]*`, `\?`, `[^/]`)

// has reports whether a file of the folder belongs to the configuration.
func (c *hubConfig) has(file string) bool {
	return len(c.patterns) == 0 || slices.ContainsFunc(c.patterns, func(pattern string) bool {
		matched, err := regexp.MatchString("^"+globs.Replace(regexp.QuoteMeta(path.Clean(pattern)))+"$", file)
		return matched && err == nil
	})
}

// checkConfigs refuses the tables of several configurations, unless the default one has all of them.
func checkConfigs(dir string, shards []string) error {
	var names, examples []string
	line := 0
	for _, config := range readHubConfigs(dir) {
		files := slices.DeleteFunc(slices.Clone(shards), func(file string) bool { return !config.has(file) })
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
	return fmt.Errorf("expected the tables of one configuration, found those of %s (%s:%d): name the files of one, "+
		"or a folder that has nothing else, such as %s for %s", strings.Join(names, ", "),
		filepath.Join(dir, hubCard), line, filepath.Join(dir, filepath.FromSlash(examples[0])), names[0])
}
