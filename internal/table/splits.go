package table

import (
	"os"
	"path/filepath"
	"slices"
)

// Splits returns the possible values of the column split in a directory. These are the splits of a
// data set of Hugging Face's library or Hub, or the folders with subfolders in a folder of files. For a
// saved data set without splits, the only value is "".
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

// HubSplits returns the names of the splits of a folder laid out as on the Hugging Face Hub, or nil
// for other folders.
func HubSplits(dir, format string) (names []string) {
	shards := Shards(dir, format)
	for i, path := range shards {
		shards[i], _ = filepath.Rel(dir, path) // cannot fail, because path is below dir
		shards[i] = filepath.ToSlash(shards[i])
	}
	splits := folderSplits(dir, shards)
	for _, shard := range shards {
		if name, ok := splits[shard]; ok && !slices.Contains(names, name) {
			names = append(names, name)
		}
	}
	return names
}

// Shards returns the paths of the tables in a folder that is read as a single table. It returns nil
// for other paths and for data sets saved by Hugging Face's library.
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
