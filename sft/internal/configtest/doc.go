// Package configtest has small configurations, examples of them, and the devices that tests run on.
package configtest
