// Package configtest provides small configurations, examples for them, and the devices that tests
// run on.
package configtest
