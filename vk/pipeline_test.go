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

// TestPipelineFile checks that compiled pipelines are stored in a file, and that a run with this file
// sends no notice. It also checks that runs succeed with a damaged file or without a usable path, and that
// the file is valid after a run with a damaged file.
func TestPipelineFile(t *testing.T) {
	cache := t.TempDir()
	t.Setenv("XDG_CACHE_HOME", cache)
	notices := 0
	run := func() {
		t.Helper()
		d := openUnvalidated(t)
		d.pipelines.notice = func(string) { notices++ }
		runSums(t, d, 1, 1)
		must.Succeed(t, d.Close())
	}
	run()
	files, err := filepath.Glob(filepath.Join(cache, "sftseq", "*"))
	if err != nil || len(files) != 1 {
		t.Skip("the driver returns no pipeline cache: ", files)
	}
	path := files[0]
	good := must.Get(os.ReadFile(path))(t)
	contents := unseal(good)
	if contents == nil {
		t.Fatal("the stored file is damaged")
	}
	if run(); notices != 1 {
		t.Errorf("%d notices in two runs, want 1", notices)
	}
	for name, file := range map[string][]byte{
		"no content":                          {},
		"a truncated file":                    good[:len(good)-1],
		"an additional byte":                  append(bytes.Clone(good), 0),
		"a flipped bit":                       append(bytes.Clone(good[:len(good)-1]), good[len(good)-1]^4),
		"other content with its checksum":     seal(bytes.Repeat([]byte{7}, len(contents))),
		"truncated content with its checksum": seal(contents[:len(contents)/2]),
	} {
		must.Succeed(t, os.WriteFile(path, file, 0o666))
		run()
		if again, err := os.ReadFile(path); err != nil || unseal(again) == nil {
			t.Errorf("%s: after the run, the file is missing or its checksum does not match; error %v", name, err)
		}
	}
	// Further cases: the cache directory is a file, the environment names no cache directory, or
	// the file's path is a directory.
	for _, dir := range []string{path, ""} {
		t.Setenv("XDG_CACHE_HOME", dir)
		t.Setenv("HOME", dir)
		run()
	}
	t.Setenv("XDG_CACHE_HOME", cache)
	must.Succeed(t, os.Remove(path))
	must.Succeed(t, os.Mkdir(path, 0o777))
	run()
	must.Check(t, os.Remove(path))
}

// TestConcurrentPipelineFiles checks that devices that store their pipelines concurrently leave one
// complete file.
func TestConcurrentPipelineFiles(t *testing.T) {
	t.Setenv("XDG_CACHE_HOME", t.TempDir())
	var devices [3]*gpu
	for i := range devices {
		devices[i] = openUnvalidated(t)
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
	d := openUnvalidated(t)
	defer d.Close()
	if entries, err := os.ReadDir(filepath.Dir(d.pipelines.file)); err == nil &&
		(len(entries) != 1 || d.pipelines.stored == nil) {
		t.Errorf("files %v, want one; %d bytes were read", entries, len(d.pipelines.stored))
	}
}

// TestCompilationIsRetried checks that the compilation of a shader is retried after a failure.
func TestCompilationIsRetried(t *testing.T) {
	d := open(t, Options{})
	failures := 0
	d.fault = func(call string, r int32) int32 {
		if call == "compile add" && failures == 0 {
			failures++
			return outOfHostMemory
		}
		return r
	}
	if _, err := d.Prepare(additions(1)); !errors.Is(err, errOutOfMemory) {
		t.Fatalf("Prepare returned %v, want errOutOfMemory", err)
	}
	runSums(t, d, 1, 1)
}
