package shard

import (
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"syscall"
	"testing"

	"github.com/apache/arrow/go/v15/arrow"

	"github.com/sftseq/sftseq/internal/must"
	"github.com/sftseq/sftseq/internal/table"
)

func key(s Shard) *Key {
	return &Key{Model: "m", Input: "i", Options: `{"command":"test"}`, Kernels: "k", Shard: s}
}

// fill writes rows to a part, every third row with an error, and completes the part.
func fill(t *testing.T, part *Part, k *Key, rows int) {
	t.Helper()
	w, err := table.NewArrowWriter(part, []table.OutputColumn{{Name: "id"}, {Name: ErrorColumn}}, k.Metadata(), false)
	must.Succeed(t, err)
	for i := range rows {
		row := []any{fmt.Sprint(k.Shard.Index, ":", i), nil}
		if i%3 == 0 {
			row[1] = "bad"
		}
		must.Succeed(t, w.Write(row))
	}
	must.Succeed(t, errors.Join(w.Close(), part.Commit()))
}

func begin(t *testing.T, dir string, k *Key) *Part {
	t.Helper()
	part, _, err := Begin(dir, k)
	if err != nil || part == nil {
		t.Fatalf("got part %v, error %v, want a new part", part, err)
	}
	return part
}

func names(t *testing.T, dir string) (out []string) {
	t.Helper()
	entries := must.Get(os.ReadDir(dir))(t)
	for _, e := range entries {
		out = append(out, e.Name())
	}
	return out
}

// TestBegin checks that Begin returns the number of rows of an existing part with the same key. A part
// with another key or an empty field, a truncated part, and other files with the name of a part are refused.
func TestBegin(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "new", "parts")
	k := key(Shard{3, 8})
	fill(t, begin(t, dir, k), k, 10)
	path := filepath.Join(dir, "part-00003-of-00008.arrow")
	before := must.Get(os.ReadFile(path))(t)
	if part, rows, err := Begin(dir, k); part != nil || rows != 10 || err != nil {
		t.Errorf("the same key: got part %v, %d rows, error %v, want no part and 10 rows", part, rows, err)
	}
	for want, change := range map[string]func(*Key){
		"model (SHA-256): expected x, found m":     func(k *Key) { k.Model = "x" },
		"input (fingerprint): expected x, found i": func(k *Key) { k.Input = "x" },
		"options: expected x, found {":             func(k *Key) { k.Options = "x" },
		"kernels: expected x, found k":             func(k *Key) { k.Kernels = "x" },
		"expected parts of 4 shards, found part-00003-of-00008.arrow: use the same N (--shard 3/8, or auto/8)": func(k *Key) { k.Shard.Count = 4 },
	} {
		other := *k
		change(&other)
		if part, _, err := Begin(dir, &other); part != nil || err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("got error %[2]v, want %[1]s", want, err)
		}
	}
	for name, text := range map[string]string{"cut off": string(before[:len(before)-20]), "no Arrow": "text",
		"no part": batches(t, "file", "x", 2)} {
		write(t, path, text)
		if part, _, err := Begin(dir, k); part != nil || err == nil || !strings.HasPrefix(err.Error(), path+": ") ||
			!strings.HasSuffix(err.Error(), ": remove it, and run shard 3/8 again") {
			t.Errorf("%s: got part %v, error %v, want an error with the next step", name, part, err)
		}
	}
	for _, shard := range []string{"", "3", "3/8/8", "3/8x", "8/8", "x/8"} {
		var out strings.Builder
		metadata := arrow.NewMetadata([]string{keyModel, keyInput, keyOptions, keyKernels, keyShard},
			[]string{k.Model, k.Input, k.Options, k.Kernels, shard})
		w, err := table.NewArrowWriter(&out, []table.OutputColumn{{Name: "id"}}, &metadata, false)
		if err == nil {
			err = w.Close()
		}
		must.Succeed(t, err)
		write(t, path, out.String())
		want := fmt.Sprintf("schema metadata: sftseq.shard: expected I/N, found %q: remove it", shard)
		if part, _, err := Begin(dir, k); part != nil || err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("shard %q: got part %v, error %v, want no part and an error with %q", shard, part, err, want)
		}
	}
	empty := *k
	empty.Input = ""
	os.Remove(path)
	fill(t, begin(t, dir, &empty), &empty, 1)
	must.Fail(t, "input (fingerprint): expected i, found : remove it", "an empty field")(Begin(dir, k))
	moved := filepath.Join(dir, "part-00004-of-00008.arrow")
	write(t, moved, string(before))
	if part, _, err := Begin(dir, key(Shard{4, 8})); part != nil || err == nil ||
		!strings.Contains(err.Error(), "shard: expected 4/8, found 3/8") {
		t.Errorf("the part of another shard: got part %v, error %v", part, err)
	}
}

// TestUnfinished checks that an unfinished part counts as missing, and that the files of a killed
// worker are removed when the part is complete.
func TestUnfinished(t *testing.T) {
	dir := t.TempDir()
	k := key(Shard{0, 2})
	killed := begin(t, dir, k)
	must.Get(killed.Write(make([]byte, 200000)))(t)
	other := begin(t, dir, key(Shard{1, 2})) // a running worker
	defer other.Abort()
	_, err := Verify(dir, 2, Key{}, nil)
	var incomplete *Incomplete
	if !errors.As(err, &incomplete) || !slices.Equal(incomplete.Missing, []int{0, 1}) {
		t.Errorf("got error %v, want parts 0 and 1 missing", err)
	}
	fill(t, begin(t, dir, k), k, 3)
	left := names(t, dir)
	if len(left) != 2 || left[0] != filepath.Base(other.Temporary()) || left[1] != k.Shard.File() {
		t.Errorf("got files %q, want the part and the temporary file of the running worker", left)
	}
}

// TestSameShard checks several workers with the same shard: all of them succeed, and the part of the first
// stays. A part with another key is refused.
func TestSameShard(t *testing.T) {
	dir := t.TempDir()
	k, other := key(Shard{0, 2}), key(Shard{0, 2})
	other.Model = "x"
	first, second, third, strange := begin(t, dir, k), begin(t, dir, k), begin(t, dir, k), begin(t, dir, other)
	fill(t, first, k, 3)
	path := filepath.Join(dir, k.Shard.File())
	before := must.Get(os.Stat(path))(t)
	os.Remove(third.Temporary())
	fill(t, second, k, 3)
	fill(t, third, k, 3)
	must.Fail(t, "exists, but not from this job: model (SHA-256): expected x, found m", "another key")(strange.Commit())
	if after, err := os.Stat(path); err != nil || !os.SameFile(before, after) || len(names(t, dir)) != 1 {
		t.Errorf("got files %q, error %v, want only the part of the first worker", names(t, dir), err)
	}
}

// TestVerify checks that missing parts are listed, and that a complete job gets a manifest with the parts'
// file names. Missing parts, damaged parts and parts with another key are errors.
func TestVerify(t *testing.T) {
	dir := t.TempDir()
	must.Fail(t, "expected parts such as part-00000-of-00008.arrow, found none", "no parts")(Verify(dir, 0, Key{}, nil))
	must.Fail(t, "100001 shards: expected at most 100000", "too many parts")(Verify(dir, maxCount+1, Key{}, nil))
	must.Fail(t, "4 of 4 parts are missing: shards 0-3", "no parts of 4")(Verify(dir, 4, Key{}, nil))
	for i := range 4 {
		k := key(Shard{i, 4})
		fill(t, begin(t, dir, k), k, i*2)
	}
	var seen int64
	m, err := Verify(dir, 0, Key{Model: "m", Input: "i"},
		func(r arrow.Record) error { seen += r.NumRows(); return nil })
	want := &Manifest{Shards: 4, Rows: 12, Failed: 1 + 2 + 2, Model: "m", Input: "i", Kernels: "k",
		Options: json.RawMessage(`{"command":"test"}`), Parts: []ManifestPart{
			{"part-00000-of-00004.arrow", 0, 0}, {"part-00001-of-00004.arrow", 2, 1},
			{"part-00002-of-00004.arrow", 4, 2},
			{"part-00003-of-00004.arrow", 6, 2}}}
	if err != nil || !reflect.DeepEqual(m, want) || seen != 12 {
		t.Errorf("got %+v, %d rows seen, error %v, want %+v, 12 rows", m, seen, err, want)
	}
	var stored Manifest
	text, err := os.ReadFile(filepath.Join(dir, ManifestName))
	if err == nil {
		err = json.Unmarshal(text, &stored)
	}
	if err != nil || stored.Rows != 12 || len(stored.Parts) != 4 || stored.Parts[3] != want.Parts[3] {
		t.Errorf("got manifest %s, error %v, want 12 rows and 4 parts, the last %+v", text, err, want.Parts[3])
	}
	for want, expected := range map[string]Key{"model (SHA-256): expected x, found m": {Model: "x"},
		"input (fingerprint): expected x, found i": {Input: "x"}} {
		if _, err := Verify(dir, 0, expected, nil); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("got error %[2]v, want %[1]s", want, err)
		}
		if after, err := os.ReadFile(filepath.Join(dir, ManifestName)); err != nil || string(after) != string(text) {
			t.Errorf("another expected job: got manifest %s, error %v, want it unchanged", after, err)
		}
	}
	path := filepath.Join(dir, "part-00002-of-00004.arrow")
	whole := must.Get(os.ReadFile(path))(t)
	for name, text := range map[string][]byte{"cut off": whole[:len(whole)-1], "half": whole[:len(whole)/2]} {
		write(t, path, string(text))
		write(t, filepath.Join(dir, ManifestName), "")
		const end = ": remove it, and run shard 2/4 again"
		if _, err := Verify(dir, 0, Key{}, nil); err == nil || err.Error() != path+": the part is truncated"+end {
			t.Errorf("%s: got error %v, want %q", name, err, path+": the part is truncated"+end)
		}
		if slices.Contains(names(t, dir), ManifestName) {
			t.Errorf("%s: the manifest exists, want it removed", name)
		}
	}
	write(t, path, string(whole))
	if _, err := Verify(dir, 0, Key{}, func(arrow.Record) error { return errors.New("no good") }); err == nil ||
		!strings.HasSuffix(err.Error(), "part-00001-of-00004.arrow: no good") {
		t.Errorf("got error %v, want the error of seen", err)
	}
	os.Remove(path)
	k := key(Shard{2, 4})
	k.Kernels = "other"
	fill(t, begin(t, dir, k), k, 4)
	must.Fail(t, "part-00002-of-00004.arrow: not part of the job of the parts before it: kernels: expected k, found other",
		"other kernels")(Verify(dir, 0, Key{}, nil))
	os.Remove(path)
	_, err = Verify(dir, 0, Key{}, nil)
	if err == nil || !strings.HasSuffix(err.Error(), "1 of 4 parts is missing: shard 2") {
		t.Errorf("got error %v, want part 2 missing", err)
	}
	if slices.Contains(names(t, dir), ManifestName) {
		t.Error("the manifest exists although a part is missing")
	}
	must.Fail(t, "expected parts of 8 shards", "another number")(Verify(dir, 8, Key{}, nil))
}

// TestIrregularParts checks that a pipe or a directory instead of a part is an error, and that
// Begin and Verify do not block on it.
func TestIrregularParts(t *testing.T) {
	dir := t.TempDir()
	k := key(Shard{0, 1})
	path := filepath.Join(dir, k.Shard.File())
	for _, irregular := range []func(string, uint32) error{syscall.Mkfifo, syscall.Mkdir} {
		must.Succeed(t, irregular(path, 0o777))
		_, wrong := Verify(dir, 0, Key{}, nil)
		_, _, also := Begin(dir, k)
		for _, err := range []error{wrong, also} {
			if err == nil || !strings.HasPrefix(err.Error(), path+": expected a file, found ") ||
				!strings.HasSuffix(err.Error(), ": remove it, and run shard 0/1 again") {
				t.Errorf("got error %v, want expected a file", err)
			}
		}
		os.Remove(path)
	}
}
