package operatorproc

import (
	"os"
	"strings"
)

// LogFile returns the path of the log.
func (op *Process) LogFile() string { return op.logFile }

// Log returns the whole log.
func (op *Process) Log() string {
	b, err := os.ReadFile(op.logFile)
	if err != nil {
		return err.Error()
	}
	return string(b)
}

// LogLines returns the lines that contain all of the given texts.
func (op *Process) LogLines(texts ...string) []string {
	var lines []string
	for line := range strings.Lines(op.Log()) {
		if containsAll(line, texts) {
			lines = append(lines, strings.TrimSuffix(line, "\n"))
		}
	}
	return lines
}

func containsAll(line string, texts []string) bool {
	for _, text := range texts {
		if !strings.Contains(line, text) {
			return false
		}
	}
	return true
}

// LogTail returns the last lines of the log.
func (op *Process) LogTail(n int) string {
	lines := strings.Split(strings.TrimSpace(op.Log()), "\n")
	return strings.Join(lines[max(0, len(lines)-n):], "\n")
}
