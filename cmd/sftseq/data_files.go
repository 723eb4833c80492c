package main

import (
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"

	"github.com/urfave/cli/v2"

	"github.com/sftseq/sftseq/internal/files"
	"github.com/sftseq/sftseq/seq"
)

// dpkgFolder is the database folder of Debian's package manager.
const dpkgFolder = "/var/lib/dpkg"

func dataFilesCommand() *cli.Command {
	o := files.DefaultOptions
	return &cli.Command{
		Name:  "files",
		Usage: "collect installed files, with their kinds as classes",
		UsageText: `sftseq data files --to DIR [flags]

Example: sftseq data files --from /usr --from ~/go/pkg/mod --to data/files`,
		Description: `Samples files of about 200 kinds, such as python or png, by their extensions, including
files in gzip, zip, jar and whl archives. A row has the first 1,024 bytes of a file, 512 in the middle
and the last 512. A software package has files in only one of train, val and test. Files of rare kinds
have the class other; about half of the rare kinds occur only in the split unknown. Duplicates are
dropped. Files whose content contradicts the extension are omitted; those of test packages form the
split mislabelled. The data set depends on the files installed on the machine.
More: docs/files.md`,
		Flags: append(group(dataGroup,
			&cli.StringSliceFlag{Name: "from", Usage: "read the files below `DIR`; repeat it for more folders " +
				"(default: /usr, /opt, ~/go/pkg/mod and ~/.pyenv/versions)", TakesFile: true},
			&cli.IntFlag{Name: "per-kind", Value: o.PerKind, Usage: "take at most `N` files of a kind"},
			&cli.IntFlag{Name: "per-package", Value: o.PerPackage,
				Usage: "take at most `N` files of a kind from a package"},
			&cli.IntFlag{Name: "min-files", Value: o.MinFiles, Usage: "count kinds with fewer than `N` files as rare"},
			&cli.IntFlag{Name: "min-packages", Value: o.MinPackages,
				Usage: "count kinds with files from fewer than `N` packages as rare"},
			&cli.IntFlag{Name: "fragment", Usage: "read `N` adjacent bytes at a random offset of each file, in place " +
				"of its head, middle and tail"},
			&cli.Uint64Flag{Name: "seed", Usage: "choose files and splits by seed `N` (default: 0)"}),
			group(outputGroup,
				&cli.StringFlag{Name: "to", Usage: "write the data set to `DIR` (required)", TakesFile: true},
				forceFlag(), noBaselinesFlag())...),
		Action: dataFiles,
	}
}

func dataFiles(c *cli.Context) error {
	if err := noArguments(c); err != nil {
		return err
	}
	if err := requireFlags(c, "to"); err != nil {
		return err
	}
	o := files.Options{PerKind: c.Int("per-kind"), PerPackage: c.Int("per-package"), MinFiles: c.Int("min-files"),
		MinPackages: c.Int("min-packages"), Fragment: c.Int("fragment"), Seed: c.Uint64("seed"),
		Replace: c.Bool("force")}
	for _, name := range []string{"per-kind", "per-package", "min-files", "min-packages", "fragment"} {
		minimum := 1
		if name == "fragment" {
			minimum = 0
		}
		if c.Int(name) < minimum {
			return badFlag(c, name, "%d or more", minimum)
		}
	}
	if o.PerKind < o.MinFiles {
		return badFlag(c, "per-kind", "at least --min-files, %d, because kinds with fewer files are rare", o.MinFiles)
	}
	if _, err := os.Stat(filepath.Join(c.String("to"), seq.ManifestName)); err == nil && !o.Replace {
		return reportDataset(c, nil, fmt.Errorf("%s: %w", c.String("to"), seq.ErrExists)) // before reading files
	}
	packages, err := files.OpenPackages(dpkgFolder)
	if err != nil {
		return err
	}
	roots := c.StringSlice("from")
	if roots == nil {
		roots = installedRoots()
	}
	bar := newProgress(0, "finding files", "files")
	before := 0
	found, err := files.Walk(c.Context, roots, packages, func(n int) { bar.Add(int64(n - before)); before = n })
	bar.Finish()
	if err != nil {
		return err
	}
	chosen := o.Choose(found)
	bar = newProgress(int64(len(chosen)), "reading files", "files")
	o.Progress = bar.Add
	d, summary, err := files.Write(c.Context, c.String("to"), chosen, o)
	bar.Finish()
	if summary != nil && len(summary.Kinds) < 2 {
		err = fmt.Errorf("%w (lower --min-files or --min-packages, add --from, or try another --seed)", err)
		return errors.Join(printFileKinds(c.App.ErrWriter, summary), err)
	}
	if err := reportDataset(c, d, err); err != nil {
		return err
	}
	if err := printFileKinds(c.App.Writer, summary); err != nil {
		return err
	}
	return addBaselines(c, d)
}

// installedRoots returns the default folders that exist.
func installedRoots() (out []string) {
	home, _ := os.UserHomeDir()
	for _, root := range []string{"/usr", "/opt", filepath.Join(home, "go/pkg/mod"),
		filepath.Join(home, ".pyenv/versions")} {
		if info, err := os.Stat(root); err == nil && info.IsDir() {
			out = append(out, root)
		}
	}
	return out
}

// printFileKinds prints the numbers of files and packages of each class, the files that were left out, and the
// rare and omitted kinds.
func printFileKinds(w io.Writer, s *files.Summary) error {
	var out strings.Builder
	mislabelled := 0
	for _, k := range s.Rare {
		mislabelled += k.Mislabelled
	}
	for _, k := range s.Kinds {
		mislabelled += k.Mislabelled
		fmt.Fprintf(&out, "%-12s %5d files of %d packages\n", k.Name, k.Files, k.Packages)
	}
	fmt.Fprintf(&out, "%d classes; left out of train, val and test: %d files with contradicting content, %d "+
		"duplicates, %d unreadable\n", len(s.Kinds), mislabelled, s.Duplicates, s.Unreadable)
	if s.Random > 0 {
		fmt.Fprintf(&out, "%s of random bytes in other and in the split %s\n", countRows(s.Random), files.Unknown)
	}
	for _, in := range []struct{ name, title string }{{files.Other, "rare kinds in other"},
		{files.Unknown, "rare kinds in the split unknown"}, {"", "omitted kinds"}} {
		var list []string
		for _, k := range s.Rare {
			if k.In == in.name {
				list = append(list, describeRare(k))
			}
		}
		if list != nil {
			fmt.Fprintf(&out, "%s, with files and packages: %s\n", in.title, strings.Join(list, ", "))
		}
	}
	if s.FirstError != nil {
		fmt.Fprintf(&out, "first unreadable file: %v\n", s.FirstError)
	}
	_, err := fmt.Fprint(w, out.String())
	return err
}

// describeRare formats a rare kind with the numbers of its files and packages. If all files of the kind
// are mislabelled, it adds their number. For another omitted kind it adds the first of train, val
// and test without files of this kind.
func describeRare(k files.KindSummary) string {
	text := fmt.Sprintf("%s %d/%d", k.Name, k.Files, k.Packages)
	switch {
	case k.Files == 0 && k.Mislabelled > 0:
		text += fmt.Sprintf(" (%d contradict it)", k.Mislabelled)
	case k.Files > 0 && k.Missing != "" && k.In == "":
		text += fmt.Sprintf(" (none in %s)", k.Missing)
	}
	return text
}
