package cloud

import (
	"errors"
	"fmt"
	"path/filepath"
	"slices"
	"strings"
	"unicode/utf8"
)

// ModelNetClasses is the file of ModelNet40's release of points that has the names of the classes,
// one a line.
const ModelNetClasses = "modelnet40_shape_names.txt"

// modelNetLists are the files that name the clouds of a split, one a line, such as chair_0001.
const modelNetLists = "modelnet40_%s.txt"

// modelNet gives the files of that release's layout their splits; others stay as they are. A cloud
// chair_0001 is in the folder chair, and training and test each have a list.
//
// Source: Wu et al., "3D ShapeNets: A Deep Representation for Volumetric Shapes", CVPR 2015; the
// release "modelnet40_normal_resampled" of PointNet++.
func (f *Files) modelNet() error {
	text, there, err := readList(f.from, ModelNetClasses)
	if !there || err != nil {
		return err
	}
	classes, err := parseClasses(text)
	if err != nil {
		return fmt.Errorf("%s: %w", filepath.Join(f.from, ModelNetClasses), err)
	}
	splits := map[string]string{}
	for _, split := range []string{"train", "test"} {
		name := fmt.Sprintf(modelNetLists, split)
		text, there, err := readList(f.from, name)
		if err == nil && !there {
			err = fmt.Errorf("%s: %s is missing, which says with %s which cloud is in which split",
				f.from, name, ModelNetClasses)
		}
		if err != nil {
			return err
		}
		if err := parseModels(text, split, classes, splits); err != nil {
			return fmt.Errorf("%s: %w", filepath.Join(f.from, name), err)
		}
	}
	f.arrange(classes, ModelNetClasses, splits,
		fmt.Sprintf(modelNetLists, "train")+" or "+fmt.Sprintf(modelNetLists, "test"))
	return nil
}

// parseClasses reads lines of a class, which is the name of its folder.
func parseClasses(text []byte) (map[string]string, error) {
	classes := map[string]string{}
	err := lines(text, func(words []string) error {
		name := words[0]
		switch {
		case len(words) != 1 || !folderName(name):
			return fmt.Errorf("%.60q, expected the name of a class, which is a folder", strings.Join(words, " "))
		case classes[name] != "":
			return fmt.Errorf("%.60q is there already", name)
		}
		classes[name] = name
		return nil
	})
	if err == nil && len(classes) == 0 {
		err = errors.New("expected the names of classes, found none")
	}
	return classes, err
}

// parseModels adds the clouds of a list of a split to those of others, by folder and name.
func parseModels(text []byte, split string, classes, splits map[string]string) error {
	return lines(text, func(words []string) error {
		class := words[0][:max(0, strings.LastIndexByte(words[0], '_'))]
		if len(words) != 1 || classes[class] == "" || !folderName(words[0]) {
			return fmt.Errorf("%.60q, expected CLASS_NUMBER, with a class that %s has",
				strings.Join(words, " "), ModelNetClasses)
		}
		key := class + "/" + words[0]
		if other := splits[key]; other != "" {
			return fmt.Errorf("%.60s is listed for %s already", words[0], other)
		}
		splits[key] = split
		return nil
	})
}

// folderName reports whether a word of a list can be a folder or a file in the folder of a class, and
// leads nowhere else. It is UTF-8, as the names of labels and the ids of rows are.
func folderName(word string) bool {
	return !slices.Contains([]string{"", ".", ".."}, word) &&
		!strings.ContainsAny(word, "/\\\x00") && utf8.ValidString(word)
}
