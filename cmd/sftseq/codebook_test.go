package main

import (
	"bytes"
	"encoding/binary"
	"fmt"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/sftseq/sftseq/internal/must"
	"github.com/sftseq/sftseq/sft"
	"github.com/sftseq/sftseq/sft/train"
	"github.com/sftseq/sftseq/tokenizers"
)

// chirp returns a WAV file of one second whose frequency changes linearly from one frequency in Hz to
// another.
func chirp(from, to float64) string {
	const rate = 8000
	var out bytes.Buffer
	out.WriteString("RIFF\x00\x00\x00\x00WAVEfmt ")
	for _, v := range []any{uint32(16), uint16(1), uint16(1), uint32(rate), uint32(2 * rate), uint16(2), uint16(16)} {
		binary.Write(&out, binary.LittleEndian, v)
	}
	out.WriteString("data")
	binary.Write(&out, binary.LittleEndian, uint32(2*rate))
	for i := range rate {
		t := float64(i) / rate
		binary.Write(&out, binary.LittleEndian, int16(9000*math.Sin(2*math.Pi*t*(from+(to-from)*t/2))))
	}
	return out.String()
}

// TestTrainSounds checks that train custom starts from the embeddings of the codebook that data
// convert has trained, by default and with --embedding-init codebook. With --embedding-init normal or
// --init-from, it starts from other embeddings.
func TestTrainSounds(t *testing.T) {
	dir := t.TempDir()
	must.Succeed(t, os.Mkdir(filepath.Join(dir, "sounds"), 0o777))
	for n := range 12 {
		writeText(t, filepath.Join(dir, "sounds", fmt.Sprintf("%s_%d.wav", []string{"up", "down"}[n%2], n)),
			chirp(float64(300+100*n), float64(300+900*((n+1)%2))))
	}
	data := filepath.Join(dir, "data")
	succeed(t, "", "data", "convert", "--from", filepath.Join(dir, "sounds"), "--to", data, "--tokenizer",
		"audio-vq:32", "--label", "path", "--label-pattern", "^(up|down)_", "--split",
		"0.5,0.25,0.25", "--no-baselines")
	embeddings := func(name string, flags ...string) []float32 {
		run := filepath.Join(dir, name)
		args := append([]string{"train", "custom", "--members", "sft", "--data", data, "--out", run,
			"--steps", "1", "--lr", "1e-30",
			"--weight-decay", "0", "--seed", "7"}, flags...)
		done(t, "", args...)
		m := must.Get(sft.Load(run))(t)
		p, _ := m.Parameters.Lookup("embed.weight")
		x := m.Parameters.Slice(m.Weights, p)
		if strings.Contains(name, "chosen") {
			tok := must.Get(tokenizers.New(m.Config.Tokenizer))(t)
			want := sft.NewModel(m.Config, 7)
			must.Succeed(t, want.CodebookEmbeddings(tok.(*tokenizers.AudioVQ).Codebook(), 7))
			equal(t, x, want.Parameters.Slice(want.Weights, p), name)
		}
		return x
	}
	chosen := embeddings("chosen")
	equal(t, embeddings("chosen by hand", "--embedding-init", "codebook"), chosen)
	normal := embeddings("normal", "--embedding-init", "normal")
	if slices.Equal(normal, chosen) {
		t.Error("normally distributed embeddings equal the codebook's")
	}
	equal(t, embeddings("from", "--init-from", filepath.Join(dir, "normal")), normal)
	equal(t, must.Get(train.LoadCheckpoint(filepath.Join(dir, "from")))(t).Settings.EmbeddingInit, "")
}

// TestConvertRates checks that data convert trains the codebook on files with the most frequent
// sampling rate, even if the first file has another rate. It also checks the warning if more files
// are left out than kept.
func TestConvertRates(t *testing.T) {
	dir := t.TempDir()
	sounds := filepath.Join(dir, "sounds")
	for n := range 9 {
		class := filepath.Join(sounds, []string{"up", "down"}[n%2])
		must.Succeed(t, os.MkdirAll(class, 0o777))
		writeText(t, filepath.Join(class, fmt.Sprintf("%d.wav", n)), chirp(float64(300+100*n), 900))
	}
	other := strings.Replace(chirp(300, 900), "\x40\x1f\x00\x00", "\x44\xac\x00\x00", 1) // 44.1 kHz
	writeText(t, filepath.Join(sounds, "down", "0.wav"), other)
	convert := func(to string) (output, errs string) {
		return exits(t, 0, "", "data", "convert", "--from", sounds, "--to", filepath.Join(dir, to), "--tokenizer",
			"audio-vq:4", "--no-baselines")
	}
	_, errs := convert("mixed-rates")
	contains(t, errs, "1 of 10 rows left out", "expected a sampling rate of 8000 Hz, found 44100 Hz")
	notContains(t, errs, "warning: 1 of 10")
	for n := range 11 {
		writeText(t, filepath.Join(sounds, "up", fmt.Sprintf("z%d.wav", n)), "RIFF")
	}
	_, errs = convert("mostly-malformed")
	contains(t, errs, "warning: 12 of 21 rows were left out, so the data set has only 9")
}
