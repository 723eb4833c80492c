//go:build cgo

package vk

import (
	"bytes"
	"errors"
	"os"
	"path/filepath"
	"sync"
	"testing"

	"github.com/sftseq/sftseq/internal/must"
)

// TestPipelineFile checks that compiled pipelines are stored in a file, and that a damaged or
// missing file is replaced without an error.
func TestPipelineFile(t *testing.T) {
	cache := t.TempDir()
	t.Setenv("XDG_CACHE_HOME", cache)
	notices := 0
	run := func() {
		t.Helper()
		d := bare(t)
		d.pipelines.notice = func(string) { notices++ }
		runSums(t, d, 1, 1)
		must.Succeed(t, d.Close())
	}
	run()
	files, err := filepath.Glob(filepath.Join(cache, "sftseq", "*"))
	if err != nil || len(files) != 1 {
		t.Skip("the driver returns no pipeline cache: ", files)
	}
	name := files[0]
	good := must.Get(os.ReadFile(name))(t)
	contents := unsealed(good)
	if contents == nil {
		t.Fatal("the stored file is damaged")
	}
	if run(); notices != 1 {
		t.Errorf("%d notices in two runs, want 1", notices)
	}
	for what, file := range map[string][]byte{
		"nothing":                  {},
		"a part":                   good[:len(good)-1],
		"more":                     append(bytes.Clone(good), 0),
		"a bit that flipped":       append(bytes.Clone(good[:len(good)-1]), good[len(good)-1]^4),
		"the contents of another":  sealed(bytes.Repeat([]byte{7}, len(contents))),
		"a part, with its own sum": sealed(contents[:len(contents)/2]),
	} {
		must.Succeed(t, os.WriteFile(name, file, 0o666))
		run()
		if again, err := os.ReadFile(name); err != nil || unsealed(again) == nil {
			t.Errorf("%s was not replaced: %v", what, err)
		}
	}
	// Further cases: the cache directory is a file, the environment names no cache directory, or
	// the file's path is a directory.
	for _, place := range []string{name, ""} {
		t.Setenv("XDG_CACHE_HOME", place)
		t.Setenv("HOME", place)
		run()
	}
	t.Setenv("XDG_CACHE_HOME", cache)
	must.Succeed(t, os.Remove(name))
	must.Succeed(t, os.Mkdir(name, 0o777))
	run()
	must.Check(t, os.Remove(name))
}

// TestPipelineFileTogether checks that devices that store their pipelines concurrently leave one
// complete file.
func TestPipelineFileTogether(t *testing.T) {
	t.Setenv("XDG_CACHE_HOME", t.TempDir())
	var devices [3]*gpu
	for i := range devices {
		devices[i] = bare(t)
		runSums(t, devices[i], 1, 1)
	}
	var wg sync.WaitGroup
	for _, d := range devices {
		wg.Go(func() {
			for range 20 {
				d.pipelines.stored = nil
				d.pipelines.save()
			}
			must.Check(t, d.Close())
		})
	}
	wg.Wait()
	d := bare(t)
	defer d.Close()
	if entries, err := os.ReadDir(filepath.Dir(d.pipelines.file)); err == nil &&
		(len(entries) != 1 || d.pipelines.stored == nil) {
		t.Errorf("files %v, want one; %d bytes were read", entries, len(d.pipelines.stored))
	}
}

// TestCompiledAgain checks that the compilation of a shader is retried after a failure.
func TestCompiledAgain(t *testing.T) {
	d := open(t, Options{})
	failures := 0
	d.fault = func(what string, r int32) int32 {
		if what == "compile add" && failures == 0 {
			failures++
			return outOfHostMemory
		}
		return r
	}
	if _, err := d.Prepare(sums(1)); !errors.Is(err, errFull) {
		t.Fatalf("Prepare returned %v, want errFull", err)
	}
	runSums(t, d, 1, 1)
}
