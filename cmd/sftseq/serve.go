package main

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"net/http"
	"os"
	"os/signal"
	"strings"
	"sync"
	"syscall"
	"time"

	"github.com/urfave/cli/v2"

	"sftseq/device"
	"sftseq/internal/serve"
	"sftseq/sft"
)

func serveCommand() *cli.Command {
	return &cli.Command{
		Name:      "serve",
		Usage:     "answer questions about sequences, as a language server does",
		ArgsUsage: " ",
		UsageText: `sftseq serve --model DIR [flags]
sftseq serve --model DIR --listen unix:PATH [--listen tcp:HOST:PORT] [flags]

Example: cat reviews.jsonl | sftseq serve --model runs/listops
         sftseq serve --model runs/listops --listen unix:/run/user/1000/sftseq`,
		Description: `Reads messages from standard input and answers on standard output, one a line.
A line that predict takes is answered as predict would, in its order:
   {"id": 7, "text": "[MAX 2 9 ]"}
Everything else is JSON-RPC 2.0 with the lifecycle of LSP 3.17:
   {"jsonrpc": "2.0", "id": 1, "method": "initialize", "params": {}}
   {"jsonrpc": "2.0", "id": 2, "method": "sequence/classify", "params": {"text": "[MAX 2 9 ]"}}
   {"jsonrpc": "2.0", "id": 3, "method": "shutdown"}
   {"jsonrpc": "2.0", "method": "exit"}
The methods, with an example each, are in docs/protocol.md: classify, embed,
score pairs, open and edit documents and be told their class, keep an index of
embeddings and search it, cancel, see progress.

With --listen any number of clients share the model, and standard input is left
alone. SIGTERM ends the server when what it has accepted is answered, SIGHUP
reads the model again. Logs go to standard error.

Exit status: 0 at the end of the input, after shutdown and exit, and after
SIGTERM; 1 after an exit without shutdown, and where something failed.`,
		Flags: append(modelFlags(),
			&cli.StringFlag{Name: "framing", Value: serve.Lines, Usage: "`KIND` of messages: lines, or lsp (Content-Length headers)"},
			&cli.StringSliceFlag{Name: "listen", Usage: "serve clients at `ADDRESS`: unix:PATH or tcp:HOST:PORT (this machine without a host)"},
			&cli.BoolFlag{Name: "truncate", Usage: "read the head of a sequence that is too long"},
			&cli.StringFlag{Name: "index", Usage: "keep the index of retrieval/add in `FILE`", TakesFile: true},
			&cli.BoolFlag{Name: "reembed", Usage: "compute an index of another model anew"},
			&cli.IntFlag{Name: "max-batch-tokens", Usage: "compute at most `N` tokens together", DefaultText: "as many as the device takes at once"},
			&cli.DurationFlag{Name: "max-wait", Value: 2 * time.Millisecond, Usage: "longest wait for company in a batch, `TIME`; a lone request does not wait"},
			&cli.DurationFlag{Name: "debounce", Value: 200 * time.Millisecond, Usage: "`TIME` from a document's last change to its classification"},
			&cli.IntFlag{Name: "max-line", Value: 16 << 20, Usage: "refuse a message of more than `BYTES`"},
			&cli.IntFlag{Name: "max-inflight", Value: 512, Usage: "refuse a client's request while `N` wait for an answer"},
			&cli.IntFlag{Name: "max-documents", Value: 256, Usage: "a client may have `N` documents open"},
			&cli.Int64Flag{Name: "max-memory", Value: 1 << 30, Usage: "keep at most `BYTES` of requests and documents"},
			&cli.DurationFlag{Name: "drain", Value: 10 * time.Second, Usage: "`TIME` that SIGTERM leaves for what was accepted"},
			&cli.StringFlag{Name: "metrics", Usage: "Prometheus metrics and /healthz at `HOST:PORT`"},
			&cli.StringFlag{Name: "log", Value: "info", Usage: "log from `LEVEL` on: debug, info, warn or error"},
		),
		Action: serveAction,
	}
}

func serveAction(c *cli.Context) error {
	options, err := serveOptions(c)
	if err != nil {
		return err
	}
	server, err := serve.New(c.Context, options)
	if err != nil {
		return err
	}
	r := &serving{server: server, log: options.Log, drain: c.Duration("drain")}
	err = r.run(c)
	return errors.Join(err, server.Close())
}

func serveOptions(c *cli.Context) (serve.Options, error) {
	var o serve.Options
	if err := noArguments(c); err != nil {
		return o, err
	}
	if f := c.String("framing"); f != serve.Lines && f != serve.LSP {
		return o, usage(c, "--framing %q, expected %s or %s", f, serve.Lines, serve.LSP)
	}
	for _, name := range []string{"max-inflight", "max-documents", "max-line"} {
		if n := c.Int(name); n < 1 || n > 1<<30 {
			return o, usage(c, "--%s %d, expected 1 to %d", name, n, 1<<30)
		}
	}
	if n := c.Int("max-batch-tokens"); n < 0 || c.IsSet("max-batch-tokens") && n == 0 {
		return o, usage(c, "--max-batch-tokens %d, expected at least 1", n)
	}
	if n := c.Int64("max-memory"); n < 1<<20 {
		return o, usage(c, "--max-memory %d, expected at least %d", n, 1<<20)
	}
	for _, name := range []string{"max-wait", "debounce", "drain"} {
		if d := c.Duration(name); d < 0 {
			return o, usage(c, "--%s %v, expected 0 or more", name, d)
		}
	}
	var level slog.Level
	if err := level.UnmarshalText([]byte(c.String("log"))); err != nil {
		return o, usage(c, "--log %q, expected debug, info, warn or error", c.String("log"))
	}
	if c.String("model") == "" {
		return o, usage(c, "--model is missing, a model directory was expected")
	}
	if c.Bool("reembed") && c.String("index") == "" {
		return o, usage(c, "--reembed needs --index")
	}
	return serve.Options{
		Load:    func() (*serve.Model, error) { return serveModel(c) },
		Lost:    device.Lost,
		Framing: c.String("framing"), MaxLine: c.Int("max-line"), MaxInflight: c.Int("max-inflight"),
		MaxDocuments: c.Int("max-documents"), MaxMemory: c.Int64("max-memory"), MaxBatchTokens: c.Int("max-batch-tokens"),
		MaxWait: c.Duration("max-wait"), Debounce: c.Duration("debounce"), Index: c.String("index"), Reembed: c.Bool("reembed"),
		Version: version(), Log: slog.New(slog.NewTextHandler(c.App.ErrWriter, &slog.HandlerOptions{Level: level})),
	}, nil
}

// serveModel reads --model and puts it on --device.
func serveModel(c *cli.Context) (*serve.Model, error) {
	m, err := loadModel(c)
	if err != nil {
		return nil, err
	}
	if c.Bool("truncate") {
		m.Config.Truncate()
	}
	d, err := openDevice(c)
	if err != nil {
		return nil, err
	}
	s, err := sft.NewScorer(m, d)
	if err != nil {
		closeDevice(c, d)
		return nil, err
	}
	return &serve.Model{Scorer: s, Name: c.String("model"), Device: d.Name(), Hash: serve.Hash(m), Release: func() { closeDevice(c, d) }}, nil
}

// serving is a server with what it is reached by.
type serving struct {
	server *serve.Server
	log    *slog.Logger
	drain  time.Duration
	work   sync.WaitGroup
}

// run serves until the input ends, or until the program is asked to stop.
func (r *serving) run(c *cli.Context) error {
	ctx, cancel := context.WithCancel(c.Context)
	defer r.work.Wait()
	defer cancel()
	if err := r.metrics(ctx, c.String("metrics")); err != nil {
		return err
	}
	listeners, err := listen(c.StringSlice("listen"))
	if err != nil {
		return err
	}
	r.reload(ctx)
	failed := make(chan error, len(listeners)+1)
	for _, l := range listeners {
		r.log.Info("listening", "address", l.Addr().Network()+":"+l.Addr().String())
		r.work.Go(func() {
			if err := r.server.ServeListener(ctx, l); err != nil {
				failed <- err
			}
		})
	}
	if len(listeners) == 0 {
		go func() {
			if status := r.server.Serve("standard input", c.App.Reader, c.App.Writer, true); status != 0 {
				failed <- errors.New("the client left without shutdown")
			} else {
				failed <- nil
			}
		}()
	}
	var broken error
	select {
	case err := <-failed:
		return err
	case broken = <-r.server.Failed():
		r.log.Error("stopping", "error", broken)
	case <-c.Context.Done():
	}
	r.log.Info("draining", "deadline", r.drain)
	cancel() // no more clients
	deadline, stop := context.WithTimeout(context.Background(), r.drain)
	defer stop()
	return errors.Join(broken, r.server.Drain(deadline))
}

// listen opens all addresses or none.
func listen(addresses []string) ([]net.Listener, error) {
	var all []net.Listener
	for _, a := range addresses {
		l, err := serve.Listen(a)
		if err != nil {
			for _, l := range all {
				l.Close()
			}
			return nil, fmt.Errorf("--listen %s: %w", a, err)
		}
		all = append(all, l)
	}
	return all, nil
}

// metrics serves Prometheus until ctx ends.
func (r *serving) metrics(ctx context.Context, address string) error {
	if address == "" {
		return nil
	}
	if strings.HasPrefix(address, ":") {
		address = "127.0.0.1" + address
	}
	l, err := net.Listen("tcp", address)
	if err != nil {
		return fmt.Errorf("--metrics: %w", err)
	}
	r.log.Info("metrics", "address", l.Addr().String())
	h := &http.Server{Handler: r.server.Metrics(), ReadHeaderTimeout: 5 * time.Second}
	r.work.Go(func() { h.Serve(l) })
	r.work.Go(func() {
		<-ctx.Done()
		h.Close()
	})
	return nil
}

// reload reads the model again at every SIGHUP until ctx ends.
func (r *serving) reload(ctx context.Context) {
	hangups := make(chan os.Signal, 1)
	signal.Notify(hangups, syscall.SIGHUP)
	r.work.Go(func() {
		defer signal.Stop(hangups)
		for {
			select {
			case <-hangups:
				if err := r.server.Reload(); err != nil {
					r.log.Error("the model was not loaded again", "error", err)
				} else {
					r.log.Info("the model was loaded again")
				}
			case <-ctx.Done():
				return
			}
		}
	})
}
