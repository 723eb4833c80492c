package main

import (
	"path/filepath"
	"strings"
	"testing"

	"github.com/sftseq/sftseq/internal/must"
	"github.com/sftseq/sftseq/internal/testenv"
	"github.com/sftseq/sftseq/seq"
)

// TestDataConvertOthers: tables that other programs wrote give the data set, byte for
// byte, that the JSON lines give which they were made of.
func TestDataConvertOthers(t *testing.T) {
	testenv.NoRace(t, "converts each format on one thread")
	const others = "../../internal/table/testdata/others/"
	for _, columns := range [][]string{{"--text", "text", "--label", "yes"}, {"--tokens", "ids", "--vocab", "10000", "--label", "yes"}} {
		convert := func(from, id string) *seq.Dataset {
			to := filepath.Join(t.TempDir(), "set")
			mustRunData(t, append([]string{"convert", "--from", from, "--to", to, "--id", id}, columns...)...)
			return must.Get(seq.OpenDataset(to))(t)
		}
		for rows, names := range map[string]string{
			"kinds.jsonl":   "duckdb-v2.parquet duckdb-zstd.parquet polars-lz4.parquet polars-newest.arrow polars-zstd.arrow polars-lz4.arrows javascript-large.arrow javascript-utf8.arrows rust-v2.parquet",
			"many.jsonl.gz": "duckdb-many.parquet duckdb-many-v2.parquet polars-many.parquet rust-lengths.parquet",
		} {
			id := "yes" // which all rows have that are kept
			if rows == "many.jsonl.gz" {
				id = "n"
			}
			want := convert(others+rows, id).Fingerprint()
			for _, name := range strings.Fields(names) {
				equal(t, convert(others+name, id).Fingerprint(), want, name, columns, rows)
			}
		}
	}
}
