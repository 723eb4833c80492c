package seq

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"testing"

	"github.com/sftseq/sftseq/internal/must"
)

// TestVersion1Checksum checks that Verify uses the SHA-256 in a manifest of version 1. The fingerprint
// must stay the same, because resumed runs compare it. Adding a split must keep the checksum.
func TestVersion1Checksum(t *testing.T) {
	dir := t.TempDir()
	writeDataset(t, dir, "train")
	path := filepath.Join(dir, "train.arrow")
	file := must.Get(os.ReadFile(path))(t)
	sum := hex.EncodeToString(hashOf(file))
	manifest := must.Get(os.ReadFile(filepath.Join(dir, ManifestName)))(t)
	old := regexp.MustCompile(`"checksum": "xxh128:[0-9a-f]{32}"`).ReplaceAllLiteral(manifest,
		[]byte(`"sha256": "`+sum+`"`))
	old = bytes.Replace(old, []byte(`"version": "2"`), []byte(`"version": "1"`), 1)
	must.Succeed(t, os.WriteFile(filepath.Join(dir, ManifestName), old, 0o666))
	d := must.Get(OpenDataset(dir))(t)
	must.Check(t, d.Verify())
	if got, want := d.Fingerprint(), hex.EncodeToString(hashOf(fmt.Appendf(nil, "train %s\n", sum))); got != want {
		t.Errorf("fingerprint %s, want %s", got, want)
	}
	file[len(file)/2] ^= 1
	must.Succeed(t, os.WriteFile(path, file, 0o666))
	must.Fail(t, "expected the checksum sha256:"+sum, "damaged")(d.Verify())
	writeDataset(t, dir, "test")
	d = must.Get(OpenDataset(dir))(t)
	if d.Manifest.Version != ManifestVersion {
		t.Errorf("version %s after adding a split, want %s", d.Manifest.Version, ManifestVersion)
	}
	if got := d.Manifest.Splits["train"]; got.Checksum != "sha256:"+sum || got.SHA256 != "" {
		t.Errorf("split train after adding a split: %+v, want its SHA-256 as the checksum", got)
	}
}

func hashOf(b []byte) []byte {
	sum := sha256.Sum256(b)
	return sum[:]
}

// writeDataset adds a split of one row to the data set in dir, which it creates if needed.
func writeDataset(t *testing.T, dir, split string) {
	t.Helper()
	b := must.Get(ExtendDataset(dir, listopsSpec(), false))(t)
	s := must.Get(b.Split(split))(t)
	must.Succeed(t, s.Write(Example{A: []int32{1, 2, 3}, Label: 1}))
	must.Succeed(t, s.Close())
	must.Get(b.Finish(nil))(t)
}
