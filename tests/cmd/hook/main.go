// Hook is an OCI hook that writes down how it was called: one JSON object a line, appended
// to a file in one write.
//
//	hook LOG NAME [exit=N] [sleep=SECONDS] [check=PATH]... [say=TEXT] [touch=PATH]
package main

import (
	"encoding/json"
	"io"
	"os"
	"strconv"
	"strings"
	"syscall"
	"time"
)

type record struct {
	Name  string
	Args  []string
	Env   []string
	NS    map[string]string
	State json.RawMessage
	Cwd   string
	Pid   int
	Exist map[string]bool
	Host  string
	Fds   []string
}

func main() {
	fds := openFds()
	r := record{Name: os.Args[2], Args: os.Args, Env: os.Environ(), NS: map[string]string{},
		Exist: map[string]bool{}, Pid: os.Getpid(), Fds: fds}
	in, err := io.ReadAll(os.Stdin)
	if err != nil || !json.Valid(in) {
		in, _ = json.Marshal("not JSON: " + string(in))
	}
	r.State = in
	r.Cwd, _ = os.Getwd()
	r.Host, _ = os.Hostname()
	for _, ns := range []string{"mnt", "pid", "net", "ipc", "uts", "user", "cgroup"} {
		r.NS[ns], _ = os.Readlink("/proc/self/ns/" + ns)
	}
	status := 0
	for _, a := range os.Args[3:] {
		key, value, _ := strings.Cut(a, "=")
		switch key {
		case "exit":
			status, _ = strconv.Atoi(value)
		case "check":
			_, err := os.Lstat(value)
			r.Exist[value] = err == nil
		case "say":
			os.Stderr.WriteString(value + "\n")
		case "sleep":
			n, _ := strconv.Atoi(value)
			write(r)
			time.Sleep(time.Duration(n) * time.Second)
			r.Name += "-slept"
		}
	}
	write(r)
	os.Exit(status)
}

func openFds() []string {
	var out []string
	entries, _ := os.ReadDir("/proc/self/fd")
	for _, e := range entries {
		to, err := os.Readlink("/proc/self/fd/" + e.Name())
		n, _ := strconv.Atoi(e.Name())
		flags, _, _ := syscall.Syscall(syscall.SYS_FCNTL, uintptr(n), syscall.F_GETFD, 0)
		// Go's own are close-on-exec; what was inherited cannot be.
		if err != nil || flags&syscall.FD_CLOEXEC != 0 {
			continue
		}
		out = append(out, e.Name()+" "+to)
	}
	return out
}

func write(r record) {
	line, err := json.Marshal(r)
	if err != nil {
		panic(err)
	}
	f, err := os.OpenFile(os.Args[1], os.O_APPEND|os.O_CREATE|os.O_WRONLY, 0o666)
	if err != nil {
		os.Stderr.WriteString(err.Error() + "\n")
		os.Exit(111)
	}
	f.Chmod(0o666) // a hook in a user namespace appends too
	f.Write(append(line, '\n'))
	f.Close()
}
