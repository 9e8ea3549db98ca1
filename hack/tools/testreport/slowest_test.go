package main

import (
	"os"
	"path/filepath"
	"slices"
	"testing"
)

// TestSlowest has a test with a parallel subtest, whose time go test leaves out, one that is paused, and one that runs twice.
func TestSlowest(t *testing.T) {
	file := filepath.Join(t.TempDir(), "events.json")
	if err := os.WriteFile(file, []byte(`
{"Time":"2026-01-01T00:00:00Z","Action":"start","Package":"p"}
{"Time":"2026-01-01T00:00:00Z","Action":"run","Package":"p","Test":"TestPaused"}
{"Time":"2026-01-01T00:00:01Z","Action":"pause","Package":"p","Test":"TestPaused"}
{"Time":"2026-01-01T00:00:01Z","Action":"run","Package":"p","Test":"TestTable"}
{"Time":"2026-01-01T00:00:01Z","Action":"run","Package":"p","Test":"TestTable/row"}
{"Time":"2026-01-01T00:00:01Z","Action":"pause","Package":"p","Test":"TestTable/row"}
{"Time":"2026-01-01T00:00:01Z","Action":"cont","Package":"p","Test":"TestTable/row"}
{"Time":"2026-01-01T00:00:09Z","Action":"pass","Package":"p","Test":"TestTable/row","Elapsed":8}
{"Time":"2026-01-01T00:00:09Z","Action":"pass","Package":"p","Test":"TestTable","Elapsed":0}
{"Time":"2026-01-01T00:00:09Z","Action":"run","Package":"p","Test":"TestTwice"}
{"Time":"2026-01-01T00:00:12Z","Action":"fail","Package":"p","Test":"TestTwice","Elapsed":3}
{"Time":"2026-01-01T00:00:12Z","Action":"run","Package":"p","Test":"TestTwice"}
{"Time":"2026-01-01T00:00:14Z","Action":"pass","Package":"p","Test":"TestTwice","Elapsed":2}
{"Time":"2026-01-01T00:00:14Z","Action":"cont","Package":"p","Test":"TestPaused"}
{"Time":"2026-01-01T00:00:15.5Z","Action":"pass","Package":"p","Test":"TestPaused","Elapsed":2.5}
{"Time":"2026-01-01T00:00:15.5Z","Action":"pass","Package":"p","Elapsed":15.5}
`), 0o600); err != nil {
		t.Fatal(err)
	}
	want := []string{"   8.0 s  p TestTable", "   5.0 s  p TestTwice", "   2.5 s  p TestPaused"}
	for n := range 4 {
		got, err := slowest([]string{file}, n)
		if err != nil || !slices.Equal(got, want[:n]) {
			t.Errorf("the %d slowest are %q (%v), want %q", n, got, err, want[:n])
		}
	}
}
