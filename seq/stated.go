package seq

import (
	"fmt"
	"hash"

	"github.com/sftseq/sftseq/internal/atomicfile"
)

// statedChecksum compares the checksum in a manifest with the checksum of the bytes read.
type statedChecksum struct {
	want, kind string
	hash       hash.Hash
}

func newStated(want string) (*statedChecksum, error) {
	kind, hash, err := atomicfile.ChecksumLike(want)
	if err != nil {
		return nil, err
	}
	return &statedChecksum{want, kind, hash}, nil
}

// compare returns an error if the file's checksum differs from the stated checksum. The file must
// have been read to its end.
func (s *statedChecksum) compare() error {
	if s == nil {
		return nil
	}
	if got := atomicfile.ChecksumText(s.kind, s.hash); got != s.want {
		return fmt.Errorf("expected the checksum %s as stated in %s, found %s: the file is damaged or was modified "+
			"(create the data set again)", s.want, ManifestName, got)
	}
	return nil
}
