package cloud

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/sftseq/sftseq/internal/must"
)

// TestFaceOfManyCorners checks that a face with more than maxCorners corners and a line longer than
// maxLine are errors.
func TestFaceOfManyCorners(t *testing.T) {
	points, corners := "0 0 0\n1 0 0\n0 1 0\n", strings.Repeat("1 2 0 ", maxCorners/3+1)
	for name, text := range map[string]string{
		"x.obj": "v " + strings.ReplaceAll(strings.TrimSpace(points), "\n",
			"\nv ") + "\nf " + strings.Repeat("1 2 3 ", maxCorners/3+1) + "\n",
		"x.off": "OFF\n3 1 0\n" + points + "65538 " + corners + "\n",
		"x.ply": "ply\nformat ascii 1.0\nelement vertex 3\nproperty float x\nproperty float y\nproperty float z\n" +
			"element face 1\nproperty list int int vertex_indices\nend_header\n" + points + "65538 " + corners + "\n",
	} {
		path := filepath.Join(t.TempDir(), name)
		must.Succeed(t, os.WriteFile(path, []byte(text), 0o666))
		must.Fail(t, "found a face of 65538 corners, expected at most 65536", name)(Read(path))
	}
	path := filepath.Join(t.TempDir(), "x.xyz")
	must.Succeed(t, os.WriteFile(path, []byte("0 0 0\n1 1 1"+strings.Repeat(" 1", maxLine/2)+"\n"), 0o666))
	must.Fail(t, fmt.Sprintf(" bytes, expected at most %d", maxLine), "x.xyz")(Read(path))
}
