package cloud

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"path/filepath"
	"slices"
	"strings"

	"github.com/sftseq/sftseq/internal/source"
)

// applyLists assigns the categories and splits in list files to the files of a folder. The map
// categories has the category of each folder. The map splits has the split of each FOLDER/NAME; nil
// keeps the existing splits. The parameters named and lists are the names of the list files for error
// messages. Files without a category or split are excluded with a reason, and so are listed but
// missing files.
func (f *Files) applyLists(categories map[string]string, named string, splits map[string]string, lists string) {
	f.Classes = nil
	found := map[string]bool{}
	for i := range f.list {
		x := &f.list[i]
		name, ok := categories[x.class]
		if !ok {
			x.excluded = source.Skip(NoClass, fmt.Errorf("folder %q, expected a folder that is listed in %s",
				x.class, named))
			continue
		}
		key := x.id()
		found[key] = true
		if x.class = name; splits != nil {
			if x.split = splits[key]; x.split == "" {
				x.excluded = source.Skip("no split", fmt.Errorf("the file is not listed in %s", lists))
			}
		}
		if !slices.Contains(f.Classes, name) {
			f.Classes = append(f.Classes, name)
		}
	}
	for key, split := range splits {
		if !found[key] {
			folder, _, _ := strings.Cut(key, "/")
			f.list = append(f.list, file{path: filepath.Join(f.from, filepath.FromSlash(key)) + ".txt",
				relative: key + ".txt", class: categories[folder], split: split,
				excluded: source.Skip("no file", fmt.Errorf("the file is listed in %s", lists))})
		}
	}
	slices.SortFunc(f.list, func(a, b file) int { return strings.Compare(a.relative, b.relative) })
}

// maxListBytes is the maximum size of a list in bytes. The largest known list takes about 1 MB.
const maxListBytes = 64 << 20

// readList reads a list in a folder, and reports whether the list exists. A missing list is not an error.
func readList(folder, name string) (text []byte, there bool, err error) {
	path := filepath.Join(folder, name)
	f, err := openFile(path)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, false, nil
	}
	if named := (*fs.PathError)(nil); err != nil && !errors.As(err, &named) {
		err = fmt.Errorf("%s: %w", path, err)
	}
	if err != nil {
		return nil, true, err
	}
	defer f.Close()
	text, err = io.ReadAll(io.LimitReader(f, maxListBytes+1))
	if err == nil && len(text) > maxListBytes {
		err = fmt.Errorf("%s: larger than %d bytes", path, maxListBytes)
	}
	return text, true, err
}
