package seq

import (
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"testing"

	"github.com/sftseq/sftseq/internal/must"
)

// buildDataset writes a data set of 100 training, 70 validation and 40 test rows.
func buildDataset(t *testing.T, dir string) *Dataset {
	t.Helper()
	b := must.Get(CreateDataset(dir, listopsSpec(), false))(t)
	for i, name := range []string{"train", "val", "test"} {
		writeSplit(t, b, name, examples(100-30*i, 50, listopsSpec(), uint64(i)))
	}
	must.FailWith(t, ErrIncomplete, "before Finish")(OpenDataset(dir))
	return must.Get(b.Finish(map[string]any{"seed": 5}))(t)
}

func writeSplit(t *testing.T, b *DatasetBuilder, name string, rows []Example) {
	t.Helper()
	s := must.Get(b.Split(name))(t)
	defer s.Abort()
	for _, row := range rows {
		must.Succeed(t, s.Write(row))
	}
	must.Succeed(t, s.Close())
}

// TestDataset checks the splits, specification and statistics of a written data set, that the same rows
// have the same fingerprint, and that a replacement changes nothing before Finish.
func TestDataset(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "a", "b")
	buildDataset(t, dir)
	d := must.Get(OpenDataset(dir))(t)
	must.Check(t, d.Verify())
	if again := buildDataset(t, t.TempDir()); again.Fingerprint() != d.Fingerprint() || len(d.Fingerprint()) != 64 {
		t.Error("two data sets with the same rows have different fingerprints")
	}
	if got := d.Manifest.SplitNames(); !reflect.DeepEqual(got, []string{"train", "val", "test"}) {
		t.Errorf("splits %v, want train, val, test", got)
	}
	f := must.Get(d.Open("val"))(t)
	defer f.Close()
	want := listopsSpec()
	want.Split = "val"
	if f.Len() != 70 || !reflect.DeepEqual(*f.Spec(), want) || !reflect.DeepEqual(d.Manifest.Spec("val"), want) {
		t.Errorf("split val has %d rows and the specification %+v, want 70 and %+v", f.Len(), f.Spec(), want)
	}
	info := must.Get(inspectPath(d.path("val")))(t)
	split := d.Manifest.Splits["val"]
	if split.Rows != 70 || split.Lengths != info.Lengths || !reflect.DeepEqual(split.Labels, info.Labels) {
		t.Errorf("manifest %+v, file %+v, want 70 rows and the same lengths and labels", split, info)
	}
	must.Fail(t, "no split \"dev\", only train, val, test")(d.Open("dev"))
	must.FailWith(t, ErrExists)(CreateDataset(dir, listopsSpec(), false))
	b := must.Get(CreateDataset(dir, listopsSpec(), true))(t)
	if _, err := OpenDataset(dir); err != nil {
		t.Errorf("OpenDataset failed while the replacement is written: %v", err)
	}
	defer b.Abort()
	writeSplit(t, b, "val", examples(9, 9, listopsSpec(), 1))
	if now, err := OpenDataset(dir); err != nil || now.Fingerprint() != d.Fingerprint() {
		t.Errorf("the data set changed before Finish; error %v", err)
	}
}

// TestExtendDataset checks that splits are added to a data set, and that an existing split or
// another vocabulary is refused.
func TestExtendDataset(t *testing.T) {
	dir := t.TempDir()
	for _, name := range []string{"train", "test"} {
		b := must.Get(ExtendDataset(dir, listopsSpec(), false))(t)
		writeSplit(t, b, name, examples(9, 9, listopsSpec(), 1))
		must.Get(b.Finish(map[string]any{name: "from a test"}))(t)
	}
	d := must.Get(OpenDataset(dir))(t)
	if len(d.Manifest.Splits) != 2 || len(d.Manifest.Provenance) != 2 {
		t.Errorf("manifest %+v, want two splits and two keys of provenance", d.Manifest)
	}
	b := must.Get(ExtendDataset(dir, listopsSpec(), false))(t)
	must.FailWith(t, ErrExists)(b.Split("test"))
	other := listopsSpec()
	other.VocabSize = 18
	must.Fail(t, "", "another vocabulary passes")(ExtendDataset(dir, other, false))
}

// TestDamagedDataset checks that Verify detects a changed byte, and OpenDataset a truncated or
// missing file.
func TestDamagedDataset(t *testing.T) {
	dir := t.TempDir()
	buildDataset(t, dir)
	train := filepath.Join(dir, "train.arrow")
	data := must.Get(os.ReadFile(train))(t)
	data[len(data)/2] ^= 1
	must.Succeed(t, os.WriteFile(train, data, 0o666))
	d := must.Get(OpenDataset(dir))(t)
	must.Fail(t, "train.arrow: expected the checksum")(d.Verify())
	must.Succeed(t, os.Truncate(train, 100))
	must.Fail(t, "found 100")(OpenDataset(dir))
	must.Succeed(t, os.Remove(train))
	must.FailWith(t, os.ErrNotExist)(OpenDataset(dir))
	must.Fail(t, "train.arrow: dataset.json lists this file for the split train: no such file or directory: restore "+
		"the file, or create the data set again")(OpenDataset(dir))
	must.FailWith(t, os.ErrNotExist)(OpenDataset(filepath.Join(dir, "none")))
}

// TestBadManifest checks that the error for an invalid manifest names the file and the defect.
func TestBadManifest(t *testing.T) {
	good := `{"version":"1","name":"x","task":"classification","vocab_size":3,"splits":{"test":{"file":"test.arrow","checksum":"xxh128:` + strings.Repeat("0", 32) + `"}}}`
	for _, c := range []struct{ old, new, want string }{
		{`"1"`, `"7"`, `version: expected "1" or "2", found "7"`},
		{`"1"`, `1`, "version: expected a string, found a number at byte 12"},
		{`"classification"`, `"x"`, "task: expected"},
		{`test.arrow`, `../x`, "expected a file name"},
		{`test.arrow`, `..`, "expected a file name"},
		{`000000`, `x`, "splits.test.checksum: expected KIND:DIGITS, for example xxh128: and 32 hexadecimal digits"},
		{`xxh128`, `md5`, "splits.test.checksum: expected KIND:DIGITS, for example xxh128: and 32 hexadecimal digits"},
		{`"checksum":"xxh128:`, `"sha256":"`,
			"splits.test.checksum: expected KIND:DIGITS, for example xxh128: and 32 hexadecimal digits"},
		{`checksum`, `other`, "splits.test.checksum: expected KIND:DIGITS, for example xxh128: and 32 hexadecimal digits"},
		{`"splits":{`, `"splits":{},"o":{`, "expected at least one"},
		{`"vocab_size":3`, `"vocab_size":-3`, "vocab_size: expected"},
		{`}}}`, `}}`, "expected the JSON object of a data set, found a truncated or damaged file that ends within " +
			"it, after 157 bytes: restore dataset.json from a copy, or create the data set again"},
		{`"splits":`, `"splits";`, "expected the JSON object of a data set, found malformed JSON at byte "},
		{`"checksum"`, `"rows":"x","checksum"`, "splits.rows: expected a whole number, found a string at byte "},
		{good, " \n", "found a truncated or damaged file"},
		{good, "", "expected the JSON object of a data set, found an empty file: restore dataset.json"},
		{`}}}`, `}}}{}`, "expected one JSON object, found more data after byte "},
		{`"name"`, `"tokenizer":7,"name"`, "tokenizer: expected a JSON object"},
		{`"checksum"`, `"rows":5,"labels":{"a":-1},"checksum"`,
			`splits.test.labels: "a": expected a count from 0 to 5 (the split has 5 rows), found -1`},
		{`"checksum"`, `"rows":5,"labels":{"a":6},"checksum"`,
			`splits.test.labels: "a": expected a count from 0 to 5 (the split has 5 rows), found 6`},
		{`"checksum"`, `"rows":5,"labels":{"a":3,"b":3},"checksum"`,
			"splits.test.labels: expected counts with a sum of at most 5"},
		{`"checksum"`, `"rows":-5,"checksum"`, "splits.test: expected rows and bytes ≥ 0, found -5"},
		{`"checksum"`, `"lengths":{"p25":2,"p50":1,"max":3},"checksum"`,
			"splits.test.lengths: expected ascending quantiles"},
		{`"checksum"`, `"lengths":{"max":3,"mean":1e300},"checksum"`,
			"splits.test.lengths: expected ascending quantiles"},
	} {
		dir := t.TempDir()
		text := strings.Replace(good, c.old, c.new, 1)
		must.Succeed(t, os.WriteFile(filepath.Join(dir, ManifestName), []byte(text), 0o666))
		_, err := OpenDataset(dir)
		if err == nil || !strings.Contains(err.Error(), c.want) || !strings.Contains(err.Error(), "dataset.json") {
			t.Errorf("%s: error %v, want %q", text, err, c.want)
		}
	}
}

// TestTruncatedFile checks that the error for a file of another size names the next step.
func TestTruncatedFile(t *testing.T) {
	dir := t.TempDir()
	buildDataset(t, dir)
	must.Succeed(t, os.Truncate(filepath.Join(dir, "test.arrow"), 100))
	must.Fail(t, "as stated in dataset.json, found 100: restore the file, or create the data set again (sftseq data "+
		"convert, sftseq data generate)")(OpenDataset(dir))
}

// TestRowsAboveTheFile checks that opening or reading a split fails if the manifest states more
// rows than the file has.
func TestRowsAboveTheFile(t *testing.T) {
	dir := t.TempDir()
	d := buildDataset(t, dir)
	split := d.Manifest.Splits["test"]
	split.Rows += 1_000_000_000_000
	d.Manifest.Splits["test"] = split
	must.Succeed(t, (&DatasetBuilder{dir: dir}).writeManifest(d.Manifest))
	d = must.Get(OpenDataset(dir))(t)
	must.Fail(t, "rows as stated in dataset.json")(d.Open("test"))
	r := must.Get(d.Reader("test"))(t)
	defer r.Close()
	var err error
	for err == nil {
		_, err = r.Next()
	}
	must.Fail(t, "rows as stated in dataset.json")(err)
}

// TestCheckSplit checks that CheckSplit fails if the vocabulary size differs between manifest and
// file.
func TestCheckSplit(t *testing.T) {
	dir := t.TempDir()
	d := buildDataset(t, dir)
	must.Succeed(t, d.CheckSplit("test"))
	d.Manifest.VocabSize = 1 << 24
	must.Fail(t, "vocabulary 16777216 as stated in dataset.json")(d.CheckSplit("test"))
}

func TestUnwritableDirectory(t *testing.T) {
	file := filepath.Join(t.TempDir(), "file")
	must.Succeed(t, os.WriteFile(file, nil, 0o666))
	must.Fail(t, file)(CreateDataset(filepath.Join(file, "sub"), listopsSpec(), false))
	must.Fail(t, file+": expected a directory of a data set, or a new one, found a file")(
		CreateDataset(file, listopsSpec(), false))
	must.Fail(t, file)(Create(filepath.Join(file, "x.arrow"), listopsSpec()))
}

// TestOpenSequences checks that the sequences of pairs become separate examples, each cut to the
// window. Rows of a single sequence are only cut.
func TestOpenSequences(t *testing.T) {
	for _, task := range []string{Classification, Retrieval} {
		spec := listopsSpec()
		spec.Task = task
		b := must.Get(CreateDataset(filepath.Join(t.TempDir(), task), spec, false))(t)
		rows := examples(30, 50, spec, 3)
		writeSplit(t, b, "train", rows)
		d := must.Get(b.Finish(nil))(t)
		f := must.Get(d.OpenSequences("train", Window{Length: 20}))(t)
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
			t.Fatalf("%s: %d examples, want %d", task, f.Len(), len(want))
		}
		row, tokens := f.Longest()
		first := slices.IndexFunc(rows, func(r Example) bool { return min(20, max(len(r.A), len(r.B))) == longest })
		if tokens != longest || row != first {
			t.Errorf("%s: the longest sequence is in row %d with %d tokens, want row %d with %d", task, row, tokens,
				first, longest)
		}
		for i, tokens := range want {
			e, err := f.Example(i)
			if err != nil || !slices.Equal(e.A, tokens) || e.B != nil || e.Index != uint32(i) ||
				int(f.Lengths()[i]) != len(tokens) {
				t.Errorf("%s: example %d is %+v, want %v; error %v", task, i, e, tokens, err)
			}
			if task == Retrieval && e.Label != NoLabel {
				t.Errorf("example %d has the label of its pair, want none", i)
			}
		}
		must.Fail(t, "", "an example past the end")(f.Example(len(want)))
	}
}
