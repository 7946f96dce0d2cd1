package main

import (
	"fmt"
	"os"
	"os/exec"
	"runtime"
	"strings"

	"golang.org/x/sys/unix"
)

// A machine is where the numbers were taken.
type machine struct {
	CPU     string `json:"cpu"`
	Cores   int    `json:"cores"`
	Kernel  string `json:"kernel"`
	Memory  string `json:"memory"`
	OS      string `json:"os"`
	Cgroups string `json:"cgroups"`
	State   string `json:"state"`       // file system of the state directories
	Load    string `json:"load_before"` // 1 minute
	After   string `json:"load_after"`
}

func describeMachine(e *env) machine {
	return machine{
		CPU:     cpuModel(),
		Cores:   runtime.NumCPU(),
		Kernel:  kernel(),
		Memory:  memory(),
		OS:      lineValue("/etc/os-release", "PRETTY_NAME=", "unknown"),
		Cgroups: cgroups(e),
		State:   fileSystem(e.state),
		Load:    load(),
	}
}

// lineValue returns what follows prefix in the first such line of a file.
func lineValue(path, prefix, otherwise string) string {
	data, err := os.ReadFile(path)
	if err != nil {
		return otherwise
	}
	for line := range strings.Lines(string(data)) {
		if rest, ok := strings.CutPrefix(line, prefix); ok {
			return strings.Trim(rest, "\t :\"\n")
		}
	}
	return otherwise
}

func cpuModel() string {
	model := lineValue("/proc/cpuinfo", "model name", runtime.GOARCH)
	if strings.Contains(lineValue("/proc/cpuinfo", "flags", ""), " hypervisor") {
		model += " (virtual machine)"
	}
	return model
}

func kernel() string {
	var u unix.Utsname
	if err := unix.Uname(&u); err != nil {
		return "unknown"
	}
	return unix.ByteSliceToString(u.Sysname[:]) + " " + unix.ByteSliceToString(u.Release[:])
}

func memory() string {
	var s unix.Sysinfo_t
	if err := unix.Sysinfo(&s); err != nil {
		return "unknown"
	}
	return fmt.Sprintf("%.1f GiB", float64(s.Totalram)*float64(s.Unit)/(1<<30))
}

func cgroups(e *env) string {
	if len(e.hierarchies) == 0 {
		return "v2"
	}
	return fmt.Sprintf("v1, %d hierarchies", len(e.hierarchies))
}

func fileSystem(path string) string {
	var s unix.Statfs_t
	if err := unix.Statfs(path, &s); err != nil {
		return "unknown"
	}
	names := map[int64]string{unix.EXT4_SUPER_MAGIC: "ext4", unix.TMPFS_MAGIC: "tmpfs", unix.BTRFS_SUPER_MAGIC: "btrfs", unix.XFS_SUPER_MAGIC: "xfs"}
	if name := names[int64(s.Type)]; name != "" {
		return name
	}
	return fmt.Sprintf("%#x", s.Type)
}

func load() string {
	data, err := os.ReadFile("/proc/loadavg")
	if err != nil {
		return "unknown"
	}
	return strings.Fields(string(data))[0]
}

// commit names the commit of the work tree at dir; "+" is added when files are changed
// that are not the benchmark's own output.
func commit(dir string) string {
	out, err := exec.Command("git", "-C", dir, "rev-parse", "--short=12", "HEAD").Output()
	if err != nil {
		return "unknown"
	}
	id := strings.TrimSpace(string(out))
	status, err := exec.Command("git", "-C", dir, "status", "--porcelain", "--", ":/",
		":(exclude,top)bench/results", ":(exclude,top)docs/performance.*").Output()
	if err != nil || len(status) > 0 {
		id += "+"
	}
	return id
}
