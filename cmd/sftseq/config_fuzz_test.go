package main

import (
	"encoding/json"
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/urfave/cli/v2"

	"github.com/sftseq/sftseq/internal/must"
	"github.com/sftseq/sftseq/internal/testenv"
	"github.com/sftseq/sftseq/lra"
)

// trainContext returns a context of the command train, and the flag set that this context reads.
func trainContext(t testing.TB) (*cli.Context, *flag.FlagSet) {
	flags := trainFlags(lra.ListOps)
	set := flag.NewFlagSet("train", flag.ContinueOnError)
	for _, f := range flags {
		must.Succeed(t, f.Apply(set))
	}
	c := cli.NewContext(newApp(), set, nil)
	c.Command.Flags = flags
	return c, set
}

// FuzzConfig checks that a --config file sets the same values as the same flags on the command
// line, and that the command line takes precedence. Errors name the file and are deterministic.
func FuzzConfig(f *testing.F) {
	for _, text := range []string{
		`{"batch": 32, "lr": 0.0005}`, `{"batch":"x","lr":true,"k":1e3,"hidden":-1}`,
		`{"residual-scale":true,"tensorboard":false,"save-every":"1m"}`,
		`{"unknown":1,"another":2}`, `{"batch":[1],"lr":null}`, `{"seed":18446744073709551615,"convolutions":"5,5:32"}`,
		`{"a":{}} x`, `null`, ``,
	} {
		f.Add([]byte(text))
	}
	path := filepath.Join(f.TempDir(), "config.json")
	read := func(t *testing.T, text []byte) (*flag.FlagSet, error) {
		must.Succeed(t, os.WriteFile(path, text, 0o666))
		c, set := trainContext(t)
		must.Succeed(t, set.Parse([]string{"--config", path, "--layers", "7"}))
		err := readConfigFlags(c)
		if err != nil && !strings.HasPrefix(err.Error(), "--config "+path+":") {
			t.Fatalf("the error does not begin with the flag and the file: %v", err)
		}
		return set, err
	}
	f.Fuzz(func(t *testing.T, text []byte) {
		defer testenv.FuzzLimits(t, 16<<20+1000*len(text))()
		set, err := read(t, text)
		if _, again := read(t, text); fmt.Sprint(again) != fmt.Sprint(err) {
			t.Fatalf("the first error is %v, the second %v", err, again)
		}
		if err != nil {
			return
		}
		var values map[string]json.RawMessage
		if err := json.Unmarshal(text, &values); err != nil || values == nil {
			t.Fatalf("a file that is not a JSON object was accepted: %q, %v", text, err)
		}
		args := []string{}
		for name, value := range values {
			word := string(value)
			if strings.HasPrefix(word, `"`) {
				must.Succeed(t, json.Unmarshal(value, &word))
			}
			if name != "layers" && name != "config" {
				args = append(args, "--"+name+"="+word)
			}
		}
		_, want := trainContext(t)
		if err := want.Parse(append(args, "--config", path, "--layers", "7")); err != nil {
			t.Fatalf("%q: the command line refuses the flags: %v", args, err)
		}
		set.VisitAll(func(f *flag.Flag) {
			if found, expected := f.Value.String(), want.Lookup(f.Name).Value.String(); found != expected {
				t.Fatalf("--%s is %q, expected %q", f.Name, found, expected)
			}
		})
	})
}
