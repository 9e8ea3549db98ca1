package logging

import (
	"log/slog"
	"strings"
	"testing"

	"github.com/kafka-operators/kafka-operators/operator/settings"
)

func read(t *testing.T, variables map[string]string) Options {
	t.Helper()
	var o Options
	table := settings.Table{Groups: []settings.Group{{Settings: Settings(&o)}}}
	r := table.Read(nil, settings.Environment{Lookup: func(name string) (string, bool) {
		value, ok := variables[name]
		return value, ok
	}})
	if err := r.Err(); err != nil {
		t.Fatal(err)
	}
	return o
}

func TestWarnIsWarn(t *testing.T) {
	var text, object strings.Builder
	Warn(New(&text, read(t, nil)), "be careful", "with", "x")
	if !strings.Contains(text.String(), `level=WARN msg="be careful" with=x`) {
		t.Error(text.String())
	}
	Warn(New(&object, read(t, map[string]string{"STRIMZI_LOG_FORMAT": "json"})), "be careful")
	if !strings.Contains(object.String(), `"level":"WARN","msg":"be careful"`) {
		t.Error(object.String())
	}
}

func TestLevels(t *testing.T) {
	for text, want := range map[string]slog.Level{"off": levelOff, "ERROR": slog.LevelError, "warn": slog.LevelWarn, "INFO": slog.LevelInfo,
		"DEBUG": slog.LevelDebug, "TRACE": levelTrace} {
		var w strings.Builder
		o := read(t, map[string]string{"STRIMZI_LOG_LEVEL": text})
		log := New(&w, o)
		log.V(4).Info("debug")
		log.Info("info")
		Warn(log, "warn")
		log.Error(nil, "error")
		if o.Level != want {
			t.Errorf("%s: level %s, want %s", text, o.Level, want)
		}
		for level, message := range map[slog.Level]string{slog.LevelDebug: "debug", slog.LevelInfo: "info", slog.LevelWarn: "warn",
			slog.LevelError: "error"} {
			if got := strings.Contains(w.String(), "msg="+message); got != (level >= want) {
				t.Errorf("at level %s, %s is logged: %t", text, message, got)
			}
		}
	}
}
