// Package transport carries messages between a server and its clients. It opens sockets, splits a
// stream into messages of limited size, detects clients that do not read, and closes connections
// without losing responses. It does not depend on the content of messages.
package transport
