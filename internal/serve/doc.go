// Package serve serves a model's predictions for long sequences, as a language server does: requests can be
// cancelled, documents can be edited, and results are pushed.
//
// A session reads a stream message by message (see [Server.Serve]). It handles messages whose order
// matters in the order of the stream: it queues bare lines, and completes lifecycle messages, edits and
// cancellations before it handles the next message. Every other request is a call, which runs
// concurrently; methods.go lists the methods. All sessions share one batcher, which combines their
// sequences into batches.
//
// Code that is independent of sessions has its own packages: sockets and message framing (transport), CPU
// scheduling (fair) and batching (batching).
package serve
