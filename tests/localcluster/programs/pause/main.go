// Command pause is the first process of every pod: it holds the pod's namespaces and reaps orphans.
package main

import (
	"os"
	"os/signal"
	"syscall"
)

func main() {
	events := make(chan os.Signal, 16)
	signal.Notify(events, syscall.SIGINT, syscall.SIGTERM, syscall.SIGCHLD)
	for event := range events {
		if event != syscall.SIGCHLD {
			return
		}
		for {
			pid, err := syscall.Wait4(-1, nil, syscall.WNOHANG, nil)
			if pid <= 0 && err != syscall.EINTR {
				break
			}
		}
	}
}
