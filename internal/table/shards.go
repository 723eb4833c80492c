package table

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/sftseq/sftseq/internal/atomicfile"
)

// shardPath is the column with the path of a row's shard within the folder, unless the first shard
// has a column of that name.
const shardPath = "path"

// shardsReader reads the tables of a folder as a single table, in the order of their names.
type shardsReader struct {
	chain
	ctx          context.Context // cancels reading
	dir          string
	options      Options
	columns      []string
	pathIndices  []int             // indices of the path among the values
	splits       map[string]string // split names by shard, or nil
	splitIndices []int             // indices of the split among the values
	shards       []string          // paths of unread shards, relative to dir
	shard        string
}

func newShards(ctx context.Context, dir string, shards []string, o Options) (Reader, error) {
	if len(shards) == 0 {
		return nil, errors.New("expected tables, found no file")
	}
	r := &shardsReader{ctx: ctx, dir: dir, options: o, shards: shards}
	existing, own, err := r.existing()
	if err != nil {
		return nil, err
	}
	if !slices.Contains(own, hfSplit) {
		r.splits = folderSplits(dir, shards)
	}
	r.options.Columns = nil
	for i, name := range o.Columns {
		if name == hfSplit && r.splits != nil {
			r.splitIndices = append(r.splitIndices, i)
		} else if name == shardPath && !slices.Contains(own, name) {
			r.pathIndices = append(r.pathIndices, i)
		} else {
			r.options.Columns = append(r.options.Columns, name)
		}
	}
	if r.columns = slices.Clone(existing); existing != nil {
		if !slices.Contains(own, shardPath) {
			r.columns = append(r.columns, shardPath)
		}
		if r.splits != nil {
			r.columns = append(r.columns, hfSplit)
		}
	}
	r.shards, r.open = shards, r.next
	r.rows, err = r.next()
	return r, err
}

// existing returns the columns of the first shard, both as columns and as own. For JSON, columns is nil,
// and own has the names path and split if the first rows have columns of these names.
func (r *shardsReader) existing() (columns, own []string, err error) {
	read := func(names ...string) (Reader, error) {
		o := r.options
		o.Columns, o.Progress, o.MissingColumn, o.Note = names, nil, nil, nil
		return Open(r.ctx, filepath.Join(r.dir, filepath.FromSlash(r.shards[0])), o)
	}
	first, err := read()
	if err != nil {
		return nil, nil, err
	}
	columns = first.Columns()
	if err := first.Close(); err != nil || columns != nil {
		return columns, columns, err
	}
	reserved := []string{shardPath, hfSplit}
	if first, err = read(reserved...); err != nil {
		return nil, nil, err
	}
	json, ok := first.(interface{ isMissing(column string) bool })
	if !ok {
		return nil, nil, errors.Join(errors.New("expected a table with columns, found none"), first.Close())
	}
	var row Row
	for range firstRows {
		if first.Next(&row) != nil { // the rows are read again, with the error
			break
		}
	}
	own = slices.DeleteFunc(reserved, json.isMissing)
	return nil, own, first.Close()
}

// next opens the next shard.
func (r *shardsReader) next() (Reader, error) {
	if len(r.shards) == 0 {
		return nil, nil
	}
	r.shard, r.shards = r.shards[0], r.shards[1:]
	return Open(r.ctx, filepath.Join(r.dir, filepath.FromSlash(r.shard)), r.options)
}

// Columns returns the columns of the first shard, and the added columns path and split. It returns
// nil for JSON.
func (r *shardsReader) Columns() []string { return r.columns }

// Next reads the next row into row. It returns io.EOF after the last row.
func (r *shardsReader) Next(row *Row) error {
	err := r.chain.read(row)
	if err == nil && len(row.Values) == len(r.options.Columns) { // even if a value of the row has an error
		// ascending: insertions move later values
		for i := range len(r.pathIndices) + len(r.splitIndices) + len(r.options.Columns) {
			if slices.Contains(r.pathIndices, i) {
				row.insert([]int{i}, r.shard)
			} else if slices.Contains(r.splitIndices, i) {
				row.insert([]int{i}, r.splits[r.shard])
			}
		}
	}
	return err
}

// findShards returns the files of a folder in the order of their names if they are tables, or nil.
// They are tables if a format is given, or if all names have extensions of one format. Text
// files do not qualify, because a folder of documents has a row per file. For the same reason, tables in
// subfolders qualify only if they are Parquet or Arrow, or if they belong to splits. Files of another
// format beside Parquet or Arrow tables are an error, because a row per Parquet or Arrow file is never
// intended. Hidden files, names that begin with _ and files such as Thumbs.db are skipped, and so is
// documentation unless the format is text.
func findShards(dir, format string) (shards []string, _ error) {
	shards = []string{}
	first, nested := map[string]string{}, false // an example file of each format
	err := fs.WalkDir(os.DirFS(dir), ".", func(path string, entry fs.DirEntry, err error) error {
		if err != nil { // entry may be nil
			return atomicfile.WalkError(dir, path, err)
		}
		name := entry.Name()
		switch {
		case path != "." && (strings.HasPrefix(name, ".") || strings.HasPrefix(name, "_") ||
			isDesktopFile(name)): // Spark writes _SUCCESS
			if entry.IsDir() {
				return fs.SkipDir
			}
		case entry.Type().IsRegular() && IsDocumentation(name) && format != "text":
			// documentation of the tables
		case entry.Type().IsRegular():
			shards = append(shards, path)
			nested = nested || strings.Contains(path, "/")
			if found := formatOfName(path); first[found] == "" {
				first[found] = path
			}
		}
		return nil
	})
	if err != nil {
		return nil, err
	}
	if format != "" {
		return shards, checkConfigs(dir, shards)
	}
	binary := cmp.Or(first["parquet"], first["arrow"])
	switch {
	case len(first) == 1 && (binary != "" || first[""] == "" && first["text"] == "" &&
		(!nested || folderSplits(dir, shards) != nil)):
		return shards, checkConfigs(dir, shards)
	case len(first) > 1 && binary != "":
		others := slices.DeleteFunc(slices.Sorted(maps.Values(first)), func(path string) bool { return path == binary })
		return nil, fmt.Errorf("expected tables of one format, found %s and %s: "+
			"pass each file, or a folder that contains only one format", binary, others[0])
	}
	return nil, nil
}
