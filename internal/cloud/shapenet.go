package cloud

import (
	"encoding/json"
	"errors"
	"fmt"
	"path/filepath"
	"strings"
)

// ShapeNetCategories is the file that maps the folders of ShapeNetPart to categories.
const ShapeNetCategories = "synsetoffset2category.txt"

// ShapeNetLists is the path of a split's list of clouds, relative to the folder; %s is the split.
const ShapeNetLists = "train_test_split/shuffled_%s_file_list.json"

// shapeNet sets the categories and splits of files in ShapeNetPart's layout; in other layouts it
// changes nothing. Folder names are numbers, and each split may have a list of its clouds.
//
// Source: Yi et al., "A Scalable Active Framework for Region Annotation in 3D Shape Collections",
// SIGGRAPH Asia 2016; the release "shapenetcore_partanno_segmentation_benchmark_v0_normal" of
// PointNet++.
func (f *Files) shapeNet() error {
	text, there, err := readList(f.from, ShapeNetCategories)
	if !there || err != nil {
		return err
	}
	names, err := parseCategories(text)
	if err != nil {
		return fmt.Errorf("%s: %w", filepath.Join(f.from, ShapeNetCategories), err)
	}
	splits, err := f.shapeNetSplits()
	if err != nil {
		return err
	}
	f.applyLists(names, ShapeNetCategories, splits, "a list of train_test_split")
	return nil
}

// shapeNetSplits returns the splits of the clouds by folder/name; nil without lists.
func (f *Files) shapeNetSplits() (map[string]string, error) {
	var splits map[string]string
	for _, split := range []string{"train", "val", "test"} {
		name := fmt.Sprintf(ShapeNetLists, split)
		text, there, err := readList(f.from, name)
		if err != nil {
			return nil, err
		}
		if !there {
			continue
		}
		clouds, err := parseClouds(text)
		if err != nil {
			return nil, fmt.Errorf("%s: %w", filepath.Join(f.from, name), err)
		}
		if splits == nil {
			splits = map[string]string{}
		}
		for i, cloud := range clouds {
			if other := splits[cloud]; other != "" {
				return nil, fmt.Errorf("%s: entry %d: %s is also listed for %s",
					filepath.Join(f.from, name), i, cloud, other)
			}
			splits[cloud] = split
		}
	}
	return splits, nil
}

// parseCategories parses lines with a category and its folder. It returns the category of each
// folder.
func parseCategories(text []byte) (map[string]string, error) {
	names := map[string]string{}
	err := lines(text, func(words []string) error {
		if len(words) != 2 {
			return fmt.Errorf("found %d words, expected a category and its folder", len(words))
		}
		if other := names[words[1]]; other != "" {
			return fmt.Errorf("folder %.40q is already the folder of %.40q", words[1], other)
		}
		names[words[1]] = strings.ToValidUTF8(words[0], "\uFFFD")
		return nil
	})
	if err == nil && len(names) == 0 {
		err = errors.New("expected lines of a category and its folder, found none")
	}
	return names, err
}

// parseClouds reads a list such as ["shape_data/02691156/1021a0"], whose entries end with the
// folder and the name of a cloud.
func parseClouds(text []byte) ([]string, error) {
	var entries, out []string
	if err := json.Unmarshal(text, &entries); err != nil {
		return nil, fmt.Errorf("expected a JSON list of strings: %w", err)
	}
	for i, entry := range entries {
		words := strings.Split(entry, "/")
		at := len(words) - 2
		if at < 0 || !folderName(words[at]) || !folderName(words[at+1]) {
			return nil, fmt.Errorf("entry %d: %.60q, expected shape_data/FOLDER/NAME", i, entry)
		}
		out = append(out, strings.Join(words[at:], "/"))
	}
	return out, nil
}
