package table

import (
	"os"
	"path/filepath"
)

// Splits are the names that the column split may have in a directory: of the splits that
// Hugging Face's library has saved, or of the folders with folders in a folder of files.
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
		return nil
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
