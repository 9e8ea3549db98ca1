// Package operator_test has the tests of the module as a whole.
package operator_test

import (
	"os"
	"strings"
	"testing"
)

func TestTheREADMEShowsTheExample(t *testing.T) {
	readme, err := os.ReadFile("README.md")
	if err != nil {
		t.Fatal(err)
	}
	example, err := os.ReadFile("cmd/example/main.go")
	if err != nil {
		t.Fatal(err)
	}
	if !strings.Contains(string(readme), "```go\n"+string(example)+"```\n") {
		t.Error("README.md does not show cmd/example/main.go as it is: copy it")
	}
}
