// Package must provides the assertions about errors that tests share. It imports no other package
// of this module, because the tests of all packages import it.
//
// The context arguments of an assertion precede the error in the message, to name the test case.
package must

import (
	"errors"
	"fmt"
	"strings"
	"testing"
)

// Succeed ends the test if err is not nil.
func Succeed(t testing.TB, err error, context ...any) {
	t.Helper()
	if err != nil {
		t.Fatal(append(context, err)...)
	}
}

// Check marks the test as failed if err is not nil. The test continues.
func Check(t testing.TB, err error, context ...any) {
	t.Helper()
	if err != nil {
		t.Error(append(context, err)...)
	}
}

// Get takes the results of a call and returns a function. Called with the test, the function ends
// the test on an error and otherwise returns the value:
//
//	file := must.Get(os.Open(path))(t)
func Get[T any](value T, err error) func(t testing.TB, context ...any) T {
	return func(t testing.TB, context ...any) T {
		t.Helper()
		Succeed(t, err, context...)
		return value
	}
}

// Get2 is like Get for a call with two results and an error.
func Get2[A, B any](a A, b B, err error) func(t testing.TB, context ...any) (A, B) {
	return func(t testing.TB, context ...any) (A, B) {
		t.Helper()
		Succeed(t, err, context...)
		return a, b
	}
}

// Fail returns a function that takes the results of a call, the last of which is an error. The
// function marks the test as failed if there is no error or its text does not contain want. The test
// continues. If want is "", any error passes:
//
//	must.Fail(t, "no space left", format)(w.Close())
func Fail(t testing.TB, want string, context ...any) func(results ...any) {
	return func(results ...any) {
		t.Helper()
		if err := last(results); err == nil || !strings.Contains(err.Error(), want) {
			t.Error(append(context, fmt.Sprintf("found the error %v, expected one that contains %q", err, want))...)
		}
	}
}

// FailWith is like Fail, but expects an error that is target or wraps it.
func FailWith(t testing.TB, target error, context ...any) func(results ...any) {
	return func(results ...any) {
		t.Helper()
		if err := last(results); !errors.Is(err, target) {
			t.Error(append(context, fmt.Sprintf("found the error %v, expected %v", err, target))...)
		}
	}
}

// last returns the last result of a call, its error.
func last(results []any) error {
	err, _ := results[len(results)-1].(error)
	return err
}
