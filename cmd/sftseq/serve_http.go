package main

import (
	"context"
	"fmt"
	"net"
	"os"
	"runtime"
	"strings"

	"github.com/urfave/cli/v2"

	"github.com/sftseq/sftseq/internal/atomicfile"
	"github.com/sftseq/sftseq/internal/serve"
	"github.com/sftseq/sftseq/internal/serve/transport"
)

// httpFlags are those of serve for clients of HTTP.
func httpFlags() []cli.Flag {
	return group(serverGroup,
		&cli.StringFlag{Name: "http",
			Usage: "serve HTTP at `HOST:PORT` (localhost without HOST), with OpenAI's /v1/embeddings"},
		&cli.StringFlag{Name: "http-token",
			Usage: "require the bearer token in `FILE`; addresses beyond localhost need one", TakesFile: true},
	)
}

// maxToken is the longest token, and minToken the shortest: a short one is soon guessed.
const (
	minToken = 16
	maxToken = 4096
)

// readHTTP reads --http and --http-token. Others than this machine are not served without a
// token; a name is the address that it has now.
func (r *serving) readHTTP(c *cli.Context) error {
	text, file := c.String("http"), c.String("http-token")
	switch {
	case !c.IsSet("http") && c.IsSet("http-token"):
		return usage(c, "--http-token needs --http")
	case !c.IsSet("http"):
		return nil
	case c.IsSet("http-token") && file == "":
		return usage(c, `--http-token "": expected a file`)
	}
	var err error
	if r.http, err = transport.ParseTCP(text); err != nil {
		return usage(c, "--http %q: %w", text, err)
	}
	at, err := net.ResolveTCPAddr(r.http.Network, r.http.Name)
	if err != nil {
		return fmt.Errorf("--http %s: %w", r.http.Name, err)
	}
	r.http.Name = at.String()
	if file != "" {
		if r.token, err = readToken(file); err != nil {
			return fmt.Errorf("--http-token: %w", err)
		}
		warnReadable(c, "http-token", file)
	}
	if transport.Public(at) && r.token == "" {
		return usage(c, "--http %s: others reach this address: --http-token FILE is missing", text)
	}
	return nil
}

// warnReadable warns of a secret file that other users of the machine can read.
func warnReadable(c *cli.Context, flag, file string) {
	if info, err := os.Stat(file); err == nil && runtime.GOOS != "windows" && info.Mode().Perm()&0o044 != 0 {
		fmt.Fprintf(c.App.ErrWriter,
			"warning: --%s %s: other users can read this file (mode %04o): chmod 600 makes it yours alone\n", flag,
			file, info.Mode().Perm())
	}
}

// readToken reads a token, which may end in a line feed.
func readToken(file string) (string, error) {
	raw, err := atomicfile.ReadRegular(file, maxToken+2)
	if err != nil {
		return "", err
	}
	token := strings.TrimRight(string(raw), "\r\n")
	strange := func(c rune) bool { return c <= ' ' || c > '~' }
	if at := strings.IndexFunc(token, strange); at >= 0 {
		return "", fmt.Errorf("%s: expected one line of visible ASCII, found another character at byte %d", file, at)
	}
	if n := len(token); n < minToken || n > maxToken {
		return "", fmt.Errorf("%s: expected a token of %d to %d characters, found %d", file, minToken, maxToken, n)
	}
	return token, nil
}

// listenHTTP listens at --http; there is no listener without it.
func (r *serving) listenHTTP() (net.Listener, error) {
	if r.http.Name == "" {
		return nil, nil
	}
	l, err := transport.Listen(r.http)
	if err != nil {
		return nil, fmt.Errorf("--http %s: %w", r.http.Name, err)
	}
	return l, nil
}

// serveHTTP answers on l until ctx ends.
func (r *serving) serveHTTP(ctx context.Context, l net.Listener) error {
	r.log.Info("listening", "address", "http://"+l.Addr().String())
	return r.server.ServeHTTP(ctx, l, serve.HTTPOptions{Token: r.token})
}
