// Without these two the Go runtime reads cgroup files at every start, and keeps a timer that
// reads them again.
//
//go:debug containermaxprocs=0
//go:debug updatemaxprocs=0

// berth is an OCI container runtime: it creates, starts, signals and deletes containers from
// bundles (runtime-spec 1.3), as runc and crun do, and can take their place.
//
// Package main owns the command line: flags, what is printed, the log and the exit status. It
// never makes a container: package container does.
package main

import "os"

func main() {
	os.Exit(berth(os.Args))
}

// berth runs one command line and returns the exit status.
func berth(args []string) int {
	g := newGlobals(args[0])
	app, args := newApp(g, args)
	return g.report(app.Run(args))
}
