package shard

import (
	"fmt"
	"slices"
	"strings"

	"github.com/apache/arrow/go/v15/arrow"
)

// Key identifies the inputs that determine the content of a part.
type Key struct {
	Model   string // SHA-256 of the model's files
	Input   string // [Input.Fingerprint]
	Options string // JSON of the command, and of the flags that affect its output
	Kernels string // kernels of the device: results are bitwise reproducible for equal kernels
	Shard   Shard
}

// The keys in the metadata of a part's schema.
const (
	keyModel   = "sftseq.model"
	keyInput   = "sftseq.input"
	keyOptions = "sftseq.options"
	keyKernels = "sftseq.kernels"
	keyShard   = "sftseq.shard"
)

// field is a field of a key.
type field struct {
	name, value string
	label       string // name in errors
}

func (k *Key) fields() []field {
	return []field{
		{keyModel, k.Model, "model (SHA-256)"},
		{keyInput, k.Input, "input (fingerprint)"},
		{keyOptions, k.Options, "options"},
		{keyKernels, k.Kernels, "kernels"},
		{keyShard, k.Shard.String(), "shard"},
	}
}

// Metadata returns the metadata of a part's schema; nil for a nil key.
func (k *Key) Metadata() *arrow.Metadata {
	if k == nil {
		return nil
	}
	var names, values []string
	for _, f := range k.fields() {
		names, values = append(names, f.name), append(values, f.value)
	}
	m := arrow.NewMetadata(names, values)
	return &m
}

// keyOf returns the key of a part.
func keyOf(schema *arrow.Schema) (k Key, err error) {
	m := schema.Metadata()
	values := map[string]string{}
	for _, f := range k.fields() {
		at := m.FindKey(f.name)
		if at < 0 {
			return k, fmt.Errorf("schema metadata: expected %s, found %q: the file is not part of a job", f.name, m.Keys())
		}
		values[f.name] = m.Values()[at]
	}
	k = Key{Model: values[keyModel], Input: values[keyInput], Options: values[keyOptions], Kernels: values[keyKernels]}
	fmt.Sscanf(values[keyShard], "%d/%d", &k.Shard.Index, &k.Shard.Count)
	if k.Shard.check() != nil || k.Shard.String() != values[keyShard] {
		err = fmt.Errorf("schema metadata: %s: expected I/N, found %q", keyShard, values[keyShard])
	}
	return k, err
}

// Differences lists the fields of a key that differ from the expected key, or returns "". It skips the
// ignored fields, named by their metadata keys, and fields whose expected value is empty.
func (k *Key) Differences(expected *Key, ignored ...string) string {
	var out []string
	found, want := k.fields(), expected.fields()
	for i, f := range found {
		if f.value != want[i].value && !slices.Contains(ignored, f.name) && want[i].value != "" {
			out = append(out, fmt.Sprintf("%s: expected %s, found %s", f.label, want[i].value, f.value))
		}
	}
	return strings.Join(out, "; ")
}
