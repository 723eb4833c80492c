package main

import (
	"regexp"
	"strings"
	"testing"

	"github.com/sftseq/sftseq/internal/must"
)

// TestNotice checks that NOTICE contains the file names and licences of some linked modules, and that
// the licence of a module appears once.
func TestNotice(t *testing.T) {
	r := release{root: root}
	for _, platform := range []target{host(), {system: "windows", arch: "amd64"}} {
		text := must.Get(r.notice(t.Context(), platform))(t)
		for _, want := range []string{
			`(?m)^Go, LICENSE$`, `(?m)^github.com/apache/arrow/go/v15 v\S+, LICENSE.txt$`,
			`(?m)^github.com/JohnCGriffin/overflow v\S+, README.md$`,              // its only file with a licence
			`(?m)^github.com/klauspost/compress v\S+, internal/snapref, LICENSE$`, // code copied into the module
			`(?m)^codeberg.org/go-fonts/liberation v\S+, LICENSE-SIL$`,
			"Copyright .c. 2017 John C. Griffin", "SIL OPEN FONT LICENSE",
			"Redistribution and use in source and binary forms",
		} {
			if !regexp.MustCompile(want).Match(text) {
				t.Errorf("%s: NOTICE has no match of %q", platform.suffix(), want)
			}
		}
		if n := strings.Count(string(text), "Copyright (c) 2017 John C. Griffin"); n != 1 {
			t.Errorf("%s: NOTICE has the licence of JohnCGriffin/overflow %d times, want 1", platform.suffix(), n)
		}
	}
}

// TestNoLicence checks that a module without a licence is an error.
func TestNoLicence(t *testing.T) {
	must.Fail(t, "x v1: ")(addLicences(map[string][]string{}, "x v1", t.TempDir()))
}
