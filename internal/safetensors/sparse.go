package safetensors

import (
	"fmt"
	"os"
	"runtime"
)

// sparseBytes is the size from which on a file is checked for holes.
const sparseBytes = 64 << 20

// 1/leastStored of a large file must be stored. Some file systems store no blocks of zeros, which the
// moments of a checkpoint may be.
const leastStored = 8

// checkStored refuses a large file nearly all of which is holes: its size is claimed and not stored, such as that of
// a copy or a download that has not finished, and reading it would take memory for zeros. Only Linux and file
// systems that report holes are checked.
func checkStored(file *os.File, size int64) error {
	const seekData, seekHole = 3, 4 // of lseek(2) on Linux
	if runtime.GOOS != "linux" || size < sparseBytes {
		return nil
	}
	stored := int64(0)
	for at := int64(0); at < size; {
		data, err := file.Seek(at, seekData)
		if err != nil { // only a hole is behind at, or holes are not reported
			break
		}
		hole, err := file.Seek(data, seekHole)
		if err != nil || hole <= data {
			return nil
		}
		stored, at = stored+hole-data, hole
	}
	if stored == 0 { // the header is never a hole: holes are not reported
		return nil
	}
	if stored < size/leastStored {
		return fmt.Errorf("%d bytes, of which %d are stored and the others are holes: the file is incomplete, copy or download it again", size, stored)
	}
	return nil
}
