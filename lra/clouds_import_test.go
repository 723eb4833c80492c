package lra

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/sftseq/sftseq/internal/cloud"
	"github.com/sftseq/sftseq/internal/must"
)

// modelNetFolder writes a directory with the layout of ModelNet40 and returns its path. It has the
// given number of training lamps and one test lamp.
func modelNetFolder(t *testing.T, lamps int) string {
	from := t.TempDir()
	write := func(name, text string) {
		path := filepath.Join(from, name)
		must.Succeed(t, os.MkdirAll(filepath.Dir(path), 0o777))
		must.Succeed(t, os.WriteFile(path, []byte(text), 0o666))
	}
	train := ""
	for i := range lamps + 1 {
		name := fmt.Sprintf("lamp_%04d", i)
		write("lamp/"+name+".txt", "0,0,0,0,0,1\n1,1,1,0,1,0\n")
		if i < lamps {
			train += name + "\n"
		}
	}
	write(cloud.ModelNetClasses, "lamp\n")
	write("modelnet40_train.txt", train)
	write("modelnet40_test.txt", fmt.Sprintf("lamp_%04d\n", lamps))
	return from
}

// TestModelNetValidationSplit checks that the validation split gets about a tenth of the training
// shapes and no test shape.
func TestModelNetValidationSplit(t *testing.T) {
	d, err := ModelNet40.Convert(context.Background(), modelNetFolder(t, 400), t.TempDir(), ConvertOptions{Points: 1})
	must.Succeed(t, err)
	s := d.Manifest.Splits
	// The expected number of validation shapes is 40 with a standard deviation of 6.
	if s["train"].Rows+s["val"].Rows != 400 || s["val"].Rows < 28 || s["val"].Rows > 52 || s["test"].Rows != 1 {
		t.Errorf("%d training and %d validation rows, want 400 together, 28 to 52 validation; %d test rows, want 1",
			s["train"].Rows,
			s["val"].Rows, s["test"].Rows)
	}
}

// TestOfficialFiles checks that the error for a nonexistent official file states that the file is
// missing, and that the error for an unreadable file states the reason.
func TestOfficialFiles(t *testing.T) {
	convert := func(task *Task, from string) error {
		_, err := task.Convert(context.Background(), from, t.TempDir(), ConvertOptions{Points: 1})
		return err
	}
	from := modelNetFolder(t, 1)
	must.Succeed(t, os.Remove(filepath.Join(from, cloud.ModelNetClasses)))
	if err := convert(ModelNet40, from); err == nil || err.Error() != from+": modelnet40_shape_names.txt is missing" {
		t.Errorf("without modelnet40_shape_names.txt: error %v, want one that states that it is missing", err)
	}
	must.Succeed(t, os.Mkdir(filepath.Join(from, cloud.ModelNetClasses), 0o777))
	if err := convert(ModelNet40, from); err == nil ||
		err.Error() != from+": expected a file modelnet40_shape_names.txt, found a directory" {
		t.Errorf("with a directory as the list of classes: error %v, want one that expects a file", err)
	}
	shapes := t.TempDir()
	// The importer expects a directory train_test_split, not a file.
	for _, name := range []string{cloud.ShapeNetCategories, "train_test_split"} {
		must.Succeed(t, os.WriteFile(filepath.Join(shapes, name), []byte("Mug\t1\n"), 0o666))
	}
	if err := convert(ShapeNetPart, shapes); err == nil ||
		!strings.HasSuffix(err.Error(), "train_test_split/shuffled_train_file_list.json: not a directory") {
		t.Errorf("with a file train_test_split: error %v, want one that ends with %q", err,
			"train_test_split/shuffled_train_file_list.json: not a directory")
	}
	if _, err := findOfficial(filepath.Join(shapes, "train_test_split"), "x.tsv"); err == nil ||
		!strings.HasSuffix(err.Error(), "x.tsv: not a directory") {
		t.Errorf("findOfficial in a file: error %v, want one that ends with %q", err, "x.tsv: not a directory")
	}
}
