package serve

import (
	"bufio"
	"fmt"
	"io"
	"net/http"
	"strings"
	"testing"
	"time"
)

// TestHTTPStrangers: who has no token keeps no place that a client with one needs, whatever
// it repeats.
func TestHTTPStrangers(t *testing.T) {
	for name, c := range map[string]struct{ token, request, want string }{
		"without the token": {"0123456789abcdef", "GET /info HTTP/1.1\r\nHost: localhost\r\n\r\n", "HTTP/1.1 401 "},
		"asks for health":   {"0123456789abcdef", "GET /healthz HTTP/1.1\r\nHost: localhost\r\n\r\n", "HTTP/1.1 200 "},
		"a foreign host":    {"", "GET /info HTTP/1.1\r\nHost: rebound.example\r\n\r\n", "HTTP/1.1 421 "},
	} {
		t.Run(name, func(t *testing.T) {
			o := testOptions(t, "pre")
			o.MaxClients = 1
			w := startHTTP(t, o, HTTPOptions{Token: c.token})
			w.server.allowances = allowances{silent: 100 * time.Millisecond, unread: time.Hour, idle: time.Hour}
			conn, from := w.dial(), time.Now()
			told := make(chan string, 1)
			go func() {
				answers := bufio.NewReader(conn)
				for {
					fmt.Fprint(conn, c.request)
					r, err := http.ReadResponse(answers, nil)
					if err != nil {
						return
					}
					io.Copy(io.Discard, r.Body)
					select {
					case told <- fmt.Sprintf("%s %s %v", r.Proto, r.Status, r.Close):
					default:
					}
					time.Sleep(5 * time.Millisecond)
				}
			}()
			if got := <-told; !strings.HasPrefix(got, c.want) || strings.HasSuffix(got, "true") == strings.Contains(c.want, "200") {
				t.Errorf("%q, want %q, and the end of the connection if that is an error", got, c.want)
			}
			time.Sleep(time.Until(from.Add(300 * time.Millisecond)))
			w.post("/classify", `{"tokens":[1]}`)
		})
	}
}
