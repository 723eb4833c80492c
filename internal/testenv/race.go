//go:build race

package testenv

// Race reports whether the race detector watches the tests.
const Race = true
