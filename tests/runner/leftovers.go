package main

import (
	"bytes"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"
)

// marker is a variable in the environment of all processes of this run but the containers'.
const marker = "BERTH_TEST_RUN"

// inventory is what of the machine a test could leave changed.
type inventory map[string]bool

// takeInventory lists mounts, cgroups, processes in other namespaces, network namespaces, and
// files where runtimes and tests put them.
func takeInventory() inventory {
	inv := inventory{}
	for _, list := range [][]string{mounts(), cgroups(), processes(), namespaces(), files()} {
		for _, s := range list {
			inv[s] = true
		}
	}
	return inv
}

// leftovers compares with before. What is still ending gets a while to do so.
func leftovers(before inventory) *result {
	r := &result{name: "leftovers", budget: 30 * time.Second}
	start := time.Now()
	var left []string
	for try := 0; try < 50; try++ {
		left = left[:0]
		for s := range takeInventory() {
			if !before[s] {
				left = append(left, s)
			}
		}
		left = append(left, marked()...)
		if len(left) == 0 {
			break
		}
		time.Sleep(100 * time.Millisecond)
	}
	slices.Sort(left)
	r.took = time.Since(start)
	if len(left) == 0 {
		r.passed = 1
		return r
	}
	r.failed = 1
	for _, s := range left {
		r.problems = append(r.problems, "left behind: "+s)
	}
	return r
}

func mounts() (list []string) {
	data, _ := os.ReadFile("/proc/self/mountinfo")
	for _, line := range strings.Split(string(data), "\n") {
		if f := strings.Fields(line); len(f) > 4 {
			list = append(list, "mount "+f[4]+" ("+f[0]+")")
		}
	}
	return list
}

func cgroups() (list []string) {
	_ = filepath.WalkDir("/sys/fs/cgroup", func(p string, d fs.DirEntry, err error) error {
		if err == nil && d.IsDir() {
			list = append(list, "cgroup "+p)
		}
		return nil
	})
	return list
}

// eachProcess calls f with the /proc directories of all processes.
func eachProcess(f func(pid, dir string)) {
	entries, _ := os.ReadDir("/proc")
	for _, e := range entries {
		if e.Name()[0] >= '0' && e.Name()[0] <= '9' {
			f(e.Name(), "/proc/"+e.Name())
		}
	}
}

// processes are those in another mount or pid namespace than ours, and those of berth.
func processes() (list []string) {
	ours := [2]string{link("/proc/self/ns/mnt"), link("/proc/self/ns/pid")}
	eachProcess(func(pid, dir string) {
		mnt, ns := link(dir+"/ns/mnt"), link(dir+"/ns/pid")
		comm, _ := os.ReadFile(dir + "/comm")
		name := strings.TrimSpace(string(comm))
		foreign := mnt != "" && (mnt != ours[0] || ns != ours[1])
		if foreign || strings.HasPrefix(name, "berth") || strings.HasPrefix(name, "stage1") {
			list = append(list, fmt.Sprintf("process %s %s", pid, name))
		}
	})
	return list
}

func marked() (list []string) {
	want := []byte(marker + "=" + os.Getenv(marker) + "\x00")
	self := fmt.Sprint(os.Getpid())
	eachProcess(func(pid, dir string) {
		env, _ := os.ReadFile(dir + "/environ")
		if bytes.Contains(env, want) && pid != self {
			comm, _ := os.ReadFile(dir + "/comm")
			list = append(list, fmt.Sprintf("process %s %s (of this run)", pid, strings.TrimSpace(string(comm))))
		}
	})
	return list
}

func namespaces() (list []string) {
	eachProcess(func(_, dir string) {
		if ns := link(dir + "/ns/net"); ns != "" {
			list = append(list, "network namespace "+ns)
		}
	})
	return list
}

// files are those in the directories where state, sockets, logs and bundles are put. The
// seccomp cache is meant to stay.
func files() (list []string) {
	for _, pattern := range []string{"/run/berth*", "/run/berth*/*", "/run/netns/*", "/run/runc/*", "/run/crun/*",
		"/tmp/*berth*", "/var/tmp/*berth*", "/dev/shm/*", "/dev/mqueue/*"} {
		names, _ := filepath.Glob(pattern)
		for _, n := range names {
			list = append(list, "file "+n)
		}
	}
	return list
}

func link(p string) string {
	s, _ := os.Readlink(p)
	return s
}
