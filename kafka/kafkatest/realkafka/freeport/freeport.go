// Package freeport chooses ports for programs that can't choose one themselves.
package freeport

import (
	"errors"
	"math/rand/v2"
	"net"
	"os"
	"strconv"
	"strings"
	"sync"
)

// reserved are the ports that this process has taken, so that two programs that start at once get different ones.
var reserved = struct {
	sync.Mutex
	ports map[int]bool
}{ports: map[int]bool{}}

// lowestPort is above the well-known ports.
const lowestPort = 15000

// Take returns n ports that no process listens on. They are below the range that the kernel uses for outgoing connections and ":0":
// otherwise a client's connection could take the port of a node that is down for a while.
func Take(n int) ([]int, error) {
	reserved.Lock()
	defer reserved.Unlock()
	var ports []int
	for range 1000 {
		port := lowestPort + rand.IntN(Limit()-lowestPort)
		if reserved.ports[port] {
			continue
		}
		l, err := net.Listen("tcp", net.JoinHostPort("127.0.0.1", strconv.Itoa(port)))
		if err != nil {
			continue
		}
		// Closed only on return, so that the loop does not find a port twice.
		defer func() { _ = l.Close() }()
		ports = append(ports, port)
		if len(ports) == n {
			for _, p := range ports {
				reserved.ports[p] = true
			}
			return ports, nil
		}
	}
	return nil, errors.New("no free ports")
}

// Release gives ports back that Take returned.
func Release(ports []int) {
	reserved.Lock()
	defer reserved.Unlock()
	for _, p := range ports {
		delete(reserved.ports, p)
	}
}

// Limit returns the end of the range that Take chooses from, which is where the kernel's own begins.
func Limit() int {
	const usual = 32768
	b, err := os.ReadFile("/proc/sys/net/ipv4/ip_local_port_range")
	if err != nil {
		return usual
	}
	fields := strings.Fields(string(b))
	if len(fields) == 0 {
		return usual
	}
	if low, err := strconv.Atoi(fields[0]); err == nil && low > lowestPort+5000 {
		return low
	}
	return usual
}
