//go:build cgo && seccomp

package main

import (
	"bytes"
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"runtime"
	"strings"
	"testing"
	"time"

	"berth/seccomp/wire"

	"github.com/opencontainers/runc/libcontainer/configs"
	"github.com/opencontainers/runc/libcontainer/seccomp"
	"golang.org/x/sys/unix"
)

// allFlags is what a kernel since 5.19 answers.
const allFlags = 0x3f

// The reference is libcontainer itself. Its one exported entry loads the filter, so a throw-away
// process loads it into one of its threads, and the program is read back by ptrace(2).

const childEnv = "BERTH_TEST_LOAD_CONFIG"

func TestMain(m *testing.M) {
	if config := os.Getenv(childEnv); config != "" {
		loadByLibcontainer(config)
	}
	os.Exit(m.Run())
}

// loadByLibcontainer never returns: under a strict filter the thread must not make another
// system call, so it spins until the parent kills the process.
func loadByLibcontainer(text string) {
	var config configs.Seccomp
	if err := json.Unmarshal([]byte(text), &config); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
	runtime.LockOSThread()
	fmt.Println(unix.Gettid())
	if _, err := seccomp.InitSeccomp(&config); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
	//lint:ignore SA5002 the thread must not make another system call
	for {
	}
}

// runcProgram returns the program that libcontainer loads for config.
func runcProgram(t *testing.T, config []byte) []byte {
	t.Helper()
	cmd := exec.Command("/proc/self/exe")
	cmd.Env = append(os.Environ(), childEnv+"="+string(config), "GODEBUG=asyncpreemptoff=1", "GOGC=off")
	var errs bytes.Buffer
	cmd.Stderr = &errs
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	defer func() {
		cmd.Process.Kill()
		cmd.Wait()
	}()
	var tid int
	if _, err := fmt.Fscan(out, &tid); err != nil {
		t.Fatal(err, errs.String())
	}
	waitFiltered(t, cmd.Process.Pid, tid, &errs)
	return readBack(t, tid)
}

func waitFiltered(t *testing.T, pid, tid int, errs *bytes.Buffer) {
	t.Helper()
	for deadline := time.Now().Add(20 * time.Second); time.Now().Before(deadline); time.Sleep(time.Millisecond) {
		status, err := os.ReadFile(fmt.Sprintf("/proc/%d/task/%d/status", pid, tid))
		if err != nil {
			t.Fatal(err, errs.String())
		}
		if strings.Contains(string(status), "\nSeccomp:\t2\n") {
			return
		}
	}
	t.Fatal("no filter was loaded: ", errs.String())
}

func readBack(t *testing.T, tid int) []byte {
	t.Helper()
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	if err := unix.PtraceSeize(tid); err != nil {
		t.Fatal("ptrace seize: ", err)
	}
	if err := unix.PtraceInterrupt(tid); err != nil {
		t.Fatal("ptrace interrupt: ", err)
	}
	if _, err := unix.Wait4(tid, nil, unix.WALL, nil); err != nil {
		t.Fatal("wait: ", err)
	}
	defer unix.PtraceDetach(tid)
	insns := make([]unix.SockFilter, wire.MaxInsns)
	n, err := getFilter(tid, insns)
	if err != nil {
		t.Fatal("PTRACE_SECCOMP_GET_FILTER (needs CAP_SYS_ADMIN and CONFIG_CHECKPOINT_RESTORE): ", err)
	}
	return encode(insns[:n])
}

// profiles are the shapes that people use and the corners of the ENOSYS stub. A %N stands for
// this machine's own architecture.
var profiles = map[string]string{
	"default only":    `{"defaultAction":"SCMP_ACT_ERRNO"}`,
	"one, number 0":   `{"defaultAction":"SCMP_ACT_ERRNO","syscalls":[{"names":["%0"],"action":"SCMP_ACT_ALLOW"}]}`,
	"no architecture": `{"defaultAction":"SCMP_ACT_ERRNO","syscalls":[{"names":["read","openat2"],"action":"SCMP_ACT_ALLOW"}]}`,
	"native":          `{"defaultAction":"SCMP_ACT_ERRNO","architectures":["%N"],"syscalls":[{"names":["read","openat2"],"action":"SCMP_ACT_ALLOW"}]}`,
	"kill":            `{"defaultAction":"SCMP_ACT_KILL","syscalls":[{"names":["exit_group"],"action":"SCMP_ACT_ALLOW"},{"names":["mkdirat"],"action":"SCMP_ACT_KILL_THREAD"}]}`,
	"kill process":    `{"defaultAction":"SCMP_ACT_KILL_PROCESS","syscalls":[{"names":["exit_group"],"action":"SCMP_ACT_ALLOW"}]}`,
	"trap":            `{"defaultAction":"SCMP_ACT_TRAP","syscalls":[{"names":["exit_group"],"action":"SCMP_ACT_ALLOW"}]}`,
	"default log":     `{"defaultAction":"SCMP_ACT_LOG","syscalls":[{"names":["mkdirat"],"action":"SCMP_ACT_KILL"}]}`,
	"default trace":   `{"defaultAction":"SCMP_ACT_TRACE","defaultErrnoRet":7,"syscalls":[{"names":["mkdirat"],"action":"SCMP_ACT_KILL"}]}`,
	"default ENXIO":   `{"defaultAction":"SCMP_ACT_ERRNO","defaultErrnoRet":6,"syscalls":[{"names":["read"],"action":"SCMP_ACT_ALLOW"}]}`,
	"default ENOSYS":  `{"defaultAction":"SCMP_ACT_ERRNO","defaultErrnoRet":38,"syscalls":[{"names":["mount","bpf"],"action":"SCMP_ACT_ERRNO","errnoRet":1},{"names":["read"],"action":"SCMP_ACT_ALLOW"}]}`,
	"like default":    `{"defaultAction":"SCMP_ACT_ERRNO","syscalls":[{"names":["mount"],"action":"SCMP_ACT_ERRNO","errnoRet":1},{"names":["bpf"],"action":"SCMP_ACT_ERRNO","errnoRet":2}]}`,
	"deny list":       `{"defaultAction":"SCMP_ACT_ALLOW","architectures":["SCMP_ARCH_AARCH64","SCMP_ARCH_ARM"],"syscalls":[{"names":["mkdir","mkdirat"],"action":"SCMP_ACT_ERRNO"}]}`,
	"foreign":         `{"defaultAction":"SCMP_ACT_ERRNO","architectures":["SCMP_ARCH_AARCH64","SCMP_ARCH_ARM"],"syscalls":[{"names":["mkdir","mkdirat","clone3"],"action":"SCMP_ACT_ALLOW"}]}`,
	"unknown names":   `{"defaultAction":"SCMP_ACT_ERRNO","syscalls":[{"names":["nosuchcall","read","write","nosuch2"],"action":"SCMP_ACT_ALLOW"}]}`,
	"no rule at all":  `{"defaultAction":"SCMP_ACT_ERRNO","syscalls":[{"names":["nosuchcall"],"action":"SCMP_ACT_ALLOW"}]}`,
	"trace and log":   `{"defaultAction":"SCMP_ACT_ERRNO","syscalls":[{"names":["read"],"action":"SCMP_ACT_TRACE"},{"names":["write"],"action":"SCMP_ACT_TRACE","errnoRet":99},{"names":["openat2"],"action":"SCMP_ACT_LOG"}]}`,
	"notify":          `{"defaultAction":"SCMP_ACT_ALLOW","listenerPath":"/run/agent","listenerMetadata":"m","syscalls":[{"names":["mkdirat"],"action":"SCMP_ACT_NOTIFY"}]}`,
	"flags":           `{"defaultAction":"SCMP_ACT_ERRNO","flags":["SECCOMP_FILTER_FLAG_LOG","SECCOMP_FILTER_FLAG_SPEC_ALLOW","SECCOMP_FILTER_FLAG_TSYNC"],"syscalls":[{"names":["read"],"action":"SCMP_ACT_ALLOW"}]}`,
	"no flags":        `{"defaultAction":"SCMP_ACT_ERRNO","flags":[],"syscalls":[{"names":["read"],"action":"SCMP_ACT_ALLOW"}]}`,
	"32 names":        manyNames(32),
	"33 names":        manyNames(33),
	"operators": `{"defaultAction":"SCMP_ACT_ERRNO","syscalls":[{"names":["read"],"action":"SCMP_ACT_ALLOW","args":[
		{"index":0,"value":1,"op":"SCMP_CMP_NE"},{"index":1,"value":4294967297,"op":"SCMP_CMP_LT"},{"index":2,"value":3,"op":"SCMP_CMP_LE"},
		{"index":3,"value":4,"op":"SCMP_CMP_EQ"},{"index":4,"value":5,"op":"SCMP_CMP_GE"},{"index":5,"value":6,"op":"SCMP_CMP_GT"}]},
		{"names":["clone"],"action":"SCMP_ACT_ALLOW","args":[{"index":0,"value":2114060288,"valueTwo":0,"op":"SCMP_CMP_MASKED_EQ"}]}]}`,
	"one argument twice": `{"defaultAction":"SCMP_ACT_ERRNO","syscalls":[{"names":["personality"],"action":"SCMP_ACT_ALLOW","args":[
		{"index":0,"value":0,"op":"SCMP_CMP_EQ"},{"index":0,"value":8,"op":"SCMP_CMP_EQ"},{"index":1,"value":8,"op":"SCMP_CMP_EQ"}]}]}`,
}

func manyNames(n int) string {
	names := strings.Fields(`openat close fstat lseek mmap mprotect munmap brk rt_sigaction rt_sigprocmask ioctl pread64 pwrite64
		readv writev sched_yield mremap msync mincore madvise dup nanosleep getpid socket connect accept sendto recvfrom
		sendmsg recvmsg shutdown bind listen getsockname getpeername`)[:n]
	return `{"defaultAction":"SCMP_ACT_ERRNO","syscalls":[{"names":["` + strings.Join(names, `","`) + `"],"action":"SCMP_ACT_ALLOW"}]}`
}

// x86Profiles have the three ABIs of x86_64, in all the combinations that the stub knows.
var x86Profiles = map[string]string{
	"three ABIs":  `{"defaultAction":"SCMP_ACT_ERRNO","architectures":["SCMP_ARCH_X86_64","SCMP_ARCH_X86","SCMP_ARCH_X32"],"syscalls":[{"names":["read","openat2"],"action":"SCMP_ACT_ALLOW"}]}`,
	"x32 alone":   `{"defaultAction":"SCMP_ACT_ERRNO","architectures":["SCMP_ARCH_X32"],"syscalls":[{"names":["read"],"action":"SCMP_ACT_ALLOW"}]}`,
	"x32 and x86": `{"defaultAction":"SCMP_ACT_KILL","architectures":["SCMP_ARCH_X32","SCMP_ARCH_X86"],"syscalls":[{"names":["read"],"action":"SCMP_ACT_ALLOW"}]}`,
	"no x32":      `{"defaultAction":"SCMP_ACT_ERRNO","architectures":["SCMP_ARCH_X86","SCMP_ARCH_X86_64"],"syscalls":[{"names":["read","socket","openat2"],"action":"SCMP_ACT_ALLOW"}]}`,
	"five": `{"defaultAction":"SCMP_ACT_ERRNO","architectures":["SCMP_ARCH_X86","SCMP_ARCH_X32","SCMP_ARCH_X86_64","SCMP_ARCH_AARCH64","SCMP_ARCH_ARM"],
		"syscalls":[{"names":["mkdir","mkdirat"],"action":"SCMP_ACT_ALLOW"}]}`,
	"empty section": `{"defaultAction":"SCMP_ACT_ERRNO","architectures":["SCMP_ARCH_X86","SCMP_ARCH_AARCH64"],"syscalls":[{"names":["arch_prctl"],"action":"SCMP_ACT_ALLOW"}]}`,
}

func TestProgramsAreRuncs(t *testing.T) {
	all := map[string]string{}
	for name, text := range profiles {
		all[name] = localize(text)
	}
	docker, err := os.ReadFile("../seccomp/testdata/docker.json")
	if err != nil {
		t.Fatal(err)
	}
	all["docker"] = string(docker)
	if runtime.GOARCH == "amd64" {
		for name, text := range x86Profiles {
			all[name] = text
		}
	}
	for name, text := range all {
		t.Run(name, func(t *testing.T) { compareWithRunc(t, text) })
	}
}

func localize(profile string) string {
	native, zero := "SCMP_ARCH_X86_64", "read"
	if runtime.GOARCH == "arm64" {
		native, zero = "SCMP_ARCH_AARCH64", "io_setup"
	}
	return strings.NewReplacer("%N", native, "%0", zero).Replace(profile)
}

func compareWithRunc(t *testing.T, profile string) {
	ours, err := compile([]byte(profile), allFlags)
	if err != nil {
		t.Fatal(err)
	}
	theirs := runcProgram(t, ours.Config)
	if len(theirs) != len(ours.BPF) {
		t.Fatalf("%d instructions, runc has %d", len(ours.BPF)/wire.InsnSize, len(theirs)/wire.InsnSize)
	}
	// runc's order of architectures in the stub is random (it ranges over a map): its program
	// has to be ours in one of all orders, instruction by instruction.
	if !matchesSomeOrder(t, ours, theirs) {
		t.Errorf("differs from runc's:\n%s", diff(ours.BPF, theirs))
	}
	compareAnswers(t, ours.BPF, theirs)
}

func matchesSomeOrder(t *testing.T, f *wire.Filter, theirs []byte) bool {
	var config configs.Seccomp
	if err := json.Unmarshal(f.Config, &config); err != nil {
		t.Fatal(err)
	}
	if !needsStub(&config) {
		return bytes.Equal(f.BPF, theirs)
	}
	sections, err := stubSections(&config)
	if err != nil {
		t.Fatal(err)
	}
	first, err := stub(sections, permutations(len(sections))[0])
	if err != nil {
		t.Fatal(err)
	}
	body := f.BPF[len(first)*wire.InsnSize:]
	for _, order := range permutations(len(sections)) {
		ordered := make([]section, len(sections))
		for i, j := range order {
			ordered[i] = sections[j]
		}
		for _, jumps := range permutations(len(sections)) {
			insns, err := stub(ordered, jumps)
			if err != nil {
				t.Fatal(err)
			}
			if bytes.Equal(append(encode(insns), body...), theirs) {
				return true
			}
		}
	}
	return false
}

func permutations(n int) [][]int {
	if n == 0 {
		return [][]int{{}}
	}
	var all [][]int
	for _, p := range permutations(n - 1) {
		for i := n - 1; i >= 0; i-- {
			q := append([]int{}, p[:i]...)
			all = append(all, append(append(q, n-1), p[i:]...))
		}
	}
	return all
}

func diff(a, b []byte) string {
	var s strings.Builder
	for i := 0; i < len(a) && i < len(b); i += wire.InsnSize {
		if x, y := a[i:i+wire.InsnSize], b[i:i+wire.InsnSize]; !bytes.Equal(x, y) {
			fmt.Fprintf(&s, "%4d: %x, runc %x\n", i/wire.InsnSize, x, y)
		}
	}
	return s.String()
}
