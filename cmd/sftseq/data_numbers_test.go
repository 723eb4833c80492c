package main

import (
	"fmt"
	"math/rand/v2"
	"path/filepath"
	"strings"
	"testing"
)

// motifRows returns a CSV table of random DNA sequences of length/2 to length bases. The columns are the
// name, the sequence, its number of occurrences of GAT, and its length.
func motifRows(rows, length int) string {
	random := rand.New(rand.NewPCG(7, 7))
	var out strings.Builder
	out.WriteString("name,sequence,count,length\n")
	for i := range rows {
		n := length/2 + random.IntN(length/2+1)
		text := make([]byte, n)
		for j := range text {
			text[j] = "ACGT"[random.IntN(4)]
		}
		for range random.IntN(6) {
			copy(text[random.IntN(n-3):], "GAT")
		}
		fmt.Fprintf(&out, "s%d,%s,%d,%.1f\n", i, text, strings.Count(string(text), "GAT"), float64(n))
	}
	return out.String()
}

// TestConvertNumbers checks that columns of numbers are read from CSV and JSON lines, summarised and
// shown. A row with a malformed number is left out, or is an error with --strict.
func TestConvertNumbers(t *testing.T) {
	dir := t.TempDir()
	text := motifRows(60, 40)
	csv := writeText(t, filepath.Join(dir, "t.csv"), text)
	var lines strings.Builder
	for _, row := range strings.Split(strings.TrimSpace(text), "\n")[1:] {
		f := strings.Split(row, ",")
		fmt.Fprintf(&lines, `{"name":%q,"sequence":%q,"count":%s,"length":"%s"}`+"\n", f[0], f[1], f[2], f[3])
	}
	jsonl := writeText(t, filepath.Join(dir, "t.jsonl"), lines.String())
	args := []string{"--text", "sequence", "--numbers", "count,length", "--id", "name", "--tokenizer", "byte"}
	a, out, errs := converted(t, append(args, "--from", csv)...)
	b, _, _ := converted(t, append(args, "--from", jsonl)...)
	if a.Fingerprint() != b.Fingerprint() || a.Manifest.Task != "regression" || errs != "" {
		t.Errorf("CSV %+v and JSON lines %+v, want equal regression data without a warning:\n%s", a.Manifest,
			b.Manifest, errs)
	}
	n := a.Manifest.Splits["train"].Numbers
	if len(n) != 2 || n[0].Name != "count" || n[1].Max > 40 || n[1].Min < 20 || !(n[1].Deviation > 1) {
		t.Errorf("got numbers %+v, want count, and length from 20 to 40", n)
	}
	contains(t, out, "number length of train: "+describeNumber(n[1]))
	for args, want := range map[string]string{
		"info":        fmt.Sprintf("  number      length: %s\n", describeNumber(n[1])),
		"info --json": `"deviation": ` + fmt.Sprint(n[0].Deviation),
		"stats":       fmt.Sprintf("%-12s  %14.6g", "length mean", n[1].Mean),
		"head":        `"numbers":{"count":`,
	} {
		out := mustRunData(t, append(strings.Fields(args), a.Dir)...)
		contains(t, out, want)
		notContains(t, out, "unlabelled")
	}

	row := strings.Split(text, "\n")[7]
	for cell, want := range map[string]string{
		"many":  `no finite number: column count: found "many"`,
		"NaN":   `no finite number: column count: found "NaN"`,
		"1e40":  `a number outside the range of float32: column count: found "1e40"`,
		"  ":    "no number: column count: found nothing",
		"12_34": `no finite number: column count: found "12_34"`,
		"0x1p4": `no finite number: column count: found "0x1p4"`,
		"1 000": `no finite number: column count: found "1 000"`,
	} {
		f := strings.Split(row, ",")
		f[2] = cell
		bad := writeText(t, filepath.Join(dir, "bad.csv"), strings.Replace(text, row, strings.Join(f, ","), 1))
		to := filepath.Join(dir, "bad")
		_, errs := exits(t, exitError, "",
			append([]string{"data", "convert", "--strict", "--from", bad, "--to", to}, args...)...)
		contains(t, errs, bad+":8: "+want)
		if d, _, errs := converted(t, append(args, "--from", bad)...); !strings.Contains(errs,
			"1 of 60 rows left out: no") && !strings.Contains(errs, "left out: a number outside") ||
			d.Manifest.Splits["train"].Rows == a.Manifest.Splits["train"].Rows &&
				d.Manifest.Splits["val"].Rows == a.Manifest.Splits["val"].Rows &&
				d.Manifest.Splits["test"].Rows == a.Manifest.Splits["test"].Rows {
			t.Errorf("cell %q: want one row fewer and a warning with the reason, got:\n%s", cell, errs)
		}
	}
	for want, args := range map[string][]string{
		"--numbers and --label exclude each other": {"--text", "sequence", "--numbers", "count", "--label", "name"},
		`expected distinct names, found "count"`:   {"--text", "sequence", "--numbers", "count,count"},
		`column "size": expected one of`:           {"--text", "sequence", "--numbers", "size"},
	} {
		contains(t, failing(t, "",
			append([]string{"data", "convert", "--from", csv, "--to", filepath.Join(dir, "no")}, args...)...), want)
	}
}
