package table

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/sftseq/sftseq/internal/must"
)

// TestFirstRow checks that the error for a missing column explains why the first row may not be a
// header, and that the error stays short.
func TestFirstRow(t *testing.T) {
	var many []string
	for i := range 500 {
		many = append(many, fmt.Sprintf("c%d", i))
	}
	for text, want := range map[string]string{
		"msg,status\rgood,a\rbad,b\r":         `carriage returns only: convert them to line feeds, for example with tr '\r' '\n'`,
		"great film,5\nbad film,1\n":          `the first row looks like data ("5"): is the header with the column names missing?`,
		strings.Repeat("word ", 30) + ",up\n": "looks like data",
		strings.Join(many, ",") + "\n":        `"c39" and 460 more`,
		"msg,state\r\n":                       `column "status": expected one of "msg", "state"`,
	} {
		path := filepath.Join(t.TempDir(), "x.csv")
		must.Succeed(t, os.WriteFile(path, []byte(text), 0o666))
		_, err := Open(t.Context(), path, Options{Columns: []string{"status"}})
		if err == nil || !strings.Contains(err.Error(), want) || len(err.Error()) > 1000 {
			t.Errorf("%.60q: got error %v, want %s", text, err, want)
		}
	}
}
