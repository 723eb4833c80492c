package safetensors

import (
	"fmt"
	"os"
	"runtime"
)

// sparseBytes is the minimum size of a file, in bytes, that is checked for holes.
const sparseBytes = 64 << 20

// minStored limits holes: at least 1/minStored of a large file must be stored. The limit is low because
// some file systems do not store blocks of zeros, which the moments in a checkpoint may contain.
const minStored = 8

// checkStored refuses a large file that consists mostly of holes. Its content is missing, for
// example after an incomplete copy or download, and reading it would allocate memory for zeros. The
// check requires Linux and a file system that reports holes.
func checkStored(file *os.File, size int64) error {
	const seekData, seekHole = 3, 4 // constants of lseek(2) on Linux
	if runtime.GOOS != "linux" || size < sparseBytes {
		return nil
	}
	stored := int64(0)
	for at := int64(0); at < size; {
		data, err := file.Seek(at, seekData)
		if err != nil { // only a hole follows, or the file system does not report holes
			break
		}
		hole, err := file.Seek(data, seekHole)
		if err != nil || hole <= data {
			return nil
		}
		stored, at = stored+hole-data, hole
	}
	if stored == 0 { // the header cannot be a hole, so the file system does not report holes
		return nil
	}
	if stored < size/minStored {
		return fmt.Errorf("only %d of %d bytes are stored, and the rest are holes: the file is incomplete; copy or download it again", stored, size)
	}
	return nil
}
