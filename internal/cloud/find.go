package cloud

import (
	"cmp"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/sftseq/sftseq/internal/source"
	"github.com/sftseq/sftseq/internal/stratify"
	"github.com/sftseq/sftseq/seq"
)

// Files are the files of a folder that become clouds.
type Files struct {
	Classes []string // sorted

	from   string
	list   []file         // in the order of their names
	others map[string]int // number of unsupported files in class folders, by extension; .json is not counted
	empty  []string       // class folders with only unsupported files
}

// file is a file that becomes a row.
type file struct {
	path, relative string
	class          string             // "" for a file outside class folders
	split          string             // split that a folder or list determines, or ""
	excluded       *source.SkipReason // reason why the folder's lists exclude the file, or nil
	first          string             // relative path of the first file with the same content; "" means this file
}

// id returns the id of the row: the relative path without the extension.
func (f *file) id() string {
	return strings.ToValidUTF8(strings.TrimSuffix(f.relative, filepath.Ext(f.relative)), "\uFFFD")
}

// unused returns the reason why the file is left out without being read, or nil.
func (f *file) unused() *source.SkipReason {
	if f.excluded == nil && f.class == "" {
		return noClass
	}
	return f.excluded
}

// CheckDir returns an error unless from is a directory.
func CheckDir(from string) error {
	info, err := os.Stat(from)
	if err == nil && !info.IsDir() {
		err = fmt.Errorf("%s: expected a directory with a folder for each class, found a file", from)
	}
	return err
}

// Find lists the supported files in a folder that has a folder for each class. It ignores hidden files
// and folders, and .txt files at the top level. On the path to a file, a folder named after a split
// determines the split, and the first other folder is the class. In the layouts of ShapeNetPart and
// ModelNet40, list files determine the classes, and the splits if the folder has lists of splits.
func Find(from string) (*Files, error) {
	out := &Files{from: from, others: map[string]int{}}
	other := map[string]bool{} // folders with unsupported files
	if err := CheckDir(from); err != nil {
		return nil, err
	}
	err := filepath.WalkDir(from, func(path string, d fs.DirEntry, err error) error {
		if err != nil { // d may be nil
			return err
		}
		hidden := path != from && strings.HasPrefix(d.Name(), ".")
		switch {
		case hidden && d.IsDir():
			return fs.SkipDir
		case hidden || d.IsDir():
			return nil
		}
		relative, err := filepath.Rel(from, path)
		if err != nil {
			return err
		}
		f := file{path: path, relative: filepath.ToSlash(relative)}
		folders := strings.Split(f.relative, "/")
		for _, folder := range folders[:len(folders)-1] {
			if split, ok := seq.KnownSplit(folder); ok {
				f.split = split
			} else if f.class == "" {
				f.class = folder
			}
		}
		if !Reads(path) {
			// a dot at the end of a name is not an extension
			extension := strings.TrimSuffix(strings.ToLower(filepath.Ext(path)), ".")
			if f.class != "" && d.Type().IsRegular() && extension != ".json" { // lists of ShapeNetPart are .json
				out.others[extension]++
				other[f.class] = true
			}
			return nil
		}
		if len(folders) == 1 && strings.EqualFold(filepath.Ext(path), ".txt") {
			return nil // files beside the class folders, such as a list of class names
		}
		if f.class != "" && !slices.Contains(out.Classes, f.class) {
			out.Classes = append(out.Classes, f.class)
		}
		out.list = append(out.list, f)
		return nil
	})
	for _, folder := range slices.Sorted(maps.Keys(other)) {
		if !slices.Contains(out.Classes, folder) {
			out.empty = append(out.empty, folder)
		}
	}
	if err == nil && len(out.list) == 0 {
		err = fmt.Errorf("%s: expected a folder for each class, with files %s", from, strings.Join(Extensions(), ", "))
		if text := out.Others(); text != "" {
			err = fmt.Errorf("%w, found %s", err, text)
		}
	}
	if err == nil {
		err = out.shapeNet()
	}
	if err == nil {
		err = out.modelNet()
	}
	slices.Sort(out.Classes)
	return out, err
}

// Len returns the number of files.
func (f *Files) Len() int { return len(f.list) }

// Others returns a description of the unsupported files in class folders, by extension, and of the
// folders with only such files; "" if there are none.
func (f *Files) Others() string {
	const maxListed = 10
	extensions := slices.SortedFunc(maps.Keys(f.others), func(a, b string) int {
		return cmp.Or(cmp.Compare(f.others[b], f.others[a]), strings.Compare(a, b))
	})
	if len(extensions) == 0 {
		return ""
	}
	var each []string
	for i, extension := range extensions {
		if i == maxListed {
			each = append(each, fmt.Sprintf("%d other extensions", len(extensions)-maxListed))
			break
		}
		each = append(each, fmt.Sprintf("%d %s", f.others[extension], cmp.Or(extension, "without an extension")))
	}
	text := "files of other kinds: " + strings.Join(each, ", ")
	if len(f.empty) == 0 {
		return text
	}
	text += "; folders with only such files: " + strings.Join(f.empty[:min(maxListed, len(f.empty))], ", ")
	if more := len(f.empty) - maxListed; more > 0 {
		text += fmt.Sprintf(", %d more folders", more)
	}
	return text
}

// Surfaces reports whether any file has an extension other than .txt. Such a file contains points or a
// surface, whereas a .txt file may contain any text.
func (f *Files) Surfaces() bool {
	return slices.ContainsFunc(f.list,
		func(file file) bool { return !strings.EqualFold(filepath.Ext(file.path), ".txt") })
}

// MissingSplits reports which splits must be assigned. unassigned is true if a file has no
// split, and fromTraining is true if validation files must be taken from the training files.
// MissingSplits ignores files that are left out before they are read.
func (f *Files) MissingSplits() (unassigned, fromTraining bool) {
	has := map[string]bool{}
	for i := range f.list {
		if f.list[i].unused() == nil {
			has[f.list[i].split] = true
		}
	}
	return has[""], has["train"] && !has["val"]
}

// split returns the split of a file. If training is set, some training files are assigned to
// validation.
func (c *converter) split(f *file, training bool) string {
	if split, ok := c.assignedSplits[keyOf(c.chance(f))]; ok && f.split == "" {
		return split
	}
	switch u := c.chance(f)(); {
	case f.split == "train" && training && u < c.ValPart:
		return "val"
	case f.split != "":
		return f.split
	case u < c.TestPart:
		return "test"
	case u < c.TestPart+c.ValPart:
		return "val"
	}
	return "train"
}

// keyOf returns a random sort key of a file. The files with the smallest keys are for training, the
// files with the largest for test.
func keyOf(random func() float64) uint64 {
	return math.MaxUint64 - uint64(random()*(1<<32))<<32 - uint64(random()*(1<<32))
}

// divide assigns files without a split to splits, stratified by class, if the data set is small.
// It does nothing for tasks with known splits (Options.Spec).
func (c *converter) divide() {
	if c.Spec != nil {
		return
	}
	var strata stratify.Strata
	for i := range c.files.list {
		if f := &c.files.list[i]; f.split == "" && f.unused() == nil && strata.Len() <= stratify.MaxRows {
			strata.Add(f.class, keyOf(c.chance(f)))
		}
	}
	c.assignedSplits = strata.Assign([]stratify.SplitFraction{{Split: "train", Fraction: 1 - c.ValPart - c.TestPart},
		{Split: "val", Fraction: c.ValPart}, {Split: "test", Fraction: c.TestPart}}, 0)
}

// NoClass is the skip reason of a file outside class folders.
const NoClass = "no label"

// noClass is the reason NoClass with details.
var noClass = source.Skip(NoClass, errors.New("expected a file in the folder of its class"))

// ExcludeSmallClasses removes the classes with fewer than n files, and their files. It returns the
// names of these classes. Files that are left out before they are read do not count. Files without a
// class remain, to be reported.
func (f *Files) ExcludeSmallClasses(n int) (removed []string) {
	count := map[string]int{}
	for i := range f.list {
		if x := &f.list[i]; x.unused() == nil {
			count[x.class]++
		}
	}
	for _, class := range f.Classes {
		if count[class] < n {
			removed = append(removed, class)
		}
	}
	isRemoved := func(class string) bool { return slices.Contains(removed, class) }
	f.Classes = slices.DeleteFunc(f.Classes, isRemoved)
	f.list = slices.DeleteFunc(f.list, func(x file) bool { return isRemoved(x.class) })
	return removed
}
