package main

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"slices"

	"github.com/urfave/cli/v2"

	"github.com/sftseq/sftseq/internal/atomicfile"
	"github.com/sftseq/sftseq/internal/jsonlines"
	"github.com/sftseq/sftseq/lra"
)

// maxConfigFile is the maximum size of a file of flags in bytes.
const maxConfigFile = 16 << 20

// readConfigFlags sets the flags in a --config file that the command line does not set.
func readConfigFlags(c *cli.Context) error {
	path := c.String("config")
	if path == "" {
		return nil
	}
	text, err := atomicfile.ReadRegular(path, maxConfigFile)
	if err != nil {
		return fmt.Errorf("--config %w", err)
	}
	values, err := parseObject(text, `expected one JSON object of flags, such as {"batch": 32}`)
	if err != nil {
		return fmt.Errorf("--config %s%w", path, err)
	}
	hasEnd := c.IsSet("steps") || c.IsSet("epochs")         // the command line sets the end of the run
	for _, name := range slices.Sorted(maps.Keys(values)) { // in a fixed order, so that errors are reproducible
		if findFlag(c.Command.Flags, name) == nil {
			return fmt.Errorf("--config %s: unknown flag %q%s", path, name, suggestFlag(c, name))
		}
		value, ok := scalar(values[name])
		if !ok {
			return fmt.Errorf("--config %s: %s: expected a string, a number, true or false, found %s", path, name,
				jsonlines.Kind(values[name]))
		}
		if c.IsSet(name) || hasEnd && (name == "steps" || name == "epochs") {
			continue
		}
		if err := c.Set(name, value); err != nil {
			return fmt.Errorf("--config %s: %s: expected %s, found %s", path, name, valueOf(c, name),
				jsonlines.Kind(values[name]))
		}
	}
	return nil
}

// readTaskFlags reads a --config file. It returns an error if both --steps and --epochs are set, except for
// train custom: some of its models set --epochs by default, and commands that it printed have both flags.
func readTaskFlags(c *cli.Context, task *lra.Task) error {
	if err := readConfigFlags(c); err != nil {
		return err
	}
	if task.Name != lra.CustomName && c.IsSet("steps") && c.IsSet("epochs") {
		return usage(c, "--steps and --epochs exclude each other")
	}
	return nil
}

// parseObject decodes the JSON object of a file. An error begins with a colon, so that the caller can put
// the file's name in front. It repeats the description in the parameter expected, and has the line number
// if the JSON is malformed or text follows it.
func parseObject(text []byte, expected string) (values map[string]json.RawMessage, err error) {
	if len(bytes.TrimSpace(text)) == 0 {
		return nil, errors.New(": " + expected + ", found an empty file")
	}
	d := json.NewDecoder(bytes.NewReader(text))
	var object json.RawMessage
	if err := d.Decode(&object); err != nil {
		at := len(text) // the error of a truncated file has no offset
		if syntax, ok := errors.AsType[*json.SyntaxError](err); ok {
			at = int(syntax.Offset)
		}
		before := text[:at]
		return nil, fmt.Errorf(":%d: %s, found malformed JSON: %w", 1+bytes.Count(before, []byte("\n")), expected, err)
	}
	if object[0] != '{' {
		return nil, fmt.Errorf(": %s, found %s", expected, jsonlines.Kind(object))
	}
	if _, err := d.Token(); !errors.Is(err, io.EOF) {
		line := 1 + bytes.Count(text[:d.InputOffset()], []byte("\n"))
		return nil, fmt.Errorf(":%d: %s, found text after it", line, expected)
	}
	return values, json.Unmarshal(object, &values)
}

// scalar returns the text of a string, a number or a Boolean, and false for other JSON values.
func scalar(value json.RawMessage) (string, bool) {
	switch {
	case value[0] == '"':
		var text string
		err := json.Unmarshal(value, &text)
		return text, err == nil
	case value[0] == '{', value[0] == '[', string(value) == "null":
		return "", false
	}
	return string(value), true
}
