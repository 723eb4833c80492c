// Package must holds the assertions about errors that tests share. It is a package of its own because the tests
// of every other package import it, and so it imports none of them.
package must

import (
	"fmt"
	"strings"
	"testing"
)

// Succeed ends the test if err is not nil.
func Succeed(t testing.TB, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

// Get takes the results of a call. Its own result, called with the test, ends the test on an error and returns
// the value otherwise:
//
//	file := must.Get(os.Open(path))(t)
func Get[T any](value T, err error) func(testing.TB) T {
	return func(t testing.TB) T {
		t.Helper()
		Succeed(t, err)
		return value
	}
}

// Get2 is Get for a call with two results and an error.
func Get2[A, B any](a A, b B, err error) func(testing.TB) (A, B) {
	return func(t testing.TB) (A, B) {
		t.Helper()
		Succeed(t, err)
		return a, b
	}
}

// Fail takes the results of a call, the last of which is its error. The test fails, but goes on, unless the error
// contains the text want. The context names the case in the message:
//
//	must.Fail(t, "no space left", format)(w.Close())
func Fail(t testing.TB, want string, context ...any) func(results ...any) {
	return func(results ...any) {
		t.Helper()
		err, _ := results[len(results)-1].(error)
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Error(fmt.Sprintln(context...) + fmt.Sprintf("found the error %v, expected one that contains %q", err, want))
		}
	}
}
