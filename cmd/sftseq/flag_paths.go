package main

import (
	"cmp"
	"errors"
	"fmt"
	"io/fs"
	"path/filepath"
	"slices"
	"strings"

	"github.com/urfave/cli/v2"

	"github.com/sftseq/sftseq/sft/config"
)

// addFlagNames returns an action that changes the errors of the given action. It adds the flag's name to
// an error about a file in a flag's path: "data/x/dataset.json: no such file" alone does not name the
// wrong flag. It removes the names of system calls, such as "stat", because they do not help the user. To
// an error about the memory limit, it adds advice on --memory, and to an error about a missing --data, the
// data on which the run was trained.
func addFlagNames(action cli.ActionFunc) cli.ActionFunc {
	return func(c *cli.Context) error {
		err := action(c)
		var memory *config.MemoryError
		if errors.As(err, &memory) && memory.Reason == nil && findFlag(c.Command.Flags, "memory") != nil {
			err = fmt.Errorf("%w (--memory raises the limit)", err)
		}
		var pathErr *fs.PathError
		if !errors.As(err, &pathErr) {
			return err
		}
		err = withoutCall(err, pathErr)
		name := flagOfPath(c, pathErr.Path)
		if pathErr.Op == "mkdir" { // the path can be a parent of the folder, and the value of another flag
			name = cmp.Or(flagOfFolder(c, pathErr.Path), name)
		}
		if name != "" && !strings.HasPrefix(err.Error(), "--") && !strings.Contains(err.Error(), "--"+name) {
			err = fmt.Errorf("--%s: %w", name, err)
		}
		if name == "data" && pathErr.Path == c.String(name) && errors.Is(pathErr, fs.ErrNotExist) {
			err = fmt.Errorf("%w%s", err, recordedHint(runDirectory(c)))
		}
		return err
	}
}

// withoutCall removes the system call of cause from the text of err, if the call opens or examines
// the file.
func withoutCall(err error, cause *fs.PathError) error {
	if !slices.Contains([]string{"open", "stat", "lstat"}, cause.Op) {
		return err
	}
	return &rewordedError{err, strings.Replace(err.Error(), cause.Op+" "+cause.Path+": ", cause.Path+": ", 1)}
}

// rewordedError is an error with another text.
type rewordedError struct {
	error
	text string
}

func (e *rewordedError) Error() string { return e.text }
func (e *rewordedError) Unwrap() error { return e.error }

// flagOfFolder returns the name of the flag whose value is the folder dir or a path in it, or "" if there is
// no such flag. If there are several, it returns the flag with the longest value.
func flagOfFolder(c *cli.Context, dir string) (name string) {
	longest := 0
	for _, f := range c.Command.Flags {
		for _, value := range pathsOf(c, f) {
			value = filepath.Clean(value) + string(filepath.Separator)
			if strings.HasPrefix(value, filepath.Clean(dir)+string(filepath.Separator)) && len(value) > longest {
				name, longest = f.Names()[0], len(value)
			}
		}
	}
	return name
}

// flagOfPath returns the name of the flag whose value is path or its nearest parent folder. It
// returns "" if there is no such flag, or if two flags have this value.
func flagOfPath(c *cli.Context, path string) (name string) {
	longest := 0
	for _, f := range c.Command.Flags {
		for _, value := range pathsOf(c, f) {
			if within := path == value ||
				strings.HasPrefix(path, filepath.Clean(value)+string(filepath.Separator)); within &&
				len(value) > longest {
				name, longest = f.Names()[0], len(value)
			} else if within && len(value) == longest && name != f.Names()[0] {
				name = ""
			}
		}
	}
	return name
}

// pathsOf returns the values of f, except "" and "-", if f takes files. Other flags are ignored, because for instance
// a column can have the name of a folder.
func pathsOf(c *cli.Context, f cli.Flag) (values []string) {
	switch f := f.(type) {
	case *cli.StringFlag:
		if f.TakesFile {
			values = []string{c.String(f.Name)}
		}
	case *cli.StringSliceFlag:
		if f.TakesFile {
			values = slices.Clone(c.StringSlice(f.Name))
		}
	}
	return slices.DeleteFunc(values, func(v string) bool { return v == "" || v == "-" })
}
