package simd

import (
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/sftseq/sftseq/internal/must"
)

// TestAssembly checks that AVX2 functions use no registers of AVX-512, and that instructions with only
// a VEX form use none in AVX-512 functions. The generator does not check this. Z registers, registers
// from 16 on and masks require AVX-512.
func TestAssembly(t *testing.T) {
	files, err := filepath.Glob("*_amd64.s")
	if err != nil || len(files) == 0 {
		t.Fatalf("found no assembly files: %v", err)
	}
	avx512Register := regexp.MustCompile(`\b[XYZ](1[6-9]|2\d|3[01])\b|\bK[0-7]\b|\bZ\d`)
	vexOnly := regexp.MustCompile(`^(VMASKMOV\w+|VPERM2[FI]128|VEXTRACT[FI]128|VINSERT[FI]128|VBROADCAST[FI]128|VP?HADD\w+|VPXOR|VPANDN?|VPOR|VP?BLENDV\w+|VPBLEND[DW]|VMOVMSK\w+)\s`)
	for _, file := range files {
		text := must.Get(os.ReadFile(file))(t)
		function := ""
		for i, line := range strings.Split(string(text), "\n") {
			line = strings.TrimSpace(line)
			switch {
			case strings.HasPrefix(line, "TEXT"):
				function = line
			case strings.HasPrefix(line, "DATA"), strings.HasPrefix(line, "GLOBL"), strings.HasPrefix(line, "//"):
			case strings.Contains(function, "AVX2(") && avx512Register.MatchString(line):
				t.Errorf("%s:%d: an AVX2 function uses a register of AVX-512: %s", file, i+1, line)
			case strings.Contains(function, "AVX512(") && vexOnly.MatchString(line) && avx512Register.MatchString(line):
				t.Errorf("%s:%d: the instruction has no EVEX form: %s", file, i+1, line)
			}
		}
	}
}
