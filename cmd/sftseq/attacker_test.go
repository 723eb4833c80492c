package main

import (
	"bufio"
	"fmt"
	"io"
	"net"
	"os"
	"runtime"
	"strings"
	"sync"
	"time"
)

// attackVariable is an environment variable that makes the test program an attacker. Its value is
// the server's socket and HTTP address, separated by a space. The last argument of the program
// names the attack.
const attackVariable = "SFTSEQ_ATTACK_SERVER"

// attacks lists the actions of careless or malicious clients that must not slow down other clients.
var attacks = []struct {
	name    string
	clients int
	run     func(*attacker)
	http    bool
}{
	{name: "busy-loop", clients: 2, run: (*attacker).busyLoop},
	{name: "pipeline", clients: 1, run: (*attacker).pipeline},
	{name: "pipelines", clients: 16, run: (*attacker).pipeline},
	{name: "never-readers", clients: 20, run: (*attacker).neverRead},
	{name: "bare-lines", clients: 16, run: (*attacker).bareLines},
	{name: "refusals", clients: 16, run: (*attacker).refusals},
	{name: "searches", clients: 4, run: (*attacker).searches},
	{name: "edits", clients: 2, run: (*attacker).edits},
	{name: "front-edits", clients: 2, run: (*attacker).frontEdits},
	{name: "large-messages", clients: 4, run: (*attacker).largeMessages},
	{name: "http-busy-loop", clients: 2, run: (*attacker).busyLoop, http: true},
	{name: "http-long-texts", clients: 16, run: (*attacker).longTexts, http: true},
	{name: "http-broken-bodies", clients: 16, run: (*attacker).brokenBodies, http: true},
	{name: "http-large-bodies", clients: 4, run: (*attacker).largeBodies, http: true},
	{name: "http-wrong-tokens", clients: 16, run: (*attacker).wrongTokens, http: true},
	{name: "http-slow-senders", clients: 100, run: (*attacker).slowSender, http: true},
	{name: "http-never-readers", clients: 20, run: (*attacker).unreadEmbeddings, http: true},
}

// attackUntilKilled runs the clients of an attack and prints "attacking" after every client
// has tried to connect.
func attackUntilKilled(server, name string) {
	socket, web, _ := strings.Cut(server, " ")
	for _, a := range attacks {
		if a.name != name {
			continue
		}
		var connected sync.WaitGroup
		connected.Add(a.clients)
		for range a.clients {
			go func() {
				for first := true; ; first = false {
					network, address := "unix", socket
					if a.http {
						network, address = "tcp", web
					}
					conn, err := net.Dial(network, address)
					if first {
						connected.Done()
					}
					if err != nil {
						time.Sleep(10 * time.Millisecond)
						continue
					}
					a.run(&attacker{conn: conn, out: bufio.NewWriterSize(conn, 1<<20)})
					conn.Close() // the server has closed the connection: the attacker reconnects
				}
			}()
		}
		connected.Wait()
		fmt.Println("attacking")
		select {}
	}
	fmt.Fprintf(os.Stderr, "no attack %q\n", name)
	os.Exit(1)
}

// attacker is one connection of an attacking client.
type attacker struct {
	conn net.Conn
	out  *bufio.Writer
	id   int
}

// drain discards all responses.
func (a *attacker) drain() { go io.Copy(io.Discard, a.conn) }

func (a *attacker) send(line string) bool {
	_, err := a.out.WriteString(line + "\n")
	return err == nil
}

func (a *attacker) request(method, params string) bool {
	a.id++
	return a.send(fmt.Sprintf(`{"jsonrpc":"2.0","id":%d,"method":%q,"params":%s}`, a.id, method, params))
}

func (a *attacker) notify(method, params string) bool {
	return a.send(fmt.Sprintf(`{"jsonrpc":"2.0","method":%q,"params":%s}`, method, params))
}

// jsonText returns a JSON string of about n bytes.
func jsonText(n int) string { return `"` + strings.Repeat("x y ", n/4) + `"` }

// busyLoop keeps a core busy and sends no requests. It shows the slowdown that comes from the machine
// and not from the server.
func (a *attacker) busyLoop() {
	for n := 0; ; n++ {
		runtime.KeepAlive(n)
	}
}

// pipeline classifies long texts without waiting for responses.
func (a *attacker) pipeline() {
	a.drain()
	a.request("initialize", "{}")
	for params := `{"text":` + jsonText(4096) + "}"; a.request("sequence/classify", params); {
	}
}

// neverRead sends requests and reads no response, until the server stops reading.
func (a *attacker) neverRead() {
	a.request("initialize", "{}")
	for params := `{"text":` + jsonText(512) + "}"; a.request("sequence/classify", params); {
	}
}

// bareLines sends short texts as JSON lines without a JSON-RPC envelope, the input of predict.
func (a *attacker) bareLines() {
	a.drain()
	for line := `{"text":` + jsonText(100) + "}"; a.send(line); {
	}
}

// refusals sends requests that always fail.
func (a *attacker) refusals() {
	a.drain()
	a.request("initialize", "{}")
	for a.request("no/such", "{}") && a.send("no JSON") && a.request("sequence/classify", `{"tokens":[-1]}`) {
	}
}

// searches repeats a search for the largest permitted number of items.
func (a *attacker) searches() {
	a.drain()
	a.request("initialize", "{}")
	for a.request("retrieval/search", `{"text":"x","k":10000}`) {
	}
}

const openUTF16 = `{"capabilities":{"general":{"positionEncodings":["utf-16"]}}}`

// edits repeatedly sends a message with 80,000 changes throughout a document of 5 MiB.
func (a *attacker) edits() {
	const size, count = 5 << 20, 80_000
	a.drain()
	a.request("initialize", openUTF16)
	a.notify("sequence/didOpen", fmt.Sprintf(`{"uri":"a","version":1,"text":%s}`, jsonText(size)))
	var changes strings.Builder
	for i := range count {
		at := i * 7919 % size
		fmt.Fprintf(&changes, `,{"range":{"start":%d,"end":%d},"text":"é"}`, at, at+1)
	}
	for version := 2; a.notify("sequence/didChange", fmt.Sprintf(`{"uri":"a","version":%d,"changes":[%s]}`, version,
		changes.String()[1:])); version++ {
	}
}

// frontEdits inserts at the front of a document of 10 MiB, faster than a person types.
func (a *attacker) frontEdits() {
	a.drain()
	a.request("initialize", "{}")
	a.notify("sequence/didOpen", fmt.Sprintf(`{"uri":"a","version":1,"text":%s}`, jsonText(10<<20)))
	for version := 2; a.notify("sequence/didChange",
		fmt.Sprintf(`{"uri":"a","version":%d,"changes":[{"range":{"start":0,"end":0},"text":"x"}]}`,
			version)); version++ {
	}
}

// largeMessages sends messages of 8 MiB that the server refuses after reading them.
func (a *attacker) largeMessages() {
	a.drain()
	a.request("initialize", "{}")
	for params := `{"tokens":[1` + strings.Repeat(",1", 4<<20) + `,-1]}`; a.request("sequence/classify", params); {
	}
}
