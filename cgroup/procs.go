package cgroup

import (
	"errors"
	"syscall"
	"time"
)

// Procs lists the processes in the container's cgroup and the ones below it, as pids of the
// caller's pid namespace; 0 stands for one outside of it. A cgroup that is gone has none.
func (g *Group) Procs() ([]int, error) {
	d := g.main()
	if d == nil {
		return nil, nil
	}
	pids, err := d.procs()
	if err != nil && gone(err) {
		return nil, nil
	}
	return pids, err
}

// Exists tells whether the container has a cgroup now.
func (g *Group) Exists() bool {
	d := g.main()
	return d != nil && exists(d.path)
}

func (d *dir) procs() ([]int, error) { return procsBelow(nil, d.path) }

func procsBelow(pids []int, path string) ([]int, error) {
	text, err := readFile(path + "/cgroup.procs")
	if errors.Is(err, syscall.EOPNOTSUPP) {
		text, err = readFile(path + "/cgroup.threads") // a threaded cgroup has no processes of its own
	}
	if err != nil {
		return pids, err
	}
	pids = appendPids(pids, text)
	children, err := subgroups(path)
	if err != nil {
		return pids, err
	}
	for _, c := range children {
		if pids, err = procsBelow(pids, c); err != nil && !gone(err) {
			return pids, err
		}
	}
	return pids, nil
}

func appendPids(pids []int, text []byte) []int {
	n := 0
	for _, b := range text {
		if b == '\n' {
			pids = append(pids, n)
			n = 0
		} else if b >= '0' && b <= '9' {
			n = n*10 + int(b-'0')
		}
	}
	return pids
}

// killBound is how long Kill waits for killed processes to be gone.
const killBound = 10 * time.Second

// killFreezeBound is how long a signal waits for the cgroup to be frozen.
const killFreezeBound = 200 * time.Millisecond

// ErrStillAlive: processes that SIGKILL did not end in time, as those in an uninterruptible
// system call.
var ErrStillAlive = errors.New("processes are still there after SIGKILL")

// Kill sends sig to every process in the cgroup and below it, and for SIGKILL waits until none
// is left, which ends fork bombs as well; a frozen cgroup is thawed for SIGKILL. Without a
// cgroup there is nothing that SIGKILL has to end; another signal then gets ErrNoCgroup.
func (g *Group) Kill(sig syscall.Signal) error {
	d := g.main()
	if d == nil || !exists(d.path) {
		if sig == syscall.SIGKILL {
			return nil
		}
		return ErrNoCgroup
	}
	if sig != syscall.SIGKILL {
		return g.signal(d, sig)
	}
	// cgroup.kill (Linux 5.14) reaches all at one instant. In the mixed layout the cgroup2
	// directory need not hold all processes, so the loop below has the last word.
	if u := g.dir(""); u != nil && u.lost == nil {
		_ = writeAt(atFDCWD, u.path+"/cgroup.kill", "1")
	}
	until := time.Now().Add(killBound)
	for {
		if err := g.signal(d, sig); err != nil {
			return err
		}
		left, err := d.drained()
		if err != nil || left == 0 {
			return err
		}
		if time.Now().After(until) {
			return opError("kill "+itoa(left)+" processes of", d.path, ErrStillAlive)
		}
	}
}

// drained waits a short while for killed processes to be gone, and says how many are left.
func (d *dir) drained() (int, error) {
	for delay := 50 * time.Microsecond; ; delay *= 2 {
		pids, err := d.procs()
		if err != nil && gone(err) {
			return 0, nil
		}
		if err != nil || len(pids) == 0 || delay > 50*time.Millisecond {
			return len(pids), err
		}
		time.Sleep(delay)
	}
}

// signal goes once over the processes. They are frozen meanwhile: none can fork out of the
// list, and none can end and leave its pid to another.
func (g *Group) signal(d *dir, sig syscall.Signal) error {
	was, _ := g.Frozen()
	if !was {
		_ = g.freeze(killFreezeBound) // best effort: none without a freezer
	}
	pids, err := d.procs()
	if err == nil || gone(err) {
		err = nil
		for _, pid := range pids {
			if pid == 0 {
				continue // not of this pid namespace
			}
			if kerr := syscall.Kill(pid, sig); kerr != nil && kerr != syscall.ESRCH && err == nil {
				err = opError("kill", itoa(pid), kerr)
			}
		}
	}
	if !was || sig == syscall.SIGKILL {
		_ = g.Thaw()
	}
	return err
}
