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

// exists reports whether path names an existing file or folder.
func exists(path string) bool {
	_, err := os.Stat(path)
	return err == nil
}

// noFile checks that path does not exist.
func noFile(t *testing.T, path string) {
	t.Helper()
	if exists(path) {
		t.Errorf("%s was written", path)
	}
}

// await polls a condition until it is true. After the time limit it fails the test and prints details.
func await(t testing.TB, limit time.Duration, condition func() bool, details any) {
	t.Helper()
	for end := time.Now().Add(limit); !condition(); time.Sleep(5 * time.Millisecond) {
		if time.Now().After(end) {
			t.Fatalf("the condition is still false after %v: %.2000s", limit, fmt.Sprint(details))
		}
	}
}

// contains checks that a text contains every given part.
func contains(t *testing.T, text string, parts ...string) {
	t.Helper()
	for _, part := range parts {
		if !strings.Contains(text, part) {
			t.Errorf("%q is missing in\n%s", part, text)
		}
	}
}

// notContains checks that a text contains none of the given parts.
func notContains(t *testing.T, text string, parts ...string) {
	t.Helper()
	for _, part := range parts {
		if strings.Contains(text, part) {
			t.Errorf("%q is not expected in\n%s", part, text)
		}
	}
}

// decode parses JSON.
func decode[T any](t *testing.T, text string) (v T) {
	t.Helper()
	if err := json.Unmarshal([]byte(text), &v); err != nil {
		t.Fatalf("%q: %v", text, err)
	}
	return v
}

// occurs checks that a part occurs in a text the given number of times.
func occurs(t *testing.T, text, part string, times int) {
	t.Helper()
	if n := strings.Count(text, part); n != times {
		t.Errorf("%q occurs %d times, expected %d, in\n%s", part, n, times, text)
	}
}

// hasPrefix checks that text begins with prefix.
func hasPrefix(t *testing.T, text, prefix string) {
	t.Helper()
	if !strings.HasPrefix(text, prefix) {
		t.Errorf("expected the prefix %q in\n%s", prefix, text)
	}
}

// equal checks that got and want are equal. The message names the test case by the labels.
func equal[T any](t testing.TB, got, want T, labels ...any) {
	t.Helper()
	if !reflect.DeepEqual(got, want) {
		t.Errorf("%v: got %+v, want %+v", labels, got, want)
	}
}
