package seq

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

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
