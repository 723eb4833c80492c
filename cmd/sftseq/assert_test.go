package main

import (
	"encoding/json"
	"fmt"
	"os"
	"reflect"
	"strings"
	"testing"
	"time"
)

// exists reports whether there is a file or folder.
func exists(path string) bool {
	_, err := os.Stat(path)
	return err == nil
}

// noFile expects nothing at a path.
func noFile(t *testing.T, path string) {
	t.Helper()
	if exists(path) {
		t.Errorf("%s was written", path)
	}
}

// await waits for a condition, and ends the test with what is to be shown if it does not come true in time.
func await(t testing.TB, limit time.Duration, condition func() bool, shown any) {
	t.Helper()
	for end := time.Now().Add(limit); !condition(); time.Sleep(5 * time.Millisecond) {
		if time.Now().After(end) {
			t.Fatalf("nothing within %v: %.2000s", limit, fmt.Sprint(shown))
		}
	}
}

// contains expects each of some parts in a text.
func contains(t *testing.T, text string, parts ...string) {
	t.Helper()
	for _, part := range parts {
		if !strings.Contains(text, part) {
			t.Errorf("%q is missing in\n%s", part, text)
		}
	}
}

// notContains expects none of some parts in a text.
func notContains(t *testing.T, text string, parts ...string) {
	t.Helper()
	for _, part := range parts {
		if strings.Contains(text, part) {
			t.Errorf("%q is not expected in\n%s", part, text)
		}
	}
}

// decode reads JSON.
func decode[T any](t *testing.T, text string) (v T) {
	t.Helper()
	if err := json.Unmarshal([]byte(text), &v); err != nil {
		t.Fatalf("%q: %v", text, err)
	}
	return v
}

// occurs expects a text a number of times in another one.
func occurs(t *testing.T, text, part string, times int) {
	t.Helper()
	if n := strings.Count(text, part); n != times {
		t.Errorf("%q is there %d times, expected %d, in\n%s", part, n, times, text)
	}
}

// hasPrefix expects a beginning of a text.
func hasPrefix(t *testing.T, text, prefix string) {
	t.Helper()
	if !strings.HasPrefix(text, prefix) {
		t.Errorf("%q is not the beginning of\n%s", prefix, text)
	}
}

// equal compares two values; the rest says which of several cases it is.
func equal[T any](t testing.TB, got, want T, of ...any) {
	t.Helper()
	if !reflect.DeepEqual(got, want) {
		t.Errorf("%v: %+v, expected %+v", of, got, want)
	}
}
