package main

import (
	"bufio"
	"context"
	"encoding/json"
	"os"
	"os/exec"
	"testing"
	"time"

	"github.com/sftseq/sftseq/internal/must"
	"github.com/sftseq/sftseq/internal/testenv"
)

// browser is a headless Chromium, controlled through the DevTools protocol: JSON messages, each
// followed by a zero byte, over two pipes.
type browser struct {
	t       *testing.T
	to      *os.File
	from    *bufio.Reader
	session string
	id      int
	events  []devToolsMessage
}

type devToolsMessage struct {
	ID     int             `json:"id"`
	Method string          `json:"method"`
	Params json.RawMessage `json:"params"`
	Result json.RawMessage `json:"result"`
	Error  json.RawMessage `json:"error"`
}

// openBrowser starts Chromium with an empty page and stops it after the test.
func openBrowser(t *testing.T) *browser {
	t.Helper()
	testenv.NeedPrograms(t, "chromium")
	profile := must.Get(os.MkdirTemp("", "chromium"))(t)
	// The context is not t.Context(), which is cancelled before the cleanup closes the browser.
	ctx, cancel := context.WithTimeout(context.Background(), 2*time.Minute)
	cmd := exec.CommandContext(ctx, "chromium", "--headless", "--remote-debugging-pipe", "--user-data-dir="+profile,
		"--window-size=1200,900",
		"--no-sandbox", // the sandbox does not support root
		"--disable-gpu", "--disable-dev-shm-usage", "--no-first-run", "--disable-background-networking", "about:blank")
	cmd.WaitDelay = 10 * time.Second
	theirIn, to := must.Get2(os.Pipe())(t)
	from, theirOut := must.Get2(os.Pipe())(t)
	cmd.ExtraFiles = []*os.File{theirIn, theirOut} // file descriptors 3 and 4 of the browser
	must.Succeed(t, cmd.Start())
	theirIn.Close()
	theirOut.Close()
	b := &browser{t: t, to: to, from: bufio.NewReader(from)}
	t.Cleanup(func() {
		b.session = ""
		b.call("Browser.close", nil, nil)
		to.Close()
		if err := cmd.Wait(); err != nil {
			t.Errorf("chromium: %v", err)
		}
		from.Close()
		cancel()
		_ = os.RemoveAll(profile) // helper processes may still be writing
	})
	var target struct{ TargetID string }
	b.call("Target.createTarget", map[string]any{"url": "about:blank"}, &target)
	var session struct{ SessionID string }
	b.call("Target.attachToTarget", map[string]any{"targetId": target.TargetID, "flatten": true}, &session)
	b.session = session.SessionID
	for _, domain := range []string{"Page", "Runtime", "Log", "Network"} {
		b.call(domain+".enable", nil, nil)
	}
	return b
}

// read returns the next message.
func (b *browser) read() (m devToolsMessage) {
	b.t.Helper()
	text, err := b.from.ReadBytes(0)
	if err == nil {
		err = json.Unmarshal(text[:len(text)-1], &m)
	}
	if err != nil {
		b.t.Fatalf("chromium: %v", err)
	}
	return m
}

// call calls a method and stores its result in the value that result points to, unless result is nil.
// It appends the events that arrive before the result to b.events.
func (b *browser) call(method string, params, result any) {
	b.t.Helper()
	b.id++
	message := map[string]any{"id": b.id, "method": method}
	if b.session != "" {
		message["sessionId"] = b.session
	}
	if params != nil {
		message["params"] = params
	}
	text, err := json.Marshal(message)
	if err == nil {
		_, err = b.to.Write(append(text, 0))
	}
	if err != nil {
		b.t.Fatalf("chromium: %s: %v", method, err)
	}
	for {
		m := b.read()
		if m.ID != b.id {
			b.events = append(b.events, m)
			continue
		}
		if m.Error != nil {
			b.t.Fatalf("chromium: %s: %s", method, m.Error)
		}
		if result != nil {
			if err := json.Unmarshal(m.Result, result); err != nil {
				b.t.Fatalf("chromium: %s: %v", method, err)
			}
		}
		return
	}
}

// open loads a page and returns the events until the page has loaded.
func (b *browser) open(url string) []devToolsMessage {
	b.t.Helper()
	b.events = nil
	b.call("Page.navigate", map[string]any{"url": url}, nil)
	for i := 0; ; i++ {
		if i == len(b.events) {
			b.events = append(b.events, b.read())
		}
		if b.events[i].Method == "Page.loadEventFired" {
			break
		}
	}
	b.call("Runtime.evaluate", map[string]any{"expression": "0"}, nil) // pending events come before its result
	return b.events
}

// evaluate evaluates a JavaScript expression in the page and stores its result in value.
func (b *browser) evaluate(expression string, value any) {
	b.t.Helper()
	var result struct {
		Result           struct{ Value json.RawMessage }
		ExceptionDetails json.RawMessage
	}
	b.call("Runtime.evaluate", map[string]any{"expression": expression, "returnByValue": true, "awaitPromise": true},
		&result)
	if result.ExceptionDetails != nil {
		b.t.Fatalf("%s: %s", expression, result.ExceptionDetails)
	}
	if err := json.Unmarshal(result.Result.Value, value); err != nil {
		b.t.Fatalf("%s: %v", expression, err)
	}
}

// resize sets the size of the page's viewport in pixels.
func (b *browser) resize(width, height int) {
	b.t.Helper()
	b.call("Emulation.setDeviceMetricsOverride", map[string]any{"width": width, "height": height,
		"deviceScaleFactor": 1, "mobile": false}, nil)
}
