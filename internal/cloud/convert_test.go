package cloud

import (
	"context"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"reflect"
	"runtime"
	"slices"
	"strings"
	"testing"
	"time"

	"golang.org/x/sync/semaphore"

	"github.com/sftseq/sftseq/internal/must"
	"github.com/sftseq/sftseq/internal/source"
	"github.com/sftseq/sftseq/seq"
)

const surface = "OFF\n4 2 0\n0 0 0\n1 0 0\n0 1 0\n0 0 2\n3 0 1 2\n3 0 1 3\n"

// folder creates the named files in a new folder, each with a different surface.
func folder(t *testing.T, names ...string) string {
	from := t.TempDir()
	for i, name := range names {
		write(t, filepath.Join(from, name), strings.Replace(surface, "0 0 2", fmt.Sprintf("0 0 %d", i+2), 1))
	}
	return from
}

// convert converts a folder and checks that a data set exists exactly if there is no error.
func convert(t *testing.T, from string, o Options) (*seq.Dataset, *source.Skipped, error) {
	t.Helper()
	files, err := Find(from)
	if err != nil {
		t.Fatal(err)
	}
	dir := filepath.Join(t.TempDir(), "data")
	d, skipped, err := Convert(t.Context(), files, dir, o)
	if _, bad := seq.OpenDataset(dir); (bad == nil) != (err == nil) {
		t.Errorf("opening the data set: got error %v, want one exactly if Convert returns one, got %v", bad, err)
	}
	return d, skipped, err
}

// ids returns the class of each row of a split, by row id.
func ids(t *testing.T, d *seq.Dataset, split string) map[string]string {
	t.Helper()
	out := map[string]string{}
	if _, ok := d.Manifest.Splits[split]; !ok {
		return out
	}
	r, err := d.Reader(split)
	if err != nil {
		t.Fatal(err)
	}
	defer r.Close()
	for {
		rows, err := r.Next()
		if err != nil {
			return out
		}
		for i := range rows.Len() {
			e := rows.Example(i)
			out[e.ID] = seq.LabelName(d.Manifest.LabelNames, e.Label)
		}
	}
}

// TestConvert checks that folders determine classes and splits, in either order, that paths
// determine row ids, and that the same seed produces the same data set.
func TestConvert(t *testing.T) {
	o := Options{Points: 9, Seed: 3}
	from := folder(t, "chair/train/1.off", "chair/test/2.off", "desk/train/3.off", "desk/train/4.v2.off")
	write(t, filepath.Join(from, "names.txt"), "chair\ndesk\n")
	write(t, filepath.Join(from, ".hidden/chair/5.off"), surface)
	write(t, filepath.Join(from, "chair/train/._1.off"), "resources of a Mac")
	d, skipped, err := convert(t, from, o)
	if err != nil || skipped.Read != 4 || skipped.Left() != 0 {
		t.Fatalf("got %d rows read, %d left out, error %v; want 4, 0\n%v", skipped.Read, skipped.Left(), err, skipped)
	}
	if m := d.Manifest; !reflect.DeepEqual(m.LabelNames, []string{"chair", "desk"}) || len(m.FeatureNames) != 6 {
		t.Errorf("got classes %q and features %q, want chair and desk, and 6 features", m.LabelNames, m.FeatureNames)
	}
	for split, want := range map[string]map[string]string{
		"train": {"chair/train/1": "chair", "desk/train/3": "desk", "desk/train/4.v2": "desk"}, "val": {},
		"test": {"chair/test/2": "chair"},
	} {
		if got := ids(t, d, split); !maps.Equal(got, want) {
			t.Errorf("%s: got %v, want %v", split, got, want)
		}
	}
	again, _, err := convert(t, from, o)
	if err != nil || again.Fingerprint() != d.Fingerprint() {
		t.Errorf("the data sets of two conversions differ; error %v", err)
	}
	above, _, err := convert(t, folder(t, "Training/desk/3.off", "Training/chair/1.off", "valid/chair/2.off"), o)
	if err != nil {
		t.Fatal(err)
	}
	if m := above.Manifest; m.Splits["train"].Rows != 2 || m.Splits["val"].Rows != 1 ||
		!reflect.DeepEqual(m.LabelNames, []string{"chair", "desk"}) {
		t.Errorf("split folders above class folders: got %+v", m)
	}
}

// TestValidation checks that some training files are used for validation if no folder has
// validation files, and that this choice does not depend on other files. Files without a split folder
// must be distributed over all three splits.
func TestValidation(t *testing.T) {
	var official, unassigned []string
	for i := range 300 {
		unassigned = append(unassigned, fmt.Sprintf("chair/%d.off", i))
		official = append(official, fmt.Sprintf("chair/train/%d.off", i))
	}
	official = append(official, "chair/test/0.off", "chair/test/1.off")
	o := Options{Points: 1, ValPart: 0.2, TestPart: 0.3}
	count := func(d *seq.Dataset, split string) int64 { return d.Manifest.Splits[split].Rows }
	d, _, err := convert(t, folder(t, official...), o)
	if err != nil {
		t.Fatal(err)
	}
	if n := count(d, "val"); n < 30 || n > 90 || count(d, "test") != 2 || count(d, "train") != 300-n {
		t.Errorf("training and test folders: got %d rows in val, %d in test, %d in train, want 30 to 90, 2 and %d", n,
			count(d, "test"), count(d, "train"), 300-n)
	}
	some, _, err := convert(t, folder(t, official[:40]...), o)
	if err != nil {
		t.Fatal(err)
	}
	for id := range ids(t, some, "val") {
		if ids(t, d, "val")[id] == "" {
			t.Errorf("%s is in val with 40 files, but not with all files", id)
		}
	}
	d, _ = must.Get2(convert(t, folder(t, append(official, "chair/val/0.off")...), o))(t, "with a validation folder")
	if n := count(d, "val"); n != 1 {
		t.Errorf("with a validation folder: got %d rows in val, want 1", n)
	}
	if d, _, err = convert(t, folder(t, unassigned...), o); err != nil {
		t.Fatal(err)
	}
	if val, test := count(d, "val"), count(d, "test"); val < 30 || val > 90 || test < 60 || test > 120 ||
		count(d, "train") != 300-val-test {
		t.Errorf("without split folders: got %+v", d.Manifest.Splits)
	}
}

// TestStratified checks that small data sets without split folders are stratified by class.
func TestStratified(t *testing.T) {
	var files []string
	for i := range 80 {
		files = append(files, fmt.Sprintf("%s/%d.off", []string{"chair", "chair", "chair", "chair", "desk"}[i%5], i))
	}
	d, _, err := convert(t, folder(t, files...), Options{Points: 1, ValPart: 0.1, TestPart: 0.1})
	must.Succeed(t, err)
	for split, want := range map[string][2]int64{"train": {64, 12}, "val": {8, 2}, "test": {8, 2}} {
		if s := d.Manifest.Splits[split]; s.Rows != want[0] || s.Labels["desk"] != want[1] {
			t.Errorf("%s: got %d rows and %d desks, want %v", split, s.Rows, s.Labels["desk"], want)
		}
	}
}

// TestLeftOut checks that unusable files are counted by reason with their paths, and that
// classes without remaining rows are removed. With Strict the first unusable file must be an
// error.
func TestLeftOut(t *testing.T) {
	from := folder(t, "chair/1.off", "desk/2.off", "desk/3.off", "lost.off")
	bad := write(t, filepath.Join(from, "chair/0.off"), surface[:40]) // truncated
	write(t, filepath.Join(from, "bed/4.off"), "OFF\n3 1 0\n0 0 0\n1 x 0\n")
	write(t, filepath.Join(from, "desk/5.xyz"), "0 0 0\n1 2 3\n")
	write(t, filepath.Join(from, "desk/6.xyz"), "0 0 0 0 0 0\n1 2 3 0 0 1\n")
	write(t, filepath.Join(from, "desk/7.off"), "OFF\n3 1 0\n0 0 0\n0 0 0\n0 0 0\n3 0 1 2\n")
	write(t, filepath.Join(from, "desk/2.obj"), "v 0 0 0\nv 1 0 0\nv 0 2 3\nf 1 2 3\n")
	if err := os.Symlink("nowhere.off", filepath.Join(from, "desk/8.off")); err != nil {
		t.Fatal(err)
	}
	d, skipped, err := convert(t, from, Options{Points: 5})
	if err != nil {
		t.Fatal(err)
	}
	if got := d.Manifest.LabelNames; !reflect.DeepEqual(got, []string{"chair", "desk"}) ||
		d.Manifest.Splits["train"].Rows != 4 {
		t.Errorf("got classes %q and %d training rows, want chair, desk and 4", got, d.Manifest.Splits["train"].Rows)
	}
	if got, want := ids(t, d, "train"), map[string]string{"chair/1": "chair", "desk/2": "desk",
		"desk/3": "desk"}; !maps.Equal(got, want) {
		t.Errorf("got %v, want %v", got, want)
	}
	report := strings.ReplaceAll(skipped.String(), from+"/", "")
	const want = `1 of 11 rows left out: a normal without a direction
  desk/6.xyz: point 0: found a normal of length 0
1 of 11 rows left out: no label
  lost.off: expected a file in the folder of its class
1 of 11 rows left out: no normals, but the first file, chair/1.off, has normals
  desk/5.xyz
1 of 11 rows left out: no points can be sampled
  desk/7.off: expected a surface with a finite area above 0
3 of 11 rows left out: the file cannot be read
  bed/4.off: line 4: "x", expected a number
  chair/0.off: line 7: expected a face with "3" corners (at least 3), found 2
  desk/8.off: no such file or directory
1 of 11 rows repeat the id of an earlier row, and are kept: their ids are not unique
  desk/2.off
`
	if report != want {
		t.Errorf("got\n%s\nwant\n%s", report, want)
	}
	const first = "bed/4.off: the file cannot be read: line 4"
	if _, _, err := convert(t, from, Options{Points: 5, Strict: true}); err == nil ||
		!strings.Contains(err.Error(), first) {
		t.Errorf("Strict: got error %v, want one that contains %q", err, first)
	}
	if _, _, err := convert(t, filepath.Dir(filepath.Dir(write(t, filepath.Join(t.TempDir(), "chair/0.off"), "x"))),
		Options{Points: 5}); err == nil ||
		!strings.Contains(err.Error(), "no row can be used\n1 of 1 rows left out: "+
			"the file cannot be read") {
		t.Errorf("no usable file: got error %v", err)
	}
	if _, err := Read(bad); err == nil || !strings.HasPrefix(err.Error(), bad+": ") {
		t.Error(err)
	}
}

// TestEqualPoints checks that a cloud of several equal points is left out because it has no size,
// but a cloud of a single point is kept.
func TestEqualPoints(t *testing.T) {
	from := t.TempDir()
	write(t, filepath.Join(from, "a/train/pair.xyz"), "1 1 1\n1 1 9\n")
	write(t, filepath.Join(from, "b/train/place.xyz"), "1 1 1\n1 1 1\n")
	if _, skipped, err := convert(t, from, Options{Points: 2}); err != nil ||
		!strings.Contains(skipped.String(), "a cloud without a size") || skipped.Left() != 1 {
		t.Fatalf("got %d rows left out, error %v, report %q; want one, as a cloud without a size", skipped.Left(), err,
			skipped)
	}
	if _, skipped, err := convert(t, from, Options{Points: 1}); err != nil || skipped.Left() != 0 {
		t.Fatalf("a single point: got %d rows left out, error %v, report %q; want none", skipped.Left(), err, skipped)
	}
}

// TestIgnoredColours checks that files whose columns 4 to 6 are not normals become clouds without
// normals, and that a single note describes all of them.
func TestIgnoredColours(t *testing.T) {
	from := t.TempDir()
	for i := range 3 {
		write(t, filepath.Join(from, fmt.Sprintf("a/%d.xyz", i)), fmt.Sprintf("0 0 0 51 95 151\n1 1 %d 12 10 1\n", 2+i))
	}
	d, skipped, err := convert(t, from, Options{Points: 2})
	if err != nil || skipped.Left() != 0 {
		t.Fatalf("got %d rows left out, error %v, report %q; want none", skipped.Left(), err, skipped)
	}
	want := "3 files: columns 4 to 6 are ignored: expected normals of length 1, found other vectors (colours, for example), first in " + filepath.Join(from, "a/0.xyz") + ": 51 95 151 has the length 185.5\n"
	if got := skipped.String(); got != want || !slices.Equal(d.Manifest.FeatureNames, seq.PositionNames) {
		t.Errorf("got %q, want %q; features %q", got, want, d.Manifest.FeatureNames)
	}
}

// TestNormals checks that normals read from files are scaled to length 1.
func TestNormals(t *testing.T) {
	from := t.TempDir()
	write(t, filepath.Join(from, "a/train/points.ply"),
		"ply\nformat ascii 1.0\nelement vertex 5\nproperty float x\nproperty float y\nproperty float z\n"+
			"property double nx\nproperty double ny\nproperty double nz\nend_header\n0 0 0 0 0 -2\n1 0 0 0 -1 0\n2 0 0 -10 0 1.42\n5 0 0 0 0 3e-162\n6 0 0 -1e153 0 0\n")
	d, skipped, err := convert(t, from, Options{Points: 5})
	if err != nil || skipped.Left() != 0 {
		t.Fatalf("got %d rows left out, error %v, report %q; want none", skipped.Left(), err, skipped)
	}
	_, features := rowsOf(t, d, "train")
	var found []string
	for _, p := range features["a/train/points"] {
		found = append(found, fmt.Sprintf("%.3f", p[3:]))
	}
	slices.Sort(found)
	if want := []string{"[-0.990 0.000 0.141]", "[-1.000 0.000 0.000]", "[0.000 -1.000 0.000]", "[0.000 0.000 -1.000]",
		"[0.000 0.000 1.000]"}; !slices.Equal(found, want) {
		t.Errorf("got %v, want %v", found, want)
	}
}

// TestExcludeSmallClasses checks that classes with few files are left out, and that excluded files
// do not count.
func TestExcludeSmallClasses(t *testing.T) {
	files := &Files{Classes: []string{"chair", "desk"}}
	for i := range 3 {
		files.list = append(files.list, file{relative: fmt.Sprintf("chair/%d.off", i), class: "chair"},
			file{relative: fmt.Sprintf("desk/%d.off", i), class: "desk"})
	}
	files.list[1].excluded = source.Skip("no file", nil)
	if removed := files.ExcludeSmallClasses(3); !slices.Equal(removed, []string{"desk"}) ||
		!slices.Equal(files.Classes, []string{"chair"}) || files.Len() != 3 {
		t.Errorf("left out %v, kept %v with %d files, want desk left out, and chair with 3 files", removed,
			files.Classes, files.Len())
	}
}

// TestBounds checks that the number of waiting rows is limited with 16 CPUs, and that reading waits for
// free memory. Waiting and the conversion must stop when the context is cancelled.
func TestBounds(t *testing.T) {
	defer runtime.GOMAXPROCS(runtime.GOMAXPROCS(16))
	from := t.TempDir()
	var names []string
	for i := range 9 {
		names = append(names, write(t, filepath.Join(from, fmt.Sprintf("a/%d.xyz", i)), "0 0 0\n1 2 3\n"))
	}
	var chunks []int64
	if _, _, err := convert(t, from,
		Options{Points: MaxPoints, Progress: func(n int64) { chunks = append(chunks, n) }}); err != nil {
		t.Fatal(err)
	}
	if want := []int64{2, 2, 2, 2, 1}; !slices.Equal(chunks, want) {
		t.Errorf("wrote chunks of %v rows, want %v", chunks, want)
	}

	files, err := Find(from)
	if err != nil {
		t.Fatal(err)
	}
	at := slices.IndexFunc(files.list, func(f file) bool { return f.path == names[0] })
	c := &converter{Options: Options{Points: 2}, files: files, reading: semaphore.NewWeighted(20)}
	if err := c.reading.Acquire(t.Context(), 12); err != nil { // the memory of another file
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	read := make(chan row)
	go func() { read <- c.read(ctx, &files.list[at]) }()
	select {
	case r := <-read:
		t.Fatalf("%s was read although the limit was reached: %+v", names[0], r)
	case <-time.After(50 * time.Millisecond):
	}
	cancel()
	<-read
	c.reading.Release(12)
	if r := c.read(t.Context(), &files.list[at]); r.reason != nil || len(r.example.Features) != 2 ||
		!c.reading.TryAcquire(20) {
		t.Errorf("got row %+v, reason %v; want a usable row, and the memory released", r, r.reason)
	}
	c.reading.Release(20)
	write(t, names[0], "0 0\n")
	if r := c.read(t.Context(), &files.list[at]); r.reason == nil || !c.reading.TryAcquire(20) {
		t.Errorf("unreadable file: got reason %v, want a reason, and the memory released", r.reason)
	}

	ctx, cancel = context.WithCancel(t.Context())
	cancel()
	many := &Shape{Points: make([]Vec, 100)}
	if _, err := many.Sample(ctx, 10, func() float64 { return 0 }); err != context.Canceled {
		t.Errorf("sampling with a cancelled context: got error %v, want %v", err, context.Canceled)
	}
	if _, _, err := Convert(ctx, files, filepath.Join(t.TempDir(), "data"),
		Options{Points: 2, Parts: true}); err != context.Canceled {
		t.Errorf("a cancelled conversion: got error %v, want %v", err, context.Canceled)
	}
}

// TestTooLarge checks that a file above the limit is refused before it is read.
func TestTooLarge(t *testing.T) {
	path := write(t, filepath.Join(t.TempDir(), "a/0.xyz"), "0 0 0\n")
	if err := os.Truncate(path, maxBytes+1); err != nil {
		t.Fatal(err)
	}
	before := new(runtime.MemStats)
	runtime.ReadMemStats(before)
	if _, err := Read(path); err == nil || err.Error() != path+": larger than 268435456 bytes" {
		t.Error(err)
	}
	after := new(runtime.MemStats)
	if runtime.ReadMemStats(after); after.TotalAlloc-before.TotalAlloc > 1<<20 {
		t.Errorf("allocated %d bytes, want at most 1 MiB", after.TotalAlloc-before.TotalAlloc)
	}
}

// TestOtherFiles checks that unsupported files in class folders are counted by extension, and that
// folders with only such files are named. Hidden files, links to folders, JSON files, and files
// beside the class folders must not count.
func TestOtherFiles(t *testing.T) {
	from := t.TempDir()
	for i, name := range []string{"a/1.xyz", "a/2.xyz", "a/2.step", "a/more/3.STEP", "a/README", "a/dot.",
		"a/.hidden.png", "train/a/4.step", "b/1.xyz", "b/1.stl",
		"c/1.stl", "val/d/1.png", "top.png", "lists/names.json"} {
		write(t, filepath.Join(from, name), fmt.Sprintf("0 0 0\n1 2 %d\n", 3+i))
	}
	if err := os.Symlink(filepath.Join(from, "b"), filepath.Join(from, "a", "link")); err != nil {
		t.Fatal(err)
	}
	_, skipped, err := convert(t, from, Options{Points: 2})
	if want := "not read: files of other kinds: 3 .step, 2 without an extension, 2 .stl, 1 .png; folders with only such files: c, d\n"; err != nil || skipped.String() != want {
		t.Errorf("got error %v, report %q, want %q", err, skipped, want)
	}
	many := t.TempDir()
	for i := range 20 {
		write(t, filepath.Join(many, fmt.Sprintf("f%02d/scan.%03d", i, i)), "0 0 0\n")
	}
	_, err = Find(many)
	if want := "found files of other kinds: 1 .000, "; err == nil || !strings.Contains(err.Error(), want) ||
		!strings.Contains(err.Error(), "1 .009, 10 other extensions; folders with only such files: f00, ") ||
		!strings.HasSuffix(err.Error(), "f09, 10 more folders") {
		t.Errorf("got %v, want %q", err, want)
	}
}

// TestFarPoints checks that a note names files in which a few far points determine the radius.
func TestFarPoints(t *testing.T) {
	from := t.TempDir()
	for i, far := range []string{"1e30 0 0", "1.5 0 0"} {
		text := far + "\n"
		for j := range 19 {
			text += fmt.Sprintf("%d %d 0.%d\n", j%3, j/3, i)
		}
		write(t, filepath.Join(from, fmt.Sprintf("a/%d.xyz", i)), text)
	}
	_, skipped, err := convert(t, from, Options{Points: 20})
	if want := "1 files: a few points are more than 100 times as far away as the others, so scaling by the radius shrinks the others, first in " + filepath.Join(from, "a/0.xyz") + ": "; err != nil || !strings.HasPrefix(skipped.String(), want) {
		t.Errorf("got report %q, error %v, want %q", skipped, err, want)
	}
}
