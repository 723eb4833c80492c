package main

import (
	"context"
	"encoding/csv"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"
)

// build compiles sftseq and returns the path of the program.
func build(t *testing.T) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), "sftseq")
	c := exec.Command("go", "build", "-o", path, "./cmd/sftseq")
	c.Dir = filepath.Join("..", "..")
	if out, err := c.CombinedOutput(); err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	return path
}

// TestScore checks that predictions have the ids of their rows. A model without label names returns
// class numbers. A row without a text is an error that names the column.
func TestScore(t *testing.T) {
	program := build(t)
	model, err := filepath.Abs("../../sft/testdata/golden/post")
	if err != nil {
		t.Fatal(err)
	}
	dir := t.TempDir()
	id := ""
	predict := func(text string) (got []Prediction, err error) {
		file := filepath.Join(dir, "in.jsonl")
		if err := os.WriteFile(file, []byte(text), 0o666); err != nil {
			t.Fatal(err)
		}
		s := &score{Program: program, Model: model, Column: "text", ID: id}
		err = s.ProcessElement(t.Context(), file, func(a Prediction) { got = append(got, a) })
		return got, err
	}
	const row = `{"text":"[MAX 2 9 ]"}` + "\n"
	got, err := predict(row + row)
	if err != nil || len(got) != 2 || got[0].ID != "in.jsonl@1" || got[1].ID != fmt.Sprint("in.jsonl@", len(row)+1) ||
		got[0].Label != got[1].Label || len(got[0].Label) != 1 || !strings.Contains("0123456789", got[0].Label) {
		t.Errorf("predictions %v, error %v; want ids in.jsonl@1 and in.jsonl@%d, and the same digit twice", got, err,
			len(row)+1)
	}
	id = "key"
	got, err = predict(`{"key":12,"text":"[MAX 2 9 ]"}` + "\n" + `{"key":"a","text":"[MAX 2 9 ]"}` + "\n")
	if err != nil || len(got) != 2 || got[0].ID != "12" || got[1].ID != "a" {
		t.Errorf("predictions %v, error %v; want the ids 12 and a", got, err)
	}
	if _, err := predict(row + "{}\n"); err == nil ||
		!strings.Contains(err.Error(), "column text: expected a value, found none") {
		t.Errorf("a row without a text: error %v, want one that names the column text", err)
	}
}

// TestNoStream checks that output in a format other than Arrow is an immediate error, even if the
// program does not end.
func TestNoStream(t *testing.T) {
	program := filepath.Join(t.TempDir(), "program")
	if err := os.WriteFile(program, []byte("#!/bin/sh\nexec yes\n"), 0o777); err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	err := (&score{Program: program}).ProcessElement(ctx, "file", func(Prediction) {})
	if err == nil || ctx.Err() != nil {
		t.Errorf("error %v, error of the context %v; want an error before the timeout", err, ctx.Err())
	}
}

// TestLine checks that ids and labels with commas, quotes and line breaks survive writing and
// reading CSV.
func TestLine(t *testing.T) {
	for _, a := range []Prediction{{"a", "b"}, {`a,"b`, "c\nd"}, {"", ","}} {
		got, err := csv.NewReader(strings.NewReader(line(a) + "\n")).Read()
		if err != nil || !slices.Equal(got, []string{a.ID, a.Label}) {
			t.Errorf("line(%q): read %q, error %v; want %q, <nil>", a, got, err, []string{a.ID, a.Label})
		}
	}
}
