package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"net"
	"net/http"
	"net/url"
	"os"
	"strings"
	"syscall"
	"time"

	"github.com/urfave/cli/v2"

	"github.com/sftseq/sftseq/internal/atomicfile"
)

func healthCommand() *cli.Command {
	return &cli.Command{
		Name:      "health",
		Usage:     "check whether a server is healthy",
		ArgsUsage: "URL",
		UsageText: `sftseq health URL [--timeout TIME]

Example: sftseq health http://127.0.0.1:8080
         sftseq health unix:/run/sftseq/http.sock`,
		Description: `Requests /healthz of serve --http or --metrics, as a probe in a container without a shell or curl.
URL is http://HOST:PORT, https://HOST:PORT or unix:PATH. A path after HOST:PORT replaces /healthz.

Exit status: 0 the server is healthy, 1 it is not or does not respond, 2 the command line is wrong.`,
		Flags: fromEnvironment([]cli.Flag{&cli.DurationFlag{Name: "timeout", Value: 5 * time.Second,
			Usage: "wait at most `TIME` for the response"}}),
		Action: healthAction,
	}
}

func healthAction(c *cli.Context) error {
	if c.NArg() != 1 {
		return usage(c, "expected one URL, found %d arguments", c.NArg())
	}
	if d := c.Duration("timeout"); d <= 0 {
		return badFlag(c, "timeout", "more than 0")
	}
	target, client, err := healthTarget(c.Args().First())
	if err != nil {
		return usage(c, "%w", err)
	}
	ctx, cancel := context.WithTimeout(c.Context, c.Duration("timeout"))
	defer cancel()
	r, err := http.NewRequestWithContext(ctx, http.MethodGet, target, nil)
	if err != nil {
		return usage(c, "%w", err)
	}
	response, err := client.Do(r)
	if errors.Is(err, context.DeadlineExceeded) && c.Context.Err() == nil {
		return fmt.Errorf("%s: no response within the %v of --timeout", c.Args().First(), c.Duration("timeout"))
	}
	path, isSocket := strings.CutPrefix(c.Args().First(), "unix:")
	if info, err := os.Stat(path); isSocket && err == nil && info.Mode().Type() != fs.ModeSocket {
		return fmt.Errorf("%s: expected the socket of a server, found %s", c.Args().First(),
			atomicfile.Kind(info.Mode()))
	}
	for _, cause := range []error{syscall.ECONNREFUSED, syscall.ENOENT} {
		if errors.Is(err, cause) {
			return fmt.Errorf("%s: %w: no server listens on this address", c.Args().First(), cause)
		}
	}
	if err != nil {
		err = errors.Unwrap(err) // without the URL
		if op := (*net.OpError)(nil); errors.As(err, &op) {
			err = op.Err // without the address
		}
		return fmt.Errorf("%s: %w", c.Args().First(), err)
	}
	defer response.Body.Close()
	text, err := io.ReadAll(io.LimitReader(response.Body, 1000))
	if err != nil {
		return fmt.Errorf("%s: %w", c.Args().First(), err)
	}
	body := strings.TrimSpace(string(text))
	if response.StatusCode != http.StatusOK {
		if body == "" || strings.ContainsAny(body, "\n<") {
			return fmt.Errorf("%s: expected status 200, found %s: is this the address of sftseq serve?", target,
				response.Status)
		}
		return fmt.Errorf("%s: expected status 200, found %s: %s", target, response.Status, body)
	}
	_, err = fmt.Fprintln(c.App.Writer, body)
	return err
}

// healthTarget returns the URL to request, and the client for it.
func healthTarget(text string) (string, *http.Client, error) {
	if path, ok := strings.CutPrefix(text, "unix:"); ok && path != "" {
		dial := func(ctx context.Context, _, _ string) (net.Conn, error) {
			return new(net.Dialer).DialContext(ctx, "unix", path)
		}
		return "http://localhost/healthz", &http.Client{Transport: &http.Transport{DialContext: dial}}, nil
	}
	target, err := url.Parse(text)
	if err != nil || target.Host == "" || target.Scheme != "http" && target.Scheme != "https" {
		return "", nil, fmt.Errorf("URL %q: expected http://HOST:PORT, https://HOST:PORT or unix:PATH", text)
	}
	if target.Path == "" || target.Path == "/" {
		target.Path = "/healthz"
	}
	return target.String(), http.DefaultClient, nil
}
