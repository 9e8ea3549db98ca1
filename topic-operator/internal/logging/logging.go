// Package logging is the operator's log: slog's handlers behind controller-runtime's logr, with the one level that logr lacks.
package logging

import (
	"context"
	"io"
	"log/slog"

	"github.com/go-logr/logr"
)

// New returns a logger that writes lines of text, or of JSON, from the given level up.
func New(w io.Writer, level slog.Level, json bool) logr.Logger {
	settings := &slog.HandlerOptions{Level: level}
	if json {
		return logr.FromSlogHandler(slog.NewJSONHandler(w, settings))
	}
	return logr.FromSlogHandler(slog.NewTextHandler(w, settings))
}

// Slog returns the same logger as slog has it.
func Slog(log logr.Logger) *slog.Logger { return slog.New(logr.ToSlogHandler(log)) }

// Warn logs at WARN, which people search logs for and logr has no name for.
func Warn(log logr.Logger, message string, keysAndValues ...any) {
	Slog(log).Log(context.Background(), slog.LevelWarn, message, keysAndValues...) //nolint:forbidigo // logging has no context to respect
}
