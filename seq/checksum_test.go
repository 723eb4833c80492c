package seq

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

// TestChecksum: values of xxh128sum, whatever pieces the text comes in.
func TestChecksum(t *testing.T) {
	text := strings.Repeat("0123456789abcdef", 1000)
	for want, text := range map[string]string{
		"xxh128:99aa06d3014798d86001c324468d497f": "",
		"xxh128:06b05ab6733a618578af5f94892f3950": "abc",
		"xxh128:8cf1e1713a4747bfae457d0a3898c224": text,
	} {
		for _, piece := range []int{1, 63, 1024, len(text) + 1} {
			kind, h, err := checksumHash("xxh128:" + strings.Repeat("0", 32))
			if err != nil {
				t.Fatal(err)
			}
			for rest := text; rest != ""; {
				n := min(piece, len(rest))
				io.WriteString(h, rest[:n])
				rest = rest[n:]
			}
			if got := checksumOf(kind, h); got != want {
				t.Errorf("%d bytes in pieces of %d: %s, want %s", len(text), piece, got, want)
			}
		}
	}
}

// TestChecksumOfBefore: a data set with SHA-256 is verified by it, is still the same to a
// run that was begun with it, and keeps it when a split is added.
func TestChecksumOfBefore(t *testing.T) {
	dir := t.TempDir()
	writeDataset(t, dir, "train")
	path := filepath.Join(dir, "train.arrow")
	file, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	sum := hex.EncodeToString(hashOf(file))
	manifest, err := os.ReadFile(filepath.Join(dir, ManifestName))
	if err != nil {
		t.Fatal(err)
	}
	before := regexp.MustCompile(`"checksum": "xxh128:[0-9a-f]{32}"`).ReplaceAllLiteral(manifest, []byte(`"sha256": "`+sum+`"`))
	before = bytes.Replace(before, []byte(`"version": "2"`), []byte(`"version": "1"`), 1)
	if err := os.WriteFile(filepath.Join(dir, ManifestName), before, 0o666); err != nil {
		t.Fatal(err)
	}
	d, err := OpenDataset(dir)
	if err != nil {
		t.Fatal(err)
	}
	if err := d.Verify(); err != nil {
		t.Error(err)
	}
	if got, want := d.Fingerprint(), hex.EncodeToString(hashOf(fmt.Appendf(nil, "train %s\n", sum))); got != want {
		t.Errorf("fingerprint %s, want %s", got, want)
	}
	file[len(file)/2] ^= 1
	if err := os.WriteFile(path, file, 0o666); err != nil {
		t.Fatal(err)
	}
	if err := d.Verify(); err == nil || !strings.Contains(err.Error(), "expected the checksum sha256:"+sum) {
		t.Errorf("damaged: %v", err)
	}
	writeDataset(t, dir, "test")
	if d, err = OpenDataset(dir); err != nil {
		t.Fatal(err)
	}
	if d.Manifest.Version != ManifestVersion {
		t.Errorf("with another split: version %s", d.Manifest.Version)
	}
	if got := d.Manifest.Splits["train"]; got.Checksum != "sha256:"+sum || got.SHA256 != "" {
		t.Errorf("with another split: %+v", got)
	}
}

func hashOf(b []byte) []byte {
	sum := sha256.Sum256(b)
	return sum[:]
}

// writeDataset adds a split of one row.
func writeDataset(t *testing.T, dir, split string) {
	t.Helper()
	b, err := ExtendDataset(dir, listopsSpec(), false)
	if err != nil {
		t.Fatal(err)
	}
	s, err := b.Split(split)
	if err != nil {
		t.Fatal(err)
	}
	if err := s.Write(Example{A: []int32{1, 2, 3}, Label: 1}); err != nil {
		t.Fatal(err)
	}
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	if _, err := b.Finish(nil); err != nil {
		t.Fatal(err)
	}
}
