package main

import (
	"fmt"
	"io"
	"net/http"
	"strings"
	"testing"
	"time"
)

// request sends an HTTP request and returns the status and the body of the response.
func (s attackedProcess) request(client *http.Client, path, token, body string) (status int,
	responseBody []byte, err error) {
	r, err := http.NewRequest("POST", "http://"+s.web+path, strings.NewReader(body))
	if err != nil {
		return 0, nil, err
	}
	r.Header.Set("Content-Type", "application/json")
	r.Header.Set("Authorization", "Bearer "+token)
	response, err := client.Do(r)
	if err != nil {
		return 0, nil, err
	}
	defer response.Body.Close()
	responseBody, err = io.ReadAll(response.Body)
	return response.StatusCode, responseBody, err
}

// honestHTTP sends n short texts over one HTTP connection, with a pause after each response, and
// returns the latency of each request.
func honestHTTP(tb testing.TB, server attackedProcess, n int) []time.Duration {
	tb.Helper()
	client := &http.Client{Transport: &http.Transport{}, Timeout: time.Minute}
	defer client.CloseIdleConnections()
	waits := make([]time.Duration, n)
	for i := range waits {
		began := time.Now()
		status, response, err := server.request(client, "/classify", httpToken, fmt.Sprintf(`{"text":%q}`, shortText))
		if err != nil || status != 200 {
			tb.Fatalf("the honest client: got status %d, response %.300s, error %v; want status 200", status, response,
				err)
		}
		waits[i] = time.Since(began)
		time.Sleep(20 * time.Millisecond)
	}
	return waits
}
