package table

import (
	"os"
	"path/filepath"
	"slices"
)

// Splits are the names that the column split may have in a directory: of the splits that
// Hugging Face's library has saved or the Hub has, or of the folders with folders in a folder of files.
func Splits(dir, format string) (names []string) {
	if isHF(dir) {
		parts, err := hfParts(dir)
		for i := range parts {
			if err == nil && (i == 0 || parts[i].split != parts[i-1].split) {
				names = append(names, parts[i].split)
			}
		}
		return names
	}
	if !IsFolder(dir, format) {
		return HubSplits(dir, format)
	}
	folders, err := os.ReadDir(dir)
	if err != nil {
		return nil
	}
	for _, folder := range folders {
		inner, err := os.ReadDir(filepath.Join(dir, folder.Name()))
		for i := range inner {
			if err == nil && inner[i].IsDir() {
				names = append(names, folder.Name())
				break
			}
		}
	}
	return names
}

// HubSplits are the names of the splits of a folder of tables that is laid out as on the Hugging Face Hub, nil of
// others.
func HubSplits(dir, format string) (names []string) {
	shards := Shards(dir, format)
	for i, path := range shards {
		shards[i], _ = filepath.Rel(dir, path) // it is below dir
		shards[i] = filepath.ToSlash(shards[i])
	}
	splits := hubSplits(hasCard(dir), shards)
	for _, shard := range shards {
		if name, ok := splits[shard]; ok && !slices.Contains(names, name) {
			names = append(names, name)
		}
	}
	return names
}

// Shards returns the paths of the tables in a directory that are read as one table; nil of other paths.
func Shards(dir, format string) (paths []string) {
	info, err := os.Stat(dir)
	if err != nil || !info.IsDir() || isHF(dir) {
		return nil
	}
	shards, err := findShards(dir, format)
	if err != nil {
		return nil
	}
	for _, shard := range shards {
		paths = append(paths, filepath.Join(dir, filepath.FromSlash(shard)))
	}
	return paths
}
