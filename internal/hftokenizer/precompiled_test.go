package hftokenizer

import (
	"errors"
	"strings"
	"testing"
)

// TestPrecompiledGrowth checks the limit for a text in which each grapheme cluster is replaced as a
// whole by a long text.
func TestPrecompiledGrowth(t *testing.T) {
	const replacement = 1024
	p := &precompiled{units: make([]uint32, 0x62), texts: strings.Repeat("x", replacement) + "\x00"}
	p.units['a'] = 'a' | 1<<8 | 1<<10 // has a leaf: units['a'^1], whose value 0 is the offset into texts
	got, err := p.normalize("aba")
	if want := p.texts[:replacement] + "b" + p.texts[:replacement]; err != nil || got != want {
		t.Fatalf("got %d bytes, error %v, want %d bytes", len(got), err, len(want))
	}
	if _, err := p.normalize(strings.Repeat("a", maxGrowth/replacement+1)); !errors.Is(err, errGrowth) {
		t.Errorf("got error %v, want %v", err, errGrowth)
	}
}
