//go:build unix && !linux

package realkafka

import "os"

// temporary returns where temporary folders go.
func temporary() string { return os.TempDir() }
