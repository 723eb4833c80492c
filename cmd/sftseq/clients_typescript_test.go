package main

import (
	"path/filepath"
	"regexp"
	"testing"

	"github.com/sftseq/sftseq/internal/testenv"
)

// TestTypeScriptClient builds clients/typescript and runs its tests against the program.
func TestTypeScriptClient(t *testing.T) {
	testenv.Long(t, "builds the program")
	needNode(t)
	const source = "../../clients/typescript"
	compiler := filepath.Join(source, "node_modules/typescript/bin/tsc")
	testenv.NeedFile(t, "npm's typescript", compiler)
	program, models := built(t), clientModels(t)
	t.Parallel()
	client(t, "", []string{"node", compiler}, "-p", source)
	out := client(t, "", []string{"env", "SFTSEQ_PROGRAM=" + program, "SFTSEQ_GOLDEN=" + models, "node", "--test",
		"--test-reporter=tap"}, filepath.Join(source, "test/client.test.mjs"))
	if passed := regexp.MustCompile(`(?m)^# pass (\d+)$`).FindStringSubmatch(out); passed == nil || passed[1] == "0" {
		t.Errorf("no test ran\n%s", out)
	}
	t.Run("of a clone", func(t *testing.T) { // without SFTSEQ_PROGRAM and SFTSEQ_GOLDEN
		testenv.NeedPrograms(t, "npm", "go")
		out := client(t, "", []string{"npm", "test", "--prefix", source, "--"}, "--test-reporter=tap",
			"--test-name-pattern", "^(classify and embed return|tag of clouds)")
		if !regexp.MustCompile(`(?m)^# pass 1$`).MatchString(out) ||
			!regexp.MustCompile(`(?m)^# fail 0$`).MatchString(out) {
			t.Errorf("unexpected output:\n%s", out)
		}
	})
}
