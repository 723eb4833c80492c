package convert

import (
	"context"
	"encoding/binary"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"testing"

	"github.com/sftseq/sftseq/internal/must"
	"github.com/sftseq/sftseq/tokenizers"
)

// TestLearned checks that a tokenizer is learned from the training split only and is stored in the
// data set.
func TestLearned(t *testing.T) {
	o := textOptions(t, writeFile(t, "a.csv",
		"text,label,split\nred green red,1,train\nblue,0,test\nred blue,0,validation\n"))
	o.SplitColumn, o.Tokenizer = "split", []byte(`{"type":"words"}`)
	d, _ := mustConvert(t, o)
	const want = `{"type":"words","words":["red","green"]}`
	if string(d.Manifest.Tokenizer) != want || d.Manifest.VocabSize != 4 {
		t.Errorf("got tokenizer %s with a vocabulary of %d, want %s with 4", d.Manifest.Tokenizer, d.Manifest.VocabSize,
			want)
	}
	o.From, o.To = []string{"-"}, t.TempDir()
	o.Format = "csv"
	must.Fail(t, "expected a file, found standard input or a pipe")(Convert(context.Background(), o))
}

// TestLearningProgress checks that learning reads the files once and reports its rounds, that the
// conversion reads the files once more, and that all callbacks are optional.
func TestLearningProgress(t *testing.T) {
	dir := t.TempDir()
	size := int64(0)
	for i := range 8 {
		sound := wave(i)
		size += int64(len(sound))
		must.Succeed(t, os.WriteFile(filepath.Join(dir, fmt.Sprintf("%d_%d.wav", i%2, i)), sound, 0o666))
	}
	o := Options{From: []string{dir}, To: t.TempDir(), Text: "content", Label: "path",
		LabelPattern:   regexp.MustCompile("[01]"),
		SplitFractions: []SplitFraction{{Split: "train", Fraction: 1}},
		Tokenizer:      []byte(`{"type":"audio-vq","vocab":4}`)}
	mustConvert(t, o)
	var read, converted int64
	var rounds, all []int
	o.To = t.TempDir()
	o.TokenizerProgress = func(bytes int64) { read += bytes }
	o.TokenizerRounds = func(done, of int) { rounds, all = append(rounds, done), append(all, of) }
	o.Progress = func(bytes int64) { converted += bytes }
	mustConvert(t, o)
	if read != size || converted != size {
		t.Errorf("%d bytes read, %d converted, want %d", read, converted, size)
	}
	if n := len(rounds) - 1; n < 1 || rounds[0] != 0 || rounds[n] != n || slices.Max(all) != n || slices.Min(all) != n {
		t.Errorf("got rounds %v of %v, want 0 first and the total last", rounds, all)
	}
}

// wave returns a WAV file of 500 samples.
func wave(i int) []byte {
	sound := []byte("RIFF\x00\x00\x00\x00WAVEfmt \x10\x00\x00\x00\x01\x00\x01\x00\x40\x1f\x00\x00\x80\x3e\x00\x00\x02\x00\x10\x00data\xe8\x03\x00\x00")
	for n := range 500 {
		sound = binary.LittleEndian.AppendUint16(sound, uint16(int16(900*(n*(i+3)%20))))
	}
	return sound
}

// TestStrayFilesBesideWAV checks that a folder of WAV files is audio even if it contains another file or
// a malformed WAV file, and that this file is left out.
func TestStrayFilesBesideWAV(t *testing.T) {
	for name, content := range map[string]string{"low/readme.txt": "Recorded at night.", "README": "See low.",
		"low/cut.wav": string(wave(1)[:20]), "low/x.wav": "RIFF",
		"low/empty.wav": "", "low/text.wav": "some text", "low/big.txt": string(make([]byte, sampleBytes))} {
		dir := t.TempDir()
		for i := range 20 {
			path := filepath.Join(dir, []string{"low", "high"}[i%2], fmt.Sprintf("%d.wav", i))
			must.Succeed(t, os.MkdirAll(filepath.Dir(path), 0o777))
			must.Succeed(t, os.WriteFile(path, wave(i), 0o666))
		}
		must.Succeed(t, os.WriteFile(filepath.Join(dir, name), []byte(content), 0o666))
		chosen := tokenizers.Choice{}
		o := Options{From: []string{dir}, To: t.TempDir(), Text: "content", Label: "class",
			TokenizerChosen: func(c tokenizers.Choice) { chosen = c }}
		_, skipped := mustConvert(t, o)
		if chosen.Name != "audio-vq" || skipped.Left() != 1 || skipped.Read != 21 {
			t.Errorf("%s: got tokenizer %s (%s) and %d of %d rows left out, want audio-vq and 1 of 21", name,
				chosen.Name, chosen.Reason, skipped.Left(), skipped.Read)
		}
	}
}

// TestLearnUnreadable checks that an error for a tokenizer without readable rows has the location
// and the reason of the first unreadable row.
func TestLearnUnreadable(t *testing.T) {
	from := writeFile(t, "a.conll", "New York\tB-LOC\nis\tO\n")
	_, _, err := Convert(t.Context(), Options{From: []string{from}, To: filepath.Join(t.TempDir(), "d"),
		Text: "token", Tags: "tag",
		Tokenizer: []byte(`{"type":"words","vocab":100}`), SplitFractions: []SplitFraction{{Split: "train",
			Fraction: 1}}})
	want := from + ":1: line 1: column 1: expected a token without a space, found \"New York\" (no row of " + from +
		" is readable)"
	if err == nil || err.Error() != want {
		t.Errorf("got error %v, want %s", err, want)
	}
}
