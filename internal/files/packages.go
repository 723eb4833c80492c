package files

import (
	"bufio"
	"os"
	"path"
	"path/filepath"
	"regexp"
	"strings"
)

// Packages assigns files to software packages. Versions of a package, and its parts in several Debian
// packages, are one package.
type Packages struct {
	owners map[string]string // Debian source package of each path
}

// OpenPackages reads the owners of files from the database of Debian's package manager in a folder such as
// /var/lib/dpkg. If the folder has no database, files have no owners.
func OpenPackages(folder string) (*Packages, error) {
	p := &Packages{owners: map[string]string{}}
	sources, err := sourcePackages(filepath.Join(folder, "status"))
	if err != nil {
		return nil, err
	}
	lists, err := filepath.Glob(filepath.Join(folder, "info", "*.list"))
	if err != nil {
		return nil, err
	}
	for _, list := range lists {
		name, _, _ := strings.Cut(strings.TrimSuffix(filepath.Base(list), ".list"), ":")
		if sources[name] != "" {
			name = sources[name]
		}
		name = withoutVersion(name)
		if err := eachLine(list, func(line string) { p.owners[line] = name }); err != nil {
			return nil, err
		}
	}
	return p, nil
}

// sourcePackages returns the source package of each binary package, unless both have the same name. It
// returns nil if the file is missing.
func sourcePackages(status string) (map[string]string, error) {
	out := map[string]string{}
	name := ""
	err := eachLine(status, func(line string) {
		if value, ok := strings.CutPrefix(line, "Package: "); ok {
			name = value
		}
		if value, ok := strings.CutPrefix(line, "Source: "); ok {
			out[name], _, _ = strings.Cut(value, " ")
		}
	})
	if os.IsNotExist(err) {
		return nil, nil
	}
	return out, err
}

// eachLine calls f for each line of a file.
func eachLine(name string, f func(line string)) error {
	file, err := os.Open(name)
	if err != nil {
		return err
	}
	defer file.Close()
	lines := bufio.NewScanner(file)
	lines.Buffer(nil, 1<<20)
	for lines.Scan() {
		f(lines.Text())
	}
	return lines.Err()
}

var (
	vendored   = regexp.MustCompile(`.*/vendor/([^/]+\.[^/]+/[^/]+?(?:/[^/]+?)?)(?:[/.]v\d+)?/`)
	goModule   = regexp.MustCompile(`/pkg/mod/(?:cache/download/)?(.+?)(?:[/.]v\d+)?(?:@|/@v/)`)
	npmPackage = regexp.MustCompile(`.*/node_modules/(@[^/]+/[^/]+|[^/]+)/`)
	pythonName = regexp.MustCompile(`/(?:site|dist)-packages/(?:__pycache__/)?([^/.-]+)`)
	pythonCore = regexp.MustCompile(`/lib/(?:python|pypy)[\d.]+/`)
	version    = regexp.MustCompile(`[-_.]v?\d.*$|\d+\.\d[\d.]*$`)
)

// Find returns the package of a file below root: its package in Go, Node.js, Python or Debian, otherwise
// the first folder below root without its version, or "." for a file in root itself. A folder and a Debian
// package of the same name are one package.
func (p *Packages) Find(file, root string) string {
	file = filepath.ToSlash(file)
	if m := vendored.FindStringSubmatch(file); m != nil {
		return "go/" + m[1]
	}
	if m := goModule.FindStringSubmatch(file); m != nil {
		return "go/" + m[1]
	}
	if m := npmPackage.FindStringSubmatch(file); m != nil {
		return "npm/" + m[1]
	}
	if m := pythonName.FindStringSubmatch(file); m != nil {
		return "python/" + strings.ToLower(m[1])
	}
	if pythonCore.MatchString(file) {
		return "python/core"
	}
	if owner := p.owner(file); owner != "" {
		return owner
	}
	below := strings.TrimPrefix(strings.TrimPrefix(file, filepath.ToSlash(root)), "/")
	folder, _, _ := strings.Cut(path.Dir(below), "/")
	return withoutVersion(folder)
}

// owner returns the Debian package of a file. The database may list files of /usr/lib under /lib.
func (p *Packages) owner(file string) string {
	for _, name := range []string{file, strings.TrimPrefix(file, "/usr")} {
		if owner := p.owners[name]; owner != "" {
			return owner
		}
	}
	return ""
}

// withoutVersion returns a name such as python3.11 or foo-1.2-rc1 without the version at its end.
func withoutVersion(name string) string {
	if short := version.ReplaceAllString(name, ""); short != "" {
		return short
	}
	return name
}
