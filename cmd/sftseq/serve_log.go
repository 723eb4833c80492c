package main

import (
	"bytes"
	"io"
	"log/slog"
	"strings"
	"sync"

	"github.com/urfave/cli/v2"
)

// Formats of the log.
const (
	logText = "text"
	logJSON = "json"
)

// serverLog returns a logger with the level of --log and the format of --log-format. In JSON, all
// other messages to standard error become log records, too.
func serverLog(c *cli.Context) (*slog.Logger, error) {
	var level slog.Level
	if err := level.UnmarshalText([]byte(c.String("log"))); err != nil {
		return nil, badFlag(c, "log", "debug, info, warn or error")
	}
	options := &slog.HandlerOptions{Level: level}
	switch format := c.String("log-format"); format {
	case logText:
		return slog.New(slog.NewTextHandler(c.App.ErrWriter, options)), nil
	case logJSON:
		options.ReplaceAttr = durationText
		log := slog.New(slog.NewJSONHandler(c.App.ErrWriter, options))
		c.App.ErrWriter = &recordWriter{log: log}
		return log, nil
	default:
		return nil, badFlag(c, "log-format", "%s or %s", logText, logJSON)
	}
}

// durationText replaces a duration, which JSON would show in nanoseconds, with its text, such as 3s.
func durationText(_ []string, a slog.Attr) slog.Attr {
	if a.Value.Kind() == slog.KindDuration {
		a.Value = slog.StringValue(a.Value.Duration().String())
	}
	return a
}

// recordWriter writes each line as a log record, so that messages from outside the log have its
// format.
type recordWriter struct {
	log     *slog.Logger
	mu      sync.Mutex
	partial []byte // bytes since the last line break
}

// errorPrefix begins the lines of errors.
const errorPrefix = "sftseq: "

func (w *recordWriter) Write(p []byte) (int, error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.partial = append(w.partial, p...)
	for {
		line, rest, found := bytes.Cut(w.partial, []byte("\n"))
		if !found {
			return len(p), nil
		}
		if text, isError := strings.CutPrefix(string(line), errorPrefix); isError {
			w.log.Error(text)
		} else if text, isWarning := strings.CutPrefix(text, "warning: "); isWarning {
			w.log.Warn(text)
		} else {
			w.log.Info(text)
		}
		w.partial = rest
	}
}

// printError writes the error of a command to w, as one log record if w writes records.
func printError(w io.Writer, err error) {
	text := shortenError(err.Error())
	if records, ok := w.(*recordWriter); ok {
		records.log.Error(text)
		return
	}
	io.WriteString(w, errorPrefix+text+"\n")
}
