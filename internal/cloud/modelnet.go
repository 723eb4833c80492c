package cloud

import (
	"errors"
	"fmt"
	"path/filepath"
	"slices"
	"strings"
	"unicode/utf8"
)

// ModelNetClasses is the file with the class names, one per line, in the point-cloud release of ModelNet40.
const ModelNetClasses = "modelnet40_shape_names.txt"

// modelNetLists is the file name of a split's list of clouds; %s is the split. Each line names a cloud,
// such as chair_0001.
const modelNetLists = "modelnet40_%s.txt"

// modelNet sets the classes and splits of files in the layout of the point-cloud release of ModelNet40; in other
// layouts it changes nothing. Cloud chair_0001 is in the folder chair. The training and test splits
// have one list each.
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
			err = fmt.Errorf("%s: %s is missing; together with %s it assigns clouds to splits",
				f.from, name, ModelNetClasses)
		}
		if err != nil {
			return err
		}
		if err := parseModels(text, split, classes, splits); err != nil {
			return fmt.Errorf("%s: %w", filepath.Join(f.from, name), err)
		}
	}
	f.applyLists(classes, ModelNetClasses, splits,
		fmt.Sprintf(modelNetLists, "train")+" or "+fmt.Sprintf(modelNetLists, "test"))
	return nil
}

// parseClasses reads lines of class names, which are also folder names.
func parseClasses(text []byte) (map[string]string, error) {
	classes := map[string]string{}
	err := lines(text, func(words []string) error {
		name := words[0]
		switch {
		case len(words) != 1 || !folderName(name):
			return fmt.Errorf("%.60q, expected the name of a class folder", strings.Join(words, " "))
		case classes[name] != "":
			return fmt.Errorf("duplicate class %.60q", name)
		}
		classes[name] = name
		return nil
	})
	if err == nil && len(classes) == 0 {
		err = errors.New("expected the names of classes, found none")
	}
	return classes, err
}

// parseModels parses the list of a split. It adds the listed clouds to splits, a map from FOLDER/NAME
// to the split.
func parseModels(text []byte, split string, classes, splits map[string]string) error {
	return lines(text, func(words []string) error {
		class := words[0][:max(0, strings.LastIndexByte(words[0], '_'))]
		if len(words) != 1 || classes[class] == "" || !folderName(words[0]) {
			return fmt.Errorf("%.60q, expected CLASS_NUMBER, with a class that %s lists",
				strings.Join(words, " "), ModelNetClasses)
		}
		key := class + "/" + words[0]
		if other := splits[key]; other != "" {
			return fmt.Errorf("%.60s is also listed for %s", words[0], other)
		}
		splits[key] = split
		return nil
	})
}

// folderName reports whether a word of a list is a valid name of a class folder or of a file in it: valid
// UTF-8, like label names and row ids, without separators or NUL, and not empty, "." or "..".
func folderName(word string) bool {
	return !slices.Contains([]string{"", ".", ".."}, word) &&
		!strings.ContainsAny(word, "/\\\x00") && utf8.ValidString(word)
}
