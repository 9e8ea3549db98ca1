package realkafka

import (
	"os"
	"syscall"
)

// temporary returns the parent of temporary folders: in memory if there is plenty of space. A broker flushes several files for each
// partition that it creates, which takes most of the time on a disk. Files in memory survive a broker's crash, and no test simulates a
// power failure.
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
