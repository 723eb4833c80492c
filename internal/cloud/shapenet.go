package cloud

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/sftseq/sftseq/internal/skipped"
)

// ShapeNetCategories is the file of ShapeNetPart that names the category of each folder.
const ShapeNetCategories = "synsetoffset2category.txt"

// shapeNetLists are the files that name the clouds of each split, within the folder.
const shapeNetLists = "train_test_split/shuffled_%s_file_list.json"

// shapeNet gives the files of ShapeNetPart's layout their categories and splits; others stay as
// they are. A folder there is called by a number, and a file lists the clouds of each split.
//
// Source: Yi et al., "A Scalable Active Framework for Region Annotation in 3D Shape Collections",
// SIGGRAPH Asia 2016; the release "shapenetcore_partanno_segmentation_benchmark_v0_normal" of
// PointNet++.
func (f *Files) shapeNet() error {
	text, err := readList(f.from, ShapeNetCategories)
	if text == nil || err != nil {
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
	f.Classes = nil
	there := map[string]bool{}
	for i := range f.list {
		x := &f.list[i]
		name, ok := names[x.class]
		if !ok {
			x.left = skipped.Because(NoClass, fmt.Errorf("folder %q, expected one that %s names", x.class, ShapeNetCategories))
			continue
		}
		key := x.id()
		there[key] = true
		if x.class = name; splits != nil {
			if x.split = splits[key]; x.split == "" {
				x.left = skipped.Because("no split", errors.New("expected a cloud that is in a list of train_test_split"))
			}
		}
		if !slices.Contains(f.Classes, name) {
			f.Classes = append(f.Classes, name)
		}
	}
	for key, split := range splits {
		if !there[key] {
			folder, _, _ := strings.Cut(key, "/")
			f.list = append(f.list, file{path: filepath.Join(f.from, filepath.FromSlash(key)) + ".txt", relative: key + ".txt", class: folder, split: split,
				left: skipped.Because("no file", errors.New("expected one, as a list of train_test_split has it"))})
		}
	}
	slices.SortFunc(f.list, func(a, b file) int { return strings.Compare(a.relative, b.relative) })
	return nil
}

// shapeNetSplits are those of the clouds, by folder and name; nil where no file lists any.
func (f *Files) shapeNetSplits() (map[string]string, error) {
	var splits map[string]string
	for _, split := range []string{"train", "val", "test"} {
		name := fmt.Sprintf(shapeNetLists, split)
		text, err := readList(f.from, name)
		if err != nil {
			return nil, err
		}
		if text == nil {
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
				return nil, fmt.Errorf("%s: entry %d: %s is listed for %s already", filepath.Join(f.from, name), i, cloud, other)
			}
			splits[cloud] = split
		}
	}
	return splits, nil
}

// mostListBytes bounds a list: the largest that are known have a megabyte.
const mostListBytes = 64 << 20

// readList reads a file within a folder; nil is one that is not there.
func readList(folder, name string) ([]byte, error) {
	f, err := os.Open(filepath.Join(folder, name))
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	defer f.Close()
	text, err := io.ReadAll(io.LimitReader(f, mostListBytes+1))
	if err == nil && len(text) > mostListBytes {
		err = fmt.Errorf("%s: larger than %d bytes", filepath.Join(folder, name), mostListBytes)
	}
	return append([]byte{}, text...), err
}

// parseCategories reads lines of a category and its folder.
func parseCategories(text []byte) (map[string]string, error) {
	names := map[string]string{}
	err := lines(text, func(words []string) error {
		if len(words) != 2 {
			return fmt.Errorf("%d words, expected a category and its folder", len(words))
		}
		if other := names[words[1]]; other != "" {
			return fmt.Errorf("folder %.40q is that of %.40q already", words[1], other)
		}
		names[words[1]] = strings.ToValidUTF8(words[0], "\uFFFD")
		return nil
	})
	if err == nil && len(names) == 0 {
		err = errors.New("expected lines of a category and its folder, found none")
	}
	return names, err
}

// parseClouds reads a list such as ["shape_data/02691156/1021a0"], of which a cloud is the folder
// and the name.
func parseClouds(text []byte) ([]string, error) {
	var entries, out []string
	if err := json.Unmarshal(text, &entries); err != nil {
		return nil, fmt.Errorf("expected a JSON list of strings: %w", err)
	}
	for i, entry := range entries {
		words := strings.Split(entry, "/")
		at := len(words) - 2
		if at < 0 || slices.ContainsFunc(words[at:], func(w string) bool { return w == "" || w == "." || w == ".." || strings.ContainsAny(w, "\\\x00") }) {
			return nil, fmt.Errorf("entry %d: %.60q, expected shape_data/FOLDER/NAME", i, entry)
		}
		out = append(out, strings.Join(words[at:], "/"))
	}
	return out, nil
}
