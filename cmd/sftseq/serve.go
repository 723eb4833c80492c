package main

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"os"
	"os/signal"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"time"

	"github.com/dustin/go-humanize"
	"github.com/urfave/cli/v2"
	"golang.org/x/term"

	"github.com/sftseq/sftseq/device"
	"github.com/sftseq/sftseq/internal/serve"
	"github.com/sftseq/sftseq/internal/serve/transport"
	"github.com/sftseq/sftseq/internal/task"
	"github.com/sftseq/sftseq/sft"
)

func serveCommand() *cli.Command {
	return &cli.Command{
		Name:      "serve",
		Usage:     "serve a model over JSON-RPC or HTTP",
		ArgsUsage: " ",
		UsageText: `sftseq serve --model DIR [flags]
sftseq serve --model DIR --listen unix:PATH [--listen tcp:HOST:PORT] [flags]
sftseq serve --model DIR --http HOST:PORT|unix:PATH [--http-token FILE] [flags]

Example: echo '{"text": "[MAX 2 9 ]"}' | sftseq serve --model runs/listops
         sftseq serve --model runs/listops --listen unix:/run/user/1000/sftseq
         sftseq serve --model runs/listops --http 127.0.0.1:8080`,
		Description: `Reads JSON-RPC 2.0 with the lifecycle of LSP 3.17 from standard input and writes responses to standard
output. It also accepts the JSON lines of predict, and responds in the same format. --listen and
--http serve many clients. SIGTERM completes the accepted requests and stops the server; SIGHUP
reloads --model and --http-token. Each flag has an environment variable, such as SFTSEQ_MAX_MEMORY;
the flag takes precedence.

Exit status: 0 after the end of the input, after shutdown and exit, and after SIGTERM; 1 after exit
without shutdown, and on failure; 2 if the command line is wrong. More: docs/protocol.md,
docs/http.md, docs/operations.md`,
		Flags: fromEnvironment(slices.Concat(modelFlags(modelsFlag()), httpFlags(),
			group(serverGroup,
				&cli.StringSliceFlag{Name: "listen",
					Usage: "serve JSON-RPC at `ADDRESS`: unix:PATH or tcp:HOST:PORT (localhost without HOST)"},
				&cli.StringFlag{Name: "framing", Value: transport.Lines,
					Usage: "frame messages by `KIND`: lines, or lsp (Content-Length headers)"},
				&cli.StringFlag{Name: "index", Usage: "keep the index of retrieval/add in `FILE`", TakesFile: true},
				&cli.StringFlag{Name: "metrics", Usage: "serve Prometheus metrics and /healthz at `HOST:PORT`"},
				&cli.StringFlag{Name: "log", Value: "info",
					Usage: "log messages of `LEVEL` and above: debug, info, warn or error"},
				&cli.StringFlag{Name: "log-format", Value: logText, Usage: "write log lines as `KIND`: text or json"},
				&cli.BoolFlag{Name: "access-log", Usage: "log a line for each response"},
				&cli.BoolFlag{Name: "truncate", Usage: "read only the beginning of a sequence that is too long"}),
			advancedGroup(serverGroup,
				&cli.StringFlag{Name: "model-name", Usage: "name the model `NAME` to clients",
					DefaultText: "builtin:NAME, or the last element of --model"},
				&cli.StringFlag{Name: "pprof",
					Usage: "serve Go's profiles at `ADDRESS`: HOST:PORT of this machine, or unix:PATH"},
				&cli.BoolFlag{Name: "normalize", Value: true,
					Usage: "scale vectors of /v1/embeddings to length 1; --normalize=false leaves them unchanged"},
				&cli.DurationFlag{Name: "shutdown-delay",
					Usage: "after SIGTERM report 503 at /healthz for `TIME`, then drain"},
				&cli.BoolFlag{Name: "reembed",
					Usage: "recompute the embeddings of an --index that another model wrote"},
				&cli.IntFlag{Name: "max-batch-tokens", Usage: "compute at most `N` tokens in a batch",
					DefaultText: "limit of the device"},
				&cli.DurationFlag{Name: "max-wait", Value: 2 * time.Millisecond,
					Usage: "wait at most `TIME` for other requests in the batch"},
				&cli.DurationFlag{Name: "debounce", Value: 200 * time.Millisecond,
					Usage: "classify a document `TIME` after its last change"},
				&cli.StringFlag{Name: "max-line", Value: "16MiB",
					Usage: "refuse messages of more than `SIZE`, at most 1GiB"},
				&cli.IntFlag{Name: "max-inflight", Value: 512,
					Usage: "refuse a client's request while `N` of its requests are pending"},
				&cli.IntFlag{Name: "max-clients",
					Usage:       "accept at most `N` connections; a new one replaces an idle one",
					DefaultText: "as open files allow"},
				&cli.DurationFlag{Name: "idle-timeout",
					Usage:       "close a connection without requests or open documents after `TIME`",
					DefaultText: "never; 2m for --http"},
				&cli.IntFlag{Name: "max-documents", Value: 256, Usage: "let a client open at most `N` documents"},
				&cli.StringFlag{Name: "max-memory", Value: "1GiB",
					Usage: "keep at most `SIZE` of requests and documents, at least 1MiB"},
				&cli.DurationFlag{Name: "drain", Value: 10 * time.Second,
					Usage: "finish accepted requests for at most `TIME` after SIGTERM"}))),
		Action: serveAction,
	}
}

func serveAction(c *cli.Context) error {
	options, err := serveOptions(c)
	if err != nil {
		return err
	}
	// The device's threads may use all cores. With additional threads, the program still receives messages,
	// because the operating system shares the cores among all threads.
	runtime.GOMAXPROCS(2*usableCores + 8)
	defer runtime.GOMAXPROCS(usableCores)
	warnMisspeltVariables(c, options.Log)
	r := &serving{log: options.Log, drainTimeout: c.Duration("drain"), shutdownDelay: c.Duration("shutdown-delay"),
		raw: !c.Bool("normalize")}
	stop := r.handleSignals()
	defer stop()
	if err := r.parseAddresses(c); err != nil {
		return err
	}
	if r.server, err = serve.New(c.Context, options); err != nil {
		return err
	}
	defer r.server.LimitHeap()()
	err = r.run(c)
	return errors.Join(err, r.server.Close())
}

func serveOptions(c *cli.Context) (serve.Options, error) {
	var o serve.Options
	if err := noArguments(c); err != nil {
		return o, err
	}
	if f := c.String("framing"); f != transport.Lines && f != transport.LSP {
		return o, badFlag(c, "framing", "%s or %s", transport.Lines, transport.LSP)
	}
	if http := c.String("http"); c.IsSet("framing") && http != "" && len(c.StringSlice("listen")) == 0 {
		return o, usage(c, "--framing frames JSON-RPC, which --http does not serve: add --listen")
	}
	if http := c.String("http"); http != "" && http == c.String("metrics") && !strings.HasSuffix(http, ":0") {
		return o, usage(c, "--http and --metrics: expected different addresses, found %s twice", http)
	}
	for _, name := range []string{"max-inflight", "max-documents"} {
		if n := c.Int(name); n < 1 || n > 1<<30 {
			return o, badFlag(c, name, "1 to %d", 1<<30)
		}
	}
	line, err := sizeFlag(c, "max-line", 1, 1<<30)
	if err != nil {
		return o, err
	}
	memory, err := sizeFlag(c, "max-memory", 1<<20, 1<<50)
	if err != nil {
		return o, err
	}
	if n := c.Int("max-batch-tokens"); n < 0 || c.IsSet("max-batch-tokens") && n == 0 {
		return o, badFlag(c, "max-batch-tokens", "at least 1")
	}
	clients := serve.DefaultClients()
	if c.IsSet("max-clients") {
		if clients = c.Int("max-clients"); clients < 1 || clients > serve.MaxClients {
			return o, badFlag(c, "max-clients", "1 to %d", serve.MaxClients)
		}
	}
	for _, name := range []string{"max-clients", "idle-timeout", "shutdown-delay"} {
		if c.IsSet(name) && len(c.StringSlice("listen")) == 0 && c.String("http") == "" {
			return o, usage(c, "--%s needs --listen or --http", name)
		}
	}
	for _, name := range []string{"max-wait", "debounce", "drain", "idle-timeout", "shutdown-delay"} {
		if d := c.Duration(name); d < 0 {
			return o, badFlag(c, name, "0s or more")
		}
	}
	log, err := serverLog(c)
	if err != nil {
		return o, err
	}
	if c.String("model") == "" {
		return o, usage(c, "--model is missing: expected a model directory")
	}
	if c.Bool("reembed") && c.String("index") == "" {
		return o, usage(c, "--reembed needs --index")
	}
	return serve.Options{
		Load:    func() (*serve.Model, error) { return serveModel(c) },
		Lost:    device.Lost,
		Framing: c.String("framing"), Cores: usableCores, MaxLine: int(line), MaxInflight: c.Int("max-inflight"),
		MaxDocuments: c.Int("max-documents"), MaxClients: clients, IdleTimeout: c.Duration("idle-timeout"),
		MaxMemory: memory, MaxBatchTokens: c.Int("max-batch-tokens"),
		MaxWait: c.Duration("max-wait"), Debounce: c.Duration("debounce"), Index: c.String("index"),
		Reembed: c.Bool("reembed"), Version: version(), Revision: buildInfo().Revision,
		Log: log, AccessLog: c.Bool("access-log"),
	}, nil
}

// sizeFlag parses a size flag such as 16MiB, and checks its range.
func sizeFlag(c *cli.Context, name string, minSize, maxSize uint64) (int64, error) {
	n, err := humanize.ParseBytes(c.String(name))
	if err != nil || n < minSize || n > maxSize {
		return 0, badFlag(c, name, "a size from %s to %s", humanize.IBytes(minSize), humanize.IBytes(maxSize))
	}
	return int64(n), nil
}

// serveModel reads the model of --model and loads it onto --device.
func serveModel(c *cli.Context) (*serve.Model, error) {
	single := ""
	if c.String("index") != "" { // an index holds the embeddings of one model
		single = "--index"
	}
	m, err := loadModels(c, single)
	if err == nil && m.Config.HasFeatures() && c.String("index") != "" {
		err = fmt.Errorf("%s: the tokens of the model have features, "+
			"but an index stores token ids: omit --index", givenModel(c))
	}
	if err == nil && m.Config.IsLinear() && c.String("index") != "" {
		err = fmt.Errorf("--index: %w", sft.ErrLinear)
	}
	if err != nil {
		return nil, err
	}
	if c.Bool("truncate") {
		m.truncate()
	}
	d, err := openModelDevice(c, m)
	if err != nil {
		return nil, err
	}
	s, err := m.scorer(d)
	if err != nil {
		closeDevice(c, d)
		return nil, err
	}
	return &serve.Model{Scorer: s, Task: task.Of(m.Config), Name: modelName(c), Dir: tokenizerDir(c),
		Device: d.Name(), Hash: m.hash(), Release: func() { closeDevice(c, d) }}, nil
}

// modelName returns the name of the model for clients: --model-name, builtin:NAME, or the last
// element of the directory.
func modelName(c *cli.Context) string {
	if name := c.String("model-name"); name != "" {
		return name
	}
	if isBuiltin(c) {
		return givenModel(c)
	}
	dir := c.String("model")
	if absolute, err := filepath.Abs(dir); err == nil {
		dir = absolute
	}
	return filepath.Base(dir)
}

// serving is a server and its listeners.
type serving struct {
	server        *serve.Server
	log           *slog.Logger
	drainTimeout  time.Duration
	listen        []transport.Address
	metrics       transport.Address // address of --metrics; an empty name means that metrics are not served
	http          transport.Address // address of --http; an empty name means that HTTP is not served
	pprof         transport.Address // address of --pprof; an empty name means that profiles are not served
	shutdownDelay time.Duration     // value of --shutdown-delay
	tokens        *serve.Tokens     // nil without --http-token
	tokenFile     string            // value of --http-token
	origins       []string          // values of --cors-origin
	raw           bool              // do not normalise the vectors of /v1/embeddings
	listening     sync.WaitGroup

	ready     atomic.Bool // true except while the server starts or stops
	reloading sync.Mutex  // held while the model is reloaded
}

// parseAddresses parses the flags with addresses, --listen, --metrics, --pprof and --http, and the other
// flags of HTTP.
func (r *serving) parseAddresses(c *cli.Context) error {
	for _, text := range c.StringSlice("listen") {
		a, err := transport.ParseAddress(text)
		if err != nil {
			return usage(c, "--listen %q: %w", text, err)
		}
		r.listen = append(r.listen, a)
	}
	if text := c.String("metrics"); text != "" {
		var err error
		if r.metrics, err = transport.ParseTCP(text); err != nil {
			return invalidFlag(c, "metrics", err)
		}
	}
	if text := c.String("pprof"); text != "" {
		var err error
		if r.pprof, err = transport.ParseHTTP(text); err != nil {
			return invalidFlag(c, "pprof", err)
		}
		if addr, err := net.ResolveTCPAddr(r.pprof.Network, r.pprof.Name); err == nil && transport.Public(addr) {
			return usage(c, "--pprof %s: expected an address of this machine, or unix:PATH, "+
				"because profiles expose the program's memory", text)
		}
	}
	return r.readHTTP(c)
}

// run serves until the input ends, c.Context ends or serving fails.
func (r *serving) run(c *cli.Context) error {
	defer r.listening.Wait()
	// Clients are also accepted during --shutdown-delay.
	ctx, cancel := context.WithCancel(context.WithoutCancel(c.Context))
	defer cancel()
	stop, err := r.serveMetrics() // metrics are served until the last reply, so that monitoring sees the end
	if err != nil {
		return err
	}
	defer stop()
	stopProfiles, err := r.serveProfiles()
	if err != nil {
		return err
	}
	defer stopProfiles()
	listeners, err := r.listenAll()
	if err != nil {
		return err
	}
	httpListener, err := r.listenHTTP()
	if err != nil {
		closeAll(listeners)
		return err
	}
	r.ready.Store(true)
	defer r.stopReloading()
	ended := make(chan error, len(listeners)+2)
	if httpListener != nil {
		r.listening.Go(func() {
			if err := r.serveHTTP(ctx, httpListener); err != nil {
				ended <- err
			}
		})
	}
	for _, l := range listeners {
		r.log.Info("listening", "address", l.Addr().Network()+":"+l.Addr().String())
		if transport.Public(l.Addr()) {
			r.log.Warn("listening without authentication: every client that reaches this address can use the server",
				"address", l.Addr().String())
		}
		r.listening.Go(func() {
			if err := r.server.ServeListener(ctx, l); err != nil {
				ended <- err
			}
		})
	}
	if len(listeners) == 0 && httpListener == nil {
		if f, ok := c.App.Reader.(*os.File); ok && term.IsTerminal(int(f.Fd())) {
			fmt.Fprintln(c.App.ErrWriter, `Type a line such as {"text": "…"}; Ctrl-D ends.`)
		}
		go func() { ended <- r.server.Serve("standard input", c.App.Reader, c.App.Writer, true) }()
	}
	var failure error
	select {
	case err := <-ended:
		return err
	case failure = <-r.server.Failed():
		r.log.Error("stopping", "error", failure)
	case <-c.Context.Done():
		if r.shutdownDelay > 0 {
			r.log.Info("stopping soon: /healthz reports 503", "delay", r.shutdownDelay)
			r.server.Leave()
			select {
			case <-time.After(r.shutdownDelay):
			case failure = <-r.server.Failed():
			}
		}
	}
	r.ready.Store(false)
	r.log.Info("draining", "deadline", r.drainTimeout)
	cancel() // accept no further clients
	deadline, done := context.WithTimeout(context.Background(), r.drainTimeout)
	defer done()
	return errors.Join(failure, r.server.Drain(deadline))
}

// listenAll listens on all addresses of --listen. On an error, it closes the listeners opened before.
func (r *serving) listenAll() ([]net.Listener, error) {
	var listeners []net.Listener
	for _, a := range r.listen {
		l, err := transport.Listen(a)
		if err != nil {
			closeAll(listeners)
			return nil, fmt.Errorf("--listen %s:%s: %w", a.Network, a.Name, err)
		}
		listeners = append(listeners, l)
	}
	return listeners, nil
}

func closeAll(listeners []net.Listener) {
	for _, l := range listeners {
		l.Close()
	}
}

// serveMetrics serves Prometheus metrics until stop is called.
func (r *serving) serveMetrics() (stop func(), err error) {
	if r.metrics.Name == "" {
		return func() {}, nil
	}
	l, err := transport.Listen(r.metrics)
	if err != nil {
		return nil, fmt.Errorf("--metrics %s: %w", r.metrics.Name, err)
	}
	r.log.Info("metrics", "address", l.Addr().String())
	return r.server.ServeMetrics(l), nil
}

// serveProfiles serves Go's profiles until stop is called.
func (r *serving) serveProfiles() (stop func(), err error) {
	if r.pprof.Name == "" {
		return func() {}, nil
	}
	l, err := transport.Listen(r.pprof)
	if err != nil {
		return nil, fmt.Errorf("--pprof %s: %w", r.pprof, err)
	}
	address := transport.URL(l.Addr())
	if l.Addr().Network() != "unix" { // no URL names a path at a Unix socket
		address += "/debug/pprof/"
	}
	r.log.Info("profiles", "address", address)
	return serve.ServeProfiles(l), nil
}

// handleSignals handles SIGHUP and SIGPIPE until stop is called. SIGHUP reloads the tokens and the
// model, and is ignored while the server starts or drains. SIGPIPE is ignored, because it would silently
// end the program when its output is closed.
func (r *serving) handleSignals() (stop func()) {
	signal.Ignore(syscall.SIGPIPE)
	hangups := make(chan os.Signal, 1)
	signal.Notify(hangups, syscall.SIGHUP)
	var loop sync.WaitGroup
	loop.Go(func() {
		for range hangups {
			r.reload()
		}
	})
	return func() {
		signal.Stop(hangups)
		close(hangups)
		loop.Wait()
		signal.Reset(syscall.SIGPIPE)
	}
}

// stopReloading waits for a running reload. Later calls of reload only log a warning.
func (r *serving) stopReloading() {
	r.ready.Store(false)
	r.reloading.Lock()
	defer r.reloading.Unlock()
}

// reload reads the tokens and the model again. If one of the two cannot be read, its previous version
// remains in use.
func (r *serving) reload() {
	r.reloading.Lock()
	defer r.reloading.Unlock()
	if !r.ready.Load() {
		r.log.Warn("SIGHUP is ignored while the server starts or stops")
		return
	}
	if r.tokens != nil {
		r.reloadTokens()
	}
	if err := r.server.Reload(); err != nil {
		r.log.Error("the model could not be reloaded: the previous model remains in use", "error", err)
	} else {
		r.log.Info("the model was reloaded", "hash", r.server.Hash())
	}
}
