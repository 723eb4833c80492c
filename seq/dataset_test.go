package seq

import (
	"errors"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"testing"
)

func buildDataset(t *testing.T, dir string) *Dataset {
	t.Helper()
	b, err := CreateDataset(dir, listopsSpec(), false)
	if err != nil {
		t.Fatal(err)
	}
	for i, name := range []string{"train", "val", "test"} {
		writeSplit(t, b, name, examples(100-30*i, 50, listopsSpec(), uint64(i)))
	}
	if _, err := OpenDataset(dir); !errors.Is(err, ErrIncomplete) {
		t.Errorf("before Finish: error %v", err)
	}
	d, err := b.Finish(map[string]any{"seed": 5})
	if err != nil {
		t.Fatal(err)
	}
	return d
}

func writeSplit(t *testing.T, b *DatasetBuilder, name string, rows []Example) {
	t.Helper()
	s, err := b.Split(name)
	if err != nil {
		t.Fatal(err)
	}
	defer s.Abort()
	for _, row := range rows {
		if err := s.Write(row); err != nil {
			t.Fatal(err)
		}
	}
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
}

func TestDataset(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "a", "b")
	buildDataset(t, dir)
	d, err := OpenDataset(dir)
	if err != nil {
		t.Fatal(err)
	}
	if err := d.Verify(); err != nil {
		t.Error(err)
	}
	if again := buildDataset(t, t.TempDir()); again.Fingerprint() != d.Fingerprint() || len(d.Fingerprint()) != 64 {
		t.Error("the same data has another fingerprint")
	}
	if got := d.Manifest.SplitNames(); !reflect.DeepEqual(got, []string{"train", "val", "test"}) {
		t.Errorf("splits %v", got)
	}
	f, err := d.Open("val")
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	want := listopsSpec()
	want.Split = "val"
	if f.Len() != 70 || !reflect.DeepEqual(*f.Spec(), want) || !reflect.DeepEqual(d.Manifest.Spec("val"), want) {
		t.Errorf("%d rows, %+v", f.Len(), f.Spec())
	}
	info, err := inspectPath(d.path("val"))
	if err != nil {
		t.Fatal(err)
	}
	split := d.Manifest.Splits["val"]
	if split.Rows != 70 || split.Lengths != info.Lengths || !reflect.DeepEqual(split.Labels, info.Labels) {
		t.Errorf("the manifest says %+v, the file %+v", split, info)
	}
	if _, err := d.Open("dev"); err == nil || !strings.Contains(err.Error(), "expected one of train, val, test") {
		t.Errorf("error %v", err)
	}
	if _, err := CreateDataset(dir, listopsSpec(), false); !errors.Is(err, ErrExists) {
		t.Errorf("error %v", err)
	}
	b, err := CreateDataset(dir, listopsSpec(), true)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := OpenDataset(dir); err != nil {
		t.Errorf("before anything is replaced: %v", err)
	}
	defer b.Abort()
	writeSplit(t, b, "val", examples(9, 9, listopsSpec(), 1))
	if now, err := OpenDataset(dir); err != nil || now.Fingerprint() != d.Fingerprint() {
		t.Errorf("before Finish: %v", err)
	}
}

func TestExtendDataset(t *testing.T) {
	dir := t.TempDir()
	for _, name := range []string{"train", "test"} {
		b, err := ExtendDataset(dir, listopsSpec(), false)
		if err != nil {
			t.Fatal(err)
		}
		writeSplit(t, b, name, examples(9, 9, listopsSpec(), 1))
		if _, err := b.Finish(map[string]any{name: "from a test"}); err != nil {
			t.Fatal(err)
		}
	}
	d, err := OpenDataset(dir)
	if err != nil {
		t.Fatal(err)
	}
	if len(d.Manifest.Splits) != 2 || len(d.Manifest.Provenance) != 2 {
		t.Errorf("%+v", d.Manifest)
	}
	b, err := ExtendDataset(dir, listopsSpec(), false)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := b.Split("test"); !errors.Is(err, ErrExists) {
		t.Errorf("error %v", err)
	}
	other := listopsSpec()
	other.VocabSize = 18
	if _, err := ExtendDataset(dir, other, false); err == nil {
		t.Error("another vocabulary passes")
	}
}

func TestDamagedDataset(t *testing.T) {
	dir := t.TempDir()
	buildDataset(t, dir)
	train := filepath.Join(dir, "train.arrow")
	data, err := os.ReadFile(train)
	if err != nil {
		t.Fatal(err)
	}
	data[len(data)/2] ^= 1
	if err := os.WriteFile(train, data, 0o666); err != nil {
		t.Fatal(err)
	}
	d, err := OpenDataset(dir)
	if err != nil {
		t.Fatal(err)
	}
	if err := d.Verify(); err == nil || !strings.Contains(err.Error(), "train.arrow: expected the checksum") {
		t.Errorf("error %v", err)
	}
	if err := os.Truncate(train, 100); err != nil {
		t.Fatal(err)
	}
	if _, err := OpenDataset(dir); err == nil || !strings.Contains(err.Error(), "found 100") {
		t.Errorf("error %v", err)
	}
	if err := os.Remove(train); err != nil {
		t.Fatal(err)
	}
	if _, err := OpenDataset(dir); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("error %v", err)
	}
	if _, err := OpenDataset(filepath.Join(dir, "none")); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("error %v", err)
	}
}

func TestBadManifest(t *testing.T) {
	good := `{"version":"1","name":"x","task":"classification","vocab_size":3,"splits":{"test":{"file":"test.arrow","checksum":"xxh128:` + strings.Repeat("0", 32) + `"}}}`
	for _, c := range []struct{ old, new, want string }{
		{`"1"`, `"7"`, `version: expected "2", found "7"`},
		{`"1"`, `1`, "cannot unmarshal number"},
		{`"classification"`, `"x"`, "task: expected"},
		{`test.arrow`, `../x`, "expected a file name"},
		{`test.arrow`, `..`, "expected a file name"},
		{`000000`, `x`, "splits.test.checksum: expected a kind and hexadecimal digits, such as xxh128: and 32"},
		{`xxh128`, `md5`, "splits.test.checksum: expected a kind and hexadecimal digits, such as xxh128: and 32"},
		{`"checksum":"xxh128:`, `"sha256":"`, "splits.test.checksum: expected a kind and hexadecimal digits, such as xxh128: and 32"},
		{`checksum`, `other`, "splits.test.checksum: expected a kind and hexadecimal digits, such as xxh128: and 32"},
		{`"splits":{`, `"splits":{},"o":{`, "expected at least one"},
		{`"vocab_size":3`, `"vocab_size":-3`, "vocab_size: expected"},
		{`}}}`, `}}`, "unexpected EOF"},
		{`}}}`, `}}}{}`, "found more"},
		{`"name"`, `"tokenizer":7,"name"`, "tokenizer: expected a JSON object"},
	} {
		dir := t.TempDir()
		text := strings.Replace(good, c.old, c.new, 1)
		if err := os.WriteFile(filepath.Join(dir, ManifestName), []byte(text), 0o666); err != nil {
			t.Fatal(err)
		}
		_, err := OpenDataset(dir)
		if err == nil || !strings.Contains(err.Error(), c.want) || !strings.Contains(err.Error(), "dataset.json") {
			t.Errorf("%s: error %v, want %q", text, err, c.want)
		}
	}
}

func TestUnwritableDirectory(t *testing.T) {
	file := filepath.Join(t.TempDir(), "file")
	if err := os.WriteFile(file, nil, 0o666); err != nil {
		t.Fatal(err)
	}
	if _, err := CreateDataset(filepath.Join(file, "sub"), listopsSpec(), false); err == nil || !strings.Contains(err.Error(), file) {
		t.Errorf("error %v", err)
	}
	if _, err := Create(filepath.Join(file, "x.arrow"), listopsSpec()); err == nil || !strings.Contains(err.Error(), file) {
		t.Errorf("error %v", err)
	}
}

// TestOpenSequences: the sequences of pairs are examples of their own, cut to a window each,
// and rows of one sequence are what they are.
func TestOpenSequences(t *testing.T) {
	for _, task := range []string{Classification, Retrieval} {
		spec := listopsSpec()
		spec.Task = task
		b, err := CreateDataset(filepath.Join(t.TempDir(), task), spec, false)
		if err != nil {
			t.Fatal(err)
		}
		rows := examples(30, 50, spec, 3)
		writeSplit(t, b, "train", rows)
		d, err := b.Finish(nil)
		if err != nil {
			t.Fatal(err)
		}
		f, err := d.OpenSequences("train", 20)
		if err != nil {
			t.Fatal(err)
		}
		defer f.Close()
		var want [][]int32
		longest := 0
		for _, row := range rows {
			for _, tokens := range [][]int32{row.A, row.B} {
				if tokens != nil {
					want = append(want, tokens[:min(20, len(tokens))])
					longest = max(longest, len(want[len(want)-1]))
				}
			}
		}
		if f.Len() != len(want) {
			t.Fatalf("%s: %d examples, expected %d", task, f.Len(), len(want))
		}
		row, tokens := f.Longest()
		first := slices.IndexFunc(rows, func(r Example) bool { return min(20, max(len(r.A), len(r.B))) == longest })
		if tokens != longest || row != first {
			t.Errorf("%s: the longest is row %d of %d tokens, expected row %d of %d", task, row, tokens, first, longest)
		}
		for i, tokens := range want {
			e, err := f.Example(i)
			if err != nil || !slices.Equal(e.A, tokens) || e.B != nil || e.Index != uint32(i) || int(f.Lengths()[i]) != len(tokens) {
				t.Errorf("%s: example %d is %+v, expected %v; %v", task, i, e, tokens, err)
			}
			if task == Retrieval && e.Label != NoLabel {
				t.Errorf("example %d has the label of its pair", i)
			}
		}
		if _, err := f.Example(len(want)); err == nil {
			t.Error("an example behind the last one")
		}
	}
}
