package table

import (
	"errors"
	"fmt"
	"path/filepath"
	"slices"
	"strings"

	"github.com/sftseq/sftseq/internal/source"
)

// Formats are the supported formats.
var Formats = []string{"csv", "tsv", "jsonl", "parquet", "arrow", "fasta", "fastq", "json", "text", "conll"}

// extensions maps file name extensions to formats.
var extensions = map[string]string{".csv": "csv", ".tsv": "tsv", ".tab": "tsv", ".jsonl": "jsonl",
	".ndjson": "jsonl", ".json": "json",
	".txt": "text", ".log": "text", ".parquet": "parquet", ".pq": "parquet", ".arrow": "arrow", ".arrows": "arrow",
	".feather": "arrow", ".ipc": "arrow",
	".fasta": "fasta", ".fa": "fasta", ".fna": "fasta", ".fastq": "fastq", ".fq": "fastq",
	".conll": "conll", ".conllu": "conll", ".bio": "conll", ".iob": "conll"}

// Extensions of compressed files.
var (
	compressions            = []string{".gz", ".zst", ".zstd"} // supported
	unsupportedCompressions = []string{".bz2", ".xz", ".lz4", ".br", ".lzma", ".z"}
)

// UnsupportedAdvice returns advice on a file whose extension is not supported, or "".
func UnsupportedAdvice(path string) string {
	if slices.Contains(unsupportedCompressions, extension(path)) {
		return "unsupported compression: expected gzip or Zstandard"
	}
	switch extension(path) {
	case ".tar", ".tgz", ".zip", ".7z", ".rar", ".tbz2", ".txz":
		return "archives are not supported: unpack the archive, and pass its folder or files"
	case ".wav", ".wave":
		return "sound files are read from a folder, one per row: pass the folder (tokenizer audio-vq or mulaw)"
	case ".mp3", ".flac", ".ogg", ".m4a", ".aac":
		return "unsupported sound format: convert the file to WAV, and pass its folder"
	case ".xls", ".xlsx", ".ods":
		return "spreadsheets are not supported: save the sheet as CSV"
	}
	return ""
}

// checkUTF16 returns an error if the text begins with a byte-order mark of UTF-16, as Excel's
// Unicode text does.
func checkUTF16(in *source.Source) error {
	if head, _ := in.Peek(2); string(head) == "\xff\xfe" || string(head) == "\xfe\xff" {
		return errors.New("expected UTF-8, found UTF-16: convert the file, for example with iconv -f UTF-16 -t UTF-8")
	}
	return nil
}

// extension returns the extension of a file name in lower case, ignoring a compression extension.
func extension(path string) string {
	name := strings.ToLower(filepath.Base(path))
	for _, c := range compressions {
		name = strings.TrimSuffix(name, c)
	}
	return filepath.Ext(name)
}

// formatOfName returns the format of a file according to its name, or "".
func formatOfName(path string) string { return extensions[extension(path)] }

// FormatOf returns the format of a file according to its name, ignoring a compression extension.
func FormatOf(path string) (string, error) {
	if format := formatOfName(path); format != "" {
		return format, nil
	}
	if path == StandardInput {
		return "", fmt.Errorf("unknown format of standard input: expected --format (%s)",
			strings.Join(Formats, ", "))
	}
	if advice := UnsupportedAdvice(path); advice != "" {
		return "", fmt.Errorf("%s: %s", path, advice)
	}
	return "", fmt.Errorf("%s: unknown format: expected a file name that ends in .csv, .jsonl, .fasta or another "+
		"format's extension, or --format (%s)", path, strings.Join(Formats, ", "))
}
