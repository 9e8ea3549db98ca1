package realkafka

import (
	"os"
	"syscall"
)

// temporary returns where temporary folders go: into memory where there is plenty. A broker flushes several files for each
// partition it creates, which on a disk is nearly all of the time; data in memory survives a broker's crash just as well, and
// nobody tests a power failure.
func temporary() string {
	const (
		shared = "/dev/shm"
		tmpfs  = 0x01021994
		plenty = 4 << 30
	)
	var fs syscall.Statfs_t
	if err := syscall.Statfs(shared, &fs); err != nil || fs.Type != tmpfs || int64(fs.Bavail)*fs.Bsize < plenty { // far from overflow
		return os.TempDir()
	}
	return shared
}
