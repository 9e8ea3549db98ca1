// Command pause is the first container of every pod. It holds the pod's namespaces, and reaps orphaned processes in a pod with a shared
// process namespace.
package main

import (
	"os"
	"os/signal"
	"syscall"
)

func main() {
	signals := make(chan os.Signal, 1)
	signal.Notify(signals, syscall.SIGTERM, syscall.SIGINT, syscall.SIGCHLD)
	for s := range signals {
		if s != syscall.SIGCHLD {
			return
		}
		var status syscall.WaitStatus
		for pid := 1; pid > 0; {
			pid, _ = syscall.Wait4(-1, &status, syscall.WNOHANG, nil) // an error means that there is no process to reap
		}
	}
}
