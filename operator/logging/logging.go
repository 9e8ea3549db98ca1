// Package logging provides the log of an operator: slog's handlers behind controller-runtime's logr, with the level WARN that logr lacks.
package logging

import (
	"context"
	"io"
	"log/slog"
	"strings"

	"github.com/go-logr/logr"

	"github.com/kafka-operators/kafka-operators/operator/settings"
)

// Options define what is logged, and how. Settings fills them.
type Options struct {
	// Level is the lowest level that is logged (STRIMZI_LOG_LEVEL). logr's V(n) has level -n: DEBUG shows up to V(4), TRACE up to V(8).
	Level slog.Level
	// JSON selects one JSON object per line instead of text (STRIMZI_LOG_FORMAT).
	JSON bool
}

// Settings returns the settings of the log, for a table.
func Settings(o *Options) []settings.Setting {
	return []settings.Setting{
		{Env: "STRIMZI_LOG_LEVEL", Default: "INFO", Parse: settings.Into(&o.Level, readLevel),
			Doc: "The lowest level that is logged: `OFF`, `ERROR`, `WARN`, `INFO`, `DEBUG` or `TRACE`."},
		{Env: "STRIMZI_LOG_FORMAT", Default: "text", Added: true, Parse: settings.Into(&o.JSON, readFormat),
			Doc: "`text`, or `json` for one object per line."},
	}
}

// New returns a logger that writes to w.
func New(w io.Writer, o Options) logr.Logger {
	options := &slog.HandlerOptions{Level: o.Level}
	var handler slog.Handler = slog.NewTextHandler(w, options)
	if o.JSON {
		handler = slog.NewJSONHandler(w, options)
	}
	if o.Level >= levelOff {
		handler = slog.DiscardHandler // logr does not ask a handler whether errors are enabled
	}
	return logr.FromSlogHandler(handler)
}

// Slog returns the same logger as a slog.Logger.
func Slog(log logr.Logger) *slog.Logger { return slog.New(logr.ToSlogHandler(log)) }

// Warn logs at level WARN.
func Warn(log logr.Logger, message string, keysAndValues ...any) {
	Slog(log).Log(context.Background(), slog.LevelWarn, message, keysAndValues...) //nolint:forbidigo // logging has no context to respect
}

// Levels beyond slog's own.
const (
	levelTrace = slog.LevelDebug - 4
	levelOff   = slog.LevelError + 4
)

// readLevel reads the names of log4j2's levels, which Strimzi's users know.
func readLevel(text string) (slog.Level, error) {
	switch strings.ToUpper(strings.TrimSpace(text)) {
	case "ALL", "TRACE":
		return levelTrace, nil
	case "DEBUG":
		return slog.LevelDebug, nil
	case "INFO":
		return slog.LevelInfo, nil
	case "WARN", "WARNING":
		return slog.LevelWarn, nil
	case "ERROR":
		return slog.LevelError, nil
	case "FATAL", "OFF":
		return levelOff, nil
	}
	return 0, settings.Invalid("unknown level", "use OFF, ERROR, WARN, INFO, DEBUG or TRACE")
}

func readFormat(text string) (bool, error) {
	switch strings.ToLower(strings.TrimSpace(text)) {
	case "text":
		return false, nil
	case "json":
		return true, nil
	}
	return false, settings.Invalid("unknown format", "use text or json")
}
