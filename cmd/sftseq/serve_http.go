package main

import (
	"context"
	"fmt"
	"log/slog"
	"net"
	"net/url"
	"os"
	"runtime"
	"slices"
	"strings"

	"github.com/urfave/cli/v2"

	"github.com/sftseq/sftseq/internal/atomicfile"
	"github.com/sftseq/sftseq/internal/serve"
	"github.com/sftseq/sftseq/internal/serve/transport"
)

// httpFlags returns the flags of serve for HTTP clients.
func httpFlags() []cli.Flag {
	return slices.Concat(group(serverGroup,
		&cli.StringFlag{Name: "http",
			Usage: "serve HTTP, with OpenAI's /v1/embeddings, at `ADDRESS`: HOST:PORT (localhost without HOST) " +
				"or unix:PATH"},
		&cli.StringFlag{Name: "http-token",
			Usage:     "require one of the bearer tokens in `FILE`, one per line; required beyond localhost",
			TakesFile: true}),
		advancedGroup(serverGroup, &cli.StringSliceFlag{Name: "cors-origin",
			Usage: "let pages of `ORIGIN` use the server from a browser; repeatable"}))
}

// minToken and maxToken limit the number of characters of a token: short tokens are easily guessed.
// maxTokens is the maximum size of the token file in bytes.
const (
	minToken  = 16
	maxToken  = 4096
	maxTokens = 16 << 20
)

// readHTTP parses --http, --http-token and --cors-origin, and resolves a host name in --http. An
// address that other machines can reach requires a token.
func (r *serving) readHTTP(c *cli.Context) error {
	text, file := c.String("http"), c.String("http-token")
	switch {
	case !c.IsSet("http") && c.IsSet("http-token"):
		return usage(c, "--http-token needs --http")
	case !c.IsSet("http") && c.IsSet("cors-origin"):
		return usage(c, "--cors-origin needs --http")
	case !c.IsSet("http"):
		return nil
	case c.IsSet("http-token") && file == "":
		return usage(c, `--http-token "": expected a file`)
	}
	var err error
	if r.http, err = transport.ParseHTTP(text); err != nil {
		return invalidFlag(c, "http", err)
	}
	public := false
	if r.http.Network != "unix" {
		addr, err := net.ResolveTCPAddr(r.http.Network, r.http.Name)
		if err != nil {
			return fmt.Errorf("--http %s: %w", r.http.Name, err)
		}
		r.http.Name, public = addr.String(), transport.Public(addr)
	}
	if file != "" {
		tokens, err := readTokens(file)
		if err != nil {
			return fmt.Errorf("--http-token: %w", err)
		}
		r.tokens, r.tokenFile = serve.NewTokens(tokens...), file
		warnReadable(r.log, file)
	}
	if public && r.tokens == nil {
		return usage(c, "--http %s: other machines can reach this address: expected --http-token FILE", text)
	}
	r.origins, err = readOrigins(c, r.tokens != nil)
	return err
}

// readOrigins parses --cors-origin. Allowing all origins requires a token, because otherwise every
// web page that a user opens could use the server.
func readOrigins(c *cli.Context, token bool) ([]string, error) {
	origins := c.StringSlice("cors-origin")
	for _, origin := range origins {
		u, err := url.Parse(origin)
		switch {
		case origin == "*" && !token:
			return nil, usage(c, "--cors-origin *: expected origins, or --http-token FILE, "+
				"because every web page could use the server")
		case origin != "*" && (err != nil || u.Scheme == "" || u.Host == "" || u.Scheme+"://"+u.Host != origin ||
			strings.ToLower(origin) != origin):
			return nil, usage(c, "--cors-origin %q: expected SCHEME://HOST[:PORT] in lower case, "+
				"as browsers send it, or *", origin)
		}
	}
	return origins, nil
}

// reloadTokens reads the file of --http-token again.
func (r *serving) reloadTokens() {
	tokens, err := readTokens(r.tokenFile)
	if err != nil {
		r.log.Error("the tokens could not be reloaded: the previous tokens remain valid", "error", err)
		return
	}
	r.tokens.Set(tokens...)
	r.log.Info("the tokens were reloaded", "tokens", len(tokens))
}

// warnReadable warns if other users of the machine can read the token file.
func warnReadable(log *slog.Logger, file string) {
	if info, err := os.Stat(file); err == nil && runtime.GOOS != "windows" && info.Mode().Perm()&0o044 != 0 {
		log.Warn("other users can read the file of --http-token: restrict it with chmod 600", "file", file,
			"mode", fmt.Sprintf("%04o", info.Mode().Perm()))
	}
}

// readTokens reads a file with one token per line. It skips empty lines.
func readTokens(file string) (tokens []string, err error) {
	raw, err := atomicfile.ReadRegular(file, maxTokens)
	if err != nil {
		return nil, err
	}
	row := 0
	for line := range strings.Lines(strings.TrimPrefix(string(raw), "\ufeff")) { // byte-order mark of Windows
		row++
		token := strings.TrimRight(line, "\r\n")
		if token == "" {
			continue
		}
		invalid := func(c rune) bool { return c <= ' ' || c > '~' }
		if column := strings.IndexFunc(token, invalid); column >= 0 {
			found := "another character" // the character is part of a secret
			if token[column] == ' ' || token[column] == '\t' {
				found = "white space"
			}
			return nil, fmt.Errorf("%s:%d: expected one token of visible ASCII characters on each line, found %s "+
				"at column %d", file, row, found, column+1)
		}
		if n := len(token); n < minToken || n > maxToken {
			return nil, fmt.Errorf("%s:%d: expected a token of %d to %d characters, found %d", file, row, minToken,
				maxToken, n)
		}
		tokens = append(tokens, token)
	}
	if tokens == nil {
		return nil, fmt.Errorf("%s: expected a token of %d to %d characters on each line, found none", file, minToken,
			maxToken)
	}
	return tokens, nil
}

// listenHTTP listens on the address of --http, or returns nil without the flag.
func (r *serving) listenHTTP() (net.Listener, error) {
	if r.http.Name == "" {
		return nil, nil
	}
	l, err := transport.Listen(r.http)
	if err != nil {
		return nil, fmt.Errorf("--http %s: %w", r.http, err)
	}
	return l, nil
}

// serveHTTP serves HTTP on l until ctx ends.
func (r *serving) serveHTTP(ctx context.Context, l net.Listener) error {
	r.log.Info("listening", "address", transport.URL(l.Addr()))
	return r.server.ServeHTTP(ctx, l, serve.HTTPOptions{Tokens: r.tokens, Origins: r.origins, Raw: r.raw})
}
