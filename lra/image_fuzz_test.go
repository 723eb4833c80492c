package lra

import (
	"bytes"
	"fmt"
	stdimage "image"
	"image/color"
	"image/png"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/sftseq/sftseq/internal/must"
	"github.com/sftseq/sftseq/internal/source"
	"github.com/sftseq/sftseq/internal/testenv"
	"github.com/sftseq/sftseq/seq"
)

// FuzzCIFAR checks that each record of a file becomes a row of 1,024 gray pixels. Reading must end
// with the file or with an error. In a file of valid size, the error names the first record without
// a valid class.
func FuzzCIFAR(f *testing.F) {
	gray, colour := make([]byte, grayRecord), make([]byte, rgbRecord)
	for i := range colour {
		colour[i] = byte(i * i)
	}
	copy(gray, colour[100:])
	gray[0], colour[0] = 9, 3
	bad := slices.Concat(gray, gray)
	bad[grayRecord] = 10
	for _, text := range [][]byte{gray, colour, slices.Concat(colour, colour), bad, gray[1:], {},
		[]byte(compress(string(gray)))} {
		f.Add(text)
	}
	path := filepath.Join(f.TempDir(), "x.bin")
	f.Fuzz(func(t *testing.T, text []byte) {
		defer testenv.FuzzLimits(t, 16<<20+2000*len(text))()
		must.Succeed(t, os.WriteFile(path, text, 0o666))
		plain, err := source.Decompress(bytes.NewReader(text))
		if err == nil {
			text, err = io.ReadAll(plain)
		}
		size := 0
		for _, s := range []int{rgbRecord, grayRecord} {
			if err == nil && size == 0 && len(text) > 0 && len(text)%s == 0 {
				size = s
			}
		}
		n := 0
		for e, err := range imageRows(t.Context(), nil, path) {
			if size == 0 || int(text[n*size]) >= len(imageClasses) {
				if err == nil || !strings.HasPrefix(err.Error(), path+": ") || size > 0 &&
					!strings.Contains(err.Error(), fmt.Sprintf(": record %d: ", n)) {
					t.Fatalf("error %v, want one that names the file and, if its size is valid, record %d", err, n)
				}
				return
			}
			record := text[n*size : (n+1)*size]
			if err != nil || e.Label != int32(record[0]) || e.ID != fmt.Sprintf("x.bin:%d", n) ||
				!slices.Equal(e.A, grayPixels(record[1:])) {
				t.Fatalf("record %d: error %v, label %d, want %d, or the pixels differ", n, err, e.Label, record[0])
			}
			n++
		}
		if n*size != len(text) || size == 0 {
			t.Fatalf("read %d records of %d bytes, want all %d bytes of the file", n, size, len(text))
		}
	})
}

// grayPixels returns the gray pixels of a record, computed with TensorFlow's weights in float32.
func grayPixels(pixels []byte) (out []int32) {
	if len(pixels) == 32*32 {
		for _, p := range pixels {
			out = append(out, int32(p))
		}
		return out
	}
	for i := range 32 * 32 {
		sum := float32(0)
		for plane, weight := range []float32{0.2989, 0.5870, 0.1140} {
			term := weight * (float32(pixels[1024*plane+i]) * (float32(1) / 255))
			sum += float32(term)
		}
		out = append(out, int32(sum*255.5))
	}
	return out
}

// FuzzPNG checks that reading any PNG file as an image of Pathfinder returns 32×32 gray pixels or
// an error. The same pixels, written as a gray PNG, must be read back unchanged.
func FuzzPNG(f *testing.F) {
	encode := func(t testing.TB, img stdimage.Image) []byte {
		var out bytes.Buffer
		must.Succeed(t, png.Encode(&out, img))
		return out.Bytes()
	}
	bounds := stdimage.Rect(0, 0, size, size)
	gray, deep, colours, palette := stdimage.NewGray(bounds), stdimage.NewGray16(bounds), stdimage.NewNRGBA(bounds),
		stdimage.NewPaletted(bounds, color.Palette{color.Black, color.White})
	for i := range size * size {
		gray.Pix[i], palette.Pix[i] = byte(i), byte(i%3/2)
		deep.Pix[2*i], colours.Pix[4*i], colours.Pix[4*i+3] = byte(i), byte(i*i), byte(i/2)
	}
	for _, img := range []stdimage.Image{gray, deep, colours, palette, stdimage.NewGray(stdimage.Rect(0, 0, size, 1))} {
		text := encode(f, img)
		f.Add(text)
		f.Add(text[:len(text)/2])
	}
	path := filepath.Join(f.TempDir(), "x.png")
	read := func(t *testing.T, text []byte) (seq.Example, error) {
		must.Succeed(t, os.WriteFile(path, text, 0o666))
		for e, err := range readPathfinder(t.Context(), []pathfinderImage{{path, 1}}, nil) {
			if err != nil && !strings.HasPrefix(err.Error(), path+": ") {
				t.Fatalf("the error does not begin with the file: %v", err)
			}
			return e, err
		}
		panic("no row")
	}
	f.Fuzz(func(t *testing.T, text []byte) {
		defer testenv.FuzzLimits(t, 4<<20+10*len(text))()
		e, err := read(t, text)
		if err != nil {
			return
		}
		again := stdimage.NewGray(bounds)
		for i, v := range e.A {
			again.Pix[i] = byte(v)
			if v < 0 || v > 255 {
				t.Fatalf("pixel %d is %d, want 0 to 255", i, v)
			}
		}
		if b, err := read(t, encode(t, again)); err != nil || len(e.A) != size*size || e.Label != 1 ||
			!slices.Equal(b.A, e.A) {
			t.Fatalf("%d pixels, label %d; read again: %v", len(e.A), e.Label, err)
		}
	})
}

// FuzzPathfinder checks for any metadata that the listed images lie in the folder and have the
// order of the lines, and that an error names the metadata file or the folder.
func FuzzPathfinder(f *testing.F) {
	line := "imgs/0 sample_0.png 0 1 2.5 3\n"
	for _, text := range []string{strings.Repeat(line, 12), strings.Repeat(line, 11) + "../.. x 0 1\n",
		"imgs/0 sample_0.png 0 2\n", "a b\n", "imgs/0 empty.png 1 0\r\n" + strings.Repeat(line,
			10), ". . 0 0\n", "\n"} {
		f.Add(text)
	}
	dir := f.TempDir()
	metadata := filepath.Join(dir, "metadata", "0.npy")
	for path, text := range map[string]string{metadata: "", filepath.Join(dir, "imgs", "0", "sample_0.png"): "picture",
		filepath.Join(dir, "imgs", "0", "empty.png"): ""} {
		must.Succeed(f, os.MkdirAll(filepath.Dir(path), 0o777))
		must.Succeed(f, os.WriteFile(path, []byte(text), 0o666))
	}
	f.Fuzz(func(t *testing.T, text string) {
		defer testenv.FuzzLimits(t, 4<<20+1000*len(text))()
		must.Succeed(t, os.WriteFile(metadata, []byte(text), 0o666))
		images, total, err := pathfinderImages(t.Context(), dir)
		if err != nil {
			if !strings.HasPrefix(err.Error(), dir) || !strings.HasPrefix(err.Error(), metadata+":") &&
				!strings.HasPrefix(err.Error(), dir+": expected at least 10 images") {
				t.Fatalf("the error does not state the location: %v", err)
			}
			return
		}
		lines := strings.Split(text, "\n")
		for _, i := range images {
			relative, err := filepath.Rel(dir, i.path)
			if err != nil || !filepath.IsLocal(relative) {
				t.Fatalf("%q is not below %q", i.path, dir)
			}
			info, err := os.Stat(i.path)
			if err != nil || !info.Mode().IsRegular() {
				t.Fatalf("%q is not a file", i.path)
			}
			total -= info.Size()
			for { // the image's line must follow the line of the previous image
				if len(lines) == 0 {
					t.Fatalf("no further line names %q with label %d", i.path, i.label)
				}
				fields := strings.Fields(lines[0])
				lines = lines[1:]
				if len(fields) > 3 && filepath.Join(fields[0], fields[1]) == relative &&
					fields[3] == fmt.Sprint(i.label) {
					break
				}
			}
		}
		if total != 0 {
			t.Fatalf("the total size minus the sizes of the images is %d bytes, want 0", total)
		}
	})
}
