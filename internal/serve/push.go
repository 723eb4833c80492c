package serve

import (
	"encoding/json"
	"fmt"
	"time"
)

// refuse sends an error that is not the response to a call, such as the error of a refused message or
// connection. A nil id is sent as null.
func (s *session) refuse(id json.RawMessage, e *Error) {
	if id == nil {
		id = json.RawMessage("null")
	}
	s.server.metrics.countRefusal(e.Code)
	if _, web := s.frames.(noFrames); !web { // HTTP writes its own access log
		s.logResponse("", id, e.Code, 0, time.Now())
	}
	s.write(response{"2.0", id, e})
}

type response struct {
	Version string          `json:"jsonrpc"`
	ID      json.RawMessage `json:"id"`
	Error   *Error          `json:"error"`
}

// result sends the result of an ordered request.
func (s *session) result(id json.RawMessage, result any) {
	s.write(struct {
		Version string          `json:"jsonrpc"`
		ID      json.RawMessage `json:"id"`
		Result  any             `json:"result"`
	}{"2.0", id, result})
}

func (s *session) write(v any) {
	body, err := json.Marshal(v)
	if err != nil {
		s.end(sessionOver("writing: %w", err))
		return
	}
	s.send(body)
}

// notify sends a notification.
func (s *session) notify(method string, params any) {
	body, err := json.Marshal(struct {
		Version string `json:"jsonrpc"`
		Method  string `json:"method"`
		Params  any    `json:"params"`
	}{"2.0", method, params})
	if err != nil {
		s.log.Debug("could not send a notification", "method", method, "error", err)
		return
	}
	s.send(body)
}

// Message types of window/logMessage.
const (
	logError   = 1
	logWarning = 2
)

// logMessage sends a window/logMessage notification.
func (s *session) logMessage(kind int, format string, args ...any) {
	s.notify("window/logMessage", struct {
		Type    int    `json:"type"`
		Message string `json:"message"`
	}{kind, fmt.Sprintf(format, args...)})
}
