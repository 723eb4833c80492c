package lra

import (
	"bytes"
	"context"
	"crypto/sha256"
	"fmt"
	"image/color"
	"image/png"
	"math"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"sync"
	"testing"

	stdimage "image"

	"github.com/sftseq/sftseq/internal/must"
	"github.com/sftseq/sftseq/seq"
)

func drawPathfinder(seed, n uint64, rule PathfinderRule) seq.Example {
	d := pathfinderDraw{random: random{seed: seed}, rule: rule}
	return d.draw(n)
}

// TestPathfinderDraw checks that an image is a function of seed and number, and has a dark border, the
// whole range of gray levels and two marks, which may touch. Both labels must be about equally frequent.
func TestPathfinderDraw(t *testing.T) {
	n := 600
	if testing.Short() {
		n = 200
	}
	joined := 0
	d := pathfinderDraw{random: random{seed: 3}, rule: LRAPathfinder}
	for i := range n {
		e := d.draw(uint64(i))
		joined += int(e.Label)
		if len(e.A) != size*size || slices.Min(e.A) != 0 || slices.Max(e.A) != 255 {
			t.Fatalf("image %d: %d pixels with levels from %d to %d, want %d pixels, 0 to 255", i, len(e.A),
				slices.Min(e.A), slices.Max(e.A), size*size)
		}
		if marks := discs(e.A); len(marks) < 2 || len(marks) > 2 && distance(marks[0], marks[len(marks)-1]) > 4 {
			t.Errorf("image %d: marks at %v, want two", i, marks)
		}
		for j, v := range e.A {
			// The filter spreads a part of the adjacent pixel into the border.
			if p := (point{j / size, j % size}); !p.inside(padding) && v >= 64 {
				t.Errorf("image %d: level %d in the border, at %v, want less than 64", i, v, p)
			}
		}
		if i%50 == 0 {
			if again := drawPathfinder(3, uint64(i), LRAPathfinder); !slices.Equal(again.A, e.A) ||
				again.Label != e.Label {
				t.Errorf("image %d differs if it is drawn alone", i)
			}
		}
	}
	if deviation := math.Abs(float64(joined) - float64(n)/2); deviation > 3*math.Sqrt(float64(n))/2 {
		t.Errorf("%d of %d images are joined, want about half", joined, n)
	}
}

// TestPathfinderLabel checks that an image is labelled joined if and only if its marks are at the
// start and the end of one contour.
func TestPathfinderLabel(t *testing.T) {
	seen := map[int32]int{}
	images := 100
	if testing.Short() {
		images = 25
	}
	for n := range uint64(images) {
		e := drawPathfinder(4, n, LRAPathfinder)
		again := pathfinderDraw{random: random{seed: 4}, rule: LRAPathfinder}
		again.begin(n)
		var pair [2]snake
		for !again.drawPair(&pair) {
		}
		marks := discs(e.A)
		if len(marks) != 2 || pair[0].head == pair[1].head {
			continue // marks touch, or both contours end at the same pixel: the rule does not compare their last dashes
		}
		found := int32(-1)
		for i := range pair {
			for j := range pair {
				if slices.Contains(marks, pair[i].origin) && slices.Contains(marks, pair[j].head) &&
					pair[i].origin != pair[j].head {
					found = 0
					if i == j {
						found = 1
					}
				}
			}
		}
		if found != e.Label {
			t.Errorf("image %d: marks at %v, contours from %v to %v and from %v to %v, label %d, want %d", n, marks,
				pair[0].origin, pair[0].head, pair[1].origin, pair[1].head, e.Label, found)
		}
		seen[found]++
	}
	if seen[0] < images/4 || seen[1] < images/4 {
		t.Errorf("%v images were checked per label, want at least %d", seen, images/4)
	}
}

// TestPathfinderDigests checks that the images of a seed never change.
func TestPathfinderDigests(t *testing.T) {
	if runtime.GOARCH != "amd64" {
		t.Skip("other architectures round sines and fused products differently")
	}
	for _, test := range []struct {
		rule PathfinderRule
		want string
	}{
		{LRAPathfinder, "2e637b127ca3"},
		{PathfinderRule{Contour: 6, Distractors: 5}, "2a7b1556c36e"},
		{PathfinderRule{Contour: 3, Distractors: 20}, "de89f8bc9a3e"},
		{PathfinderRule{Contour: 1}, "d5050ba9e29c"},
	} {
		h := sha256.New()
		d := pathfinderDraw{random: random{seed: 9}, rule: test.rule}
		for n := range uint64(100) {
			e := d.draw(n)
			for _, v := range append(e.A, e.Label) {
				h.Write([]byte{byte(v)})
			}
		}
		if found := fmt.Sprintf("%.6x", h.Sum(nil)); found != test.want {
			t.Errorf("contours of %d dashes: found the digest %s, want %s", test.rule.Contour, found, test.want)
		}
	}
}

// TestRedraw checks that rows drawn anew follow the rule of the data set's rows, and are a function of
// seed, epoch and row.
func TestRedraw(t *testing.T) {
	d := must.Get(Pathfinder.Generate(t.Context(), t.TempDir(), GenerateOptions{Train: 12, Val: 2, Seed: 1 << 60,
		Rule: &PathfinderRule{Contour: 6, Distractors: 2, Shortest: 1}}))(t)
	manifest := must.Get(seq.OpenDataset(d.Dir))(t).Manifest // the provenance as read from the file
	redraw := must.Get(Redraw(manifest, 5))(t)
	rule := func(row int) PathfinderRule { return PathfinderRule{Contour: 1 + row/2, Distractors: row % 3} }
	seen := map[string]bool{}
	for _, epoch := range []uint32{0, 1, 1 << 24} {
		for row := range uint32(12) {
			e := redraw(epoch, row)
			want := drawPathfinder(5, 1<<63+uint64(epoch)<<32+uint64(row), rule(int(row)))
			if !slices.Equal(e.A, want.A) || e.Label != want.Label {
				t.Errorf("epoch %d, row %d: the image differs from the image of its rule", epoch, row)
			}
			seen[fmt.Sprint(e.A)] = true
		}
	}
	f := must.Get(d.Open("train"))(t)
	defer f.Close()
	for row := range f.Len() {
		seen[fmt.Sprint(must.Get(f.Example(row))(t).A)] = true
	}
	if len(seen) != 4*12 {
		t.Errorf("%d different images, want %d", len(seen), 4*12)
	}
	var group sync.WaitGroup
	for range 4 {
		group.Go(func() {
			for row := range uint32(12) {
				want := drawPathfinder(5, 1<<63+uint64(row), rule(int(row)))
				if e := redraw(0, row); !slices.Equal(e.A, want.A) {
					t.Errorf("row %d: another image if rows are drawn concurrently", row)
				}
			}
		})
	}
	group.Wait()
	plain := must.Get(Redraw(&seq.Manifest{Provenance: map[string]any{"generator": "pathfinder",
		"rule": map[string]any{"contour": 9.0, "distractors": 5.0}}}, 5))(t)
	want := drawPathfinder(5, 1<<63+7, PathfinderRule{Contour: 9, Distractors: 5})
	if !slices.Equal(plain(0, 7).A, want.A) {
		t.Error("without train_shortest, a row does not follow the rule of the data set")
	}
	for _, provenance := range []map[string]any{nil, {"generator": "listops", "rule": map[string]any{}},
		{"generator": "pathfinder"}, {"generator": "pathfinder", "rule": 3}} {
		m := &seq.Manifest{Provenance: provenance}
		must.Fail(t, "expected data of sftseq data generate pathfinder", provenance)(Redraw(m, 1))
	}
	must.Fail(t, "dashes of a contour")(Redraw(&seq.Manifest{Provenance: map[string]any{"generator": "pathfinder",
		"rule": map[string]any{"contour": 99}}}, 1))
}

// BenchmarkPathfinder measures the time to draw an image.
func BenchmarkPathfinder(b *testing.B) {
	d := pathfinderDraw{random: random{seed: 1}, rule: LRAPathfinder}
	for n := uint64(0); b.Loop(); n++ {
		d.draw(n)
	}
}

func distance(a, b point) float64 { return math.Hypot(float64(a.y-b.y), float64(a.x-b.x)) }

// discs returns the centres of marks: 3×3 pixels of the largest level. If marks touch, it may also
// return pixels between them.
func discs(pixels []int32) (centres []point) {
	white := func(y, x int) bool { return point{y, x}.inside(0) && pixels[y*size+x] == 255 }
	for y := range size {
		for x := range size {
			isMark := true
			for dy := -1; dy <= 1; dy++ {
				for dx := -1; dx <= 1; dx++ {
					isMark = isMark && white(y+dy, x+dx)
				}
			}
			if isMark {
				centres = append(centres, point{y, x})
			}
		}
	}
	return centres
}

// TestPathfinderGenerate checks that the splits are consecutive draws of one sequence, whatever
// their sizes, and that Generate reports invalid options and a cancelled context.
func TestPathfinderGenerate(t *testing.T) {
	var all [][]int32
	for _, o := range []GenerateOptions{{Train: 30, Val: 10, Test: 5}, {Train: 45}} {
		o.Seed = 5
		rows := int64(0)
		o.Progress = func(n int64) { rows += n }
		d, err := Pathfinder.Generate(context.Background(), t.TempDir(), o)
		if err != nil || rows != 45 {
			t.Fatalf("%d rows, want 45; error %v", rows, err)
		}
		var pixels []int32
		for _, split := range d.Manifest.SplitNames() {
			forEachRow(t, d, split, func(e seq.Example) { pixels = append(append(pixels, e.Label), e.A...) })
		}
		all = append(all, pixels)
	}
	if !slices.Equal(all[0], all[1]) {
		t.Errorf("splits of 30, 10 and 5 rows: got other labels or pixels (%d numbers) than in one split of 45 (%d), "+
			"want the same", len(all[0]), len(all[1]))
	}
	for want, o := range map[string]GenerateOptions{
		"expected 1 to 14, or 0, found 15":           {Train: 1, Rule: &PathfinderRule{Contour: 14, Shortest: 15}},
		"expected 1 to 14, or 0, found -1":           {Train: 1, Rule: &PathfinderRule{Contour: 14, Shortest: -1}},
		"pathfinder: train: expected 0 rows or more": {Train: -1},
		"pathfinder: dashes of a contour":            {Train: 1, Rule: &PathfinderRule{Contour: 2}},
		"pathfinder: distractors: expected":          {Train: 1, Rule: &PathfinderRule{Contour: 14, Distractors: -1}},
		"expected at least one split":                {},
	} {
		must.Fail(t, want, o)(Pathfinder.Generate(context.Background(), t.TempDir(), o))
	}
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	if _, err := Pathfinder.Generate(ctx, t.TempDir(), GenerateOptions{Train: 100}); err != context.Canceled {
		t.Errorf("error %v, want Canceled", err)
	}
}

// TestPathfinderEasyFirst checks that Shortest orders the training split by the length of contours. Each
// image must be drawn by its own rule, and the other splits must not change.
func TestPathfinderEasyFirst(t *testing.T) {
	const seed, rows = 5, 57
	o := GenerateOptions{Train: rows, Val: 10, Test: 5, Seed: seed,
		Rule: &PathfinderRule{Contour: 14, Distractors: 5, Shortest: 6}}
	d := must.Get(Pathfinder.Generate(context.Background(), t.TempDir(), o))(t)
	n, perLength := 0, map[int]int{}
	forEachRow(t, d, "train", func(e seq.Example) {
		rule := PathfinderRule{Contour: 6 + n*9/rows, Distractors: n % 6}
		perLength[rule.Contour]++
		if want := drawPathfinder(seed, firstTrainDraw+uint64(n), rule); e.Label != want.Label ||
			!slices.Equal(e.A, want.A) {
			t.Errorf("row %d differs from the image of %+v", n, rule)
		}
		n++
	})
	if n != rows || len(perLength) != 9 || perLength[6] != 7 || perLength[14] != 6 {
		t.Errorf("%d rows, %v by dashes per contour; want %d rows of 9 lengths, 7 of 6 dashes, 6 of 14", n, perLength,
			rows)
	}
	number := uint64(0)
	for _, split := range []string{"val", "test"} {
		forEachRow(t, d, split, func(e seq.Example) {
			if want := drawPathfinder(seed, number, LRAPathfinder); e.Label != want.Label ||
				!slices.Equal(e.A, want.A) {
				t.Errorf("%s: image %d differs from the image that the rule draws", split, number)
			}
			number++
		})
	}
	if got := fmt.Sprint(d.Manifest.Provenance["train_shortest"]); got != "6" {
		t.Errorf("train_shortest in the manifest: %s, want 6", got)
	}
}

// imageFile returns a PNG file whose pixels have one gray level, except the second pixel.
func imageFile(t testing.TB, level byte, width int) string {
	t.Helper()
	p := stdimage.NewGray(stdimage.Rect(0, 0, width, size))
	for i := range p.Pix {
		p.Pix[i] = level
	}
	p.SetGray(1, 0, color.Gray{255 - level}) // second pixel of the first row
	var out bytes.Buffer
	must.Succeed(t, png.Encode(&out, p))
	return out.String()
}

// officialPathfinder returns the files of a folder of 30 images in the official layout. One image
// is an empty file.
func officialPathfinder(t testing.TB) map[string]string {
	files := map[string]string{}
	for batch := range 3 {
		var lines strings.Builder
		for i := range 10 {
			n := 10*batch + i
			name := fmt.Sprintf("sample_%d.png", i)
			files[fmt.Sprintf("imgs/%d/%s", 10*batch, name)] = imageFile(t, byte(n), size)
			fmt.Fprintf(&lines, "imgs/%d %s %d %d 1.0 14 4 2 0.5 1 1\n", 10*batch, name, i, n%2)
		}
		files[fmt.Sprintf("metadata/%d.npy", 10*batch)] = lines.String()
	}
	files["imgs/10/sample_3.png"] = ""
	return files
}

// TestPathfinderOfficial checks that the images of an official folder are imported in the order of
// the metadata, without the empty file.
func TestPathfinderOfficial(t *testing.T) {
	d, err := Pathfinder.Convert(context.Background(), writeDir(t, officialPathfinder(t)), t.TempDir(),
		ConvertOptions{})
	must.Succeed(t, err)
	want := 0
	for split, rows := range map[string]int64{"train": 25, "val": 2, "test": 2} {
		if got := d.Manifest.Splits[split].Rows; got != rows {
			t.Errorf("%s: %d rows, want %d", split, got, rows)
		}
	}
	for _, split := range []string{"train", "val", "test"} {
		forEachRow(t, d, split, func(e seq.Example) {
			if want == 13 {
				want++ // skip the empty file
			}
			if e.A[0] != int32(want) || e.A[1] != int32(255-want) || e.Label != int32(want%2) || len(e.A) != size*size {
				t.Errorf("image %d: label %d, first pixels %v; want label %d, pixels %d and %d", want, e.Label, e.A[:3],
					want%2, want, 255-want)
			}
			want++
		})
	}
}

// TestBadPathfinder checks the errors for invalid official folders.
func TestBadPathfinder(t *testing.T) {
	for name, c := range map[string]struct{ file, text, want string }{
		"no metadata": {"metadata", "", "expected metadata files such as metadata/0.npy"},
		"a label": {"metadata/0.npy", "imgs/0 sample_0.png 0 2\n",
			`0.npy:1: expected the label 0 or 1, found "2"`},
		"too few fields": {"metadata/0.npy", "imgs/0 sample_0.png\n",
			"0.npy:1: expected folder, file, number and label, found 2 fields"},
		"no image": {"metadata/0.npy", "imgs/0 sample_77.png 0 1\n", "sample_77.png: no such file"},
		"path outside the folder": {"metadata/0.npy", "../../etc passwd 0 1\n",
			"0.npy:1: expected a file below the folder"},
		"another size": {"imgs/0/sample_0.png", imageFile(t, 1, 33),
			"sample_0.png: expected 32×32 pixels, found 33×32"},
		"not an image": {"imgs/0/sample_0.png", "this is text and no image", "sample_0.png: png: invalid format"},
		"a torn image": {"imgs/0/sample_0.png", imageFile(t, 1, size)[:70], "sample_0.png: "},
	} {
		files := officialPathfinder(t)
		if name == "no metadata" {
			for file := range files {
				if strings.HasPrefix(file, "metadata/") {
					delete(files, file)
				}
			}
		} else {
			files[c.file] = c.text
		}
		must.Fail(t, c.want, name)(Pathfinder.Convert(context.Background(), writeDir(t, files),
			t.TempDir(), ConvertOptions{}))
	}
	file := filepath.Join(t.TempDir(), "x")
	os.WriteFile(file, nil, 0o666)
	must.Fail(t, "expected a directory")(Pathfinder.Convert(context.Background(), file, t.TempDir(), ConvertOptions{}))
}
