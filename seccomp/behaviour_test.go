package seccomp

import (
	"errors"
	"fmt"
	"os/exec"
	"reflect"
	"strings"
	"syscall"
	"testing"

	"golang.org/x/sys/unix"
)

func mustCompile(t *testing.T, profile string) *Filter {
	t.Helper()
	f, err := Compile([]byte(profile), Options{NoCache: true})
	if err != nil {
		t.Fatal(err)
	}
	return f
}

// calls loads the profile in a child and makes the calls there.
func calls(t *testing.T, profile string, list ...call) ([]int, error) {
	t.Helper()
	f := mustCompile(t, profile)
	o, ended := runJob(t, &job{Verb: "calls", BPF: f.BPF, Flags: f.Flags, Calls: list}, nil)
	if o.Problem != "" {
		t.Fatal(o.Problem)
	}
	return o.Errnos, ended
}

func wantErrnos(t *testing.T, got []int, ended error, want ...int) {
	t.Helper()
	if ended != nil || !reflect.DeepEqual(got, want) {
		t.Errorf("errnos %v (%v), want %v", got, ended, want)
	}
}

func TestDenyList(t *testing.T) {
	got, ended := calls(t, `{"defaultAction":"SCMP_ACT_ALLOW","flags":["SECCOMP_FILTER_FLAG_LOG","SECCOMP_FILTER_FLAG_SPEC_ALLOW"],
		"syscalls":[{"names":["getpgid"],"action":"SCMP_ACT_ERRNO"},{"names":["getsid"],"action":"SCMP_ACT_ERRNO","errnoRet":13},{"names":["getppid"],"action":"SCMP_ACT_LOG"}]}`,
		call{Nr: unix.SYS_GETPGID}, call{Nr: unix.SYS_GETSID}, call{Nr: unix.SYS_GETPID}, call{Nr: unix.SYS_GETPPID})
	wantErrnos(t, got, ended, int(unix.EPERM), int(unix.EACCES), 0, 0)
}

// Newer syscalls than the newest named (openat2, 437) do not exist; older ones get the default.
func TestNewerSyscallsAreENOSYS(t *testing.T) {
	const openat2, pidfdGetfd, processMadvise = 437, 438, 440
	rule := `,"syscalls":[{"names":["getpid","openat2"],"action":"SCMP_ACT_ALLOW"}]}`
	list := []call{{Nr: unix.SYS_GETPID}, {Nr: unix.SYS_GETPPID}, {Nr: openat2 - 1}, {Nr: pidfdGetfd}, {Nr: processMadvise}, {Nr: 5000}, {Nr: 1 << 20}}
	const no, perm, nxio = int(unix.ENOSYS), int(unix.EPERM), int(unix.ENXIO)
	got, ended := calls(t, `{"defaultAction":"SCMP_ACT_ERRNO"`+rule, list...)
	wantErrnos(t, got, ended, 0, perm, perm, no, no, no, no)
	got, ended = calls(t, `{"defaultAction":"SCMP_ACT_ERRNO","defaultErrnoRet":6`+rule, list...)
	wantErrnos(t, got, ended, 0, nxio, nxio, no, no, no, no)
	got, ended = calls(t, `{"defaultAction":"SCMP_ACT_KILL_PROCESS"`+rule, list[0], list[3], list[5])
	wantErrnos(t, got, ended, 0, no, no)
}

func TestKill(t *testing.T) {
	list := []call{{Nr: unix.SYS_GETPID}, {Nr: unix.SYS_GETPPID}, {Nr: unix.SYS_GETPID}}
	got, ended := calls(t, `{"defaultAction":"SCMP_ACT_ALLOW","syscalls":[{"names":["getppid"],"action":"SCMP_ACT_KILL_THREAD"}]}`, list...)
	wantErrnos(t, got, ended, 0, -1, -1)
	got, ended = calls(t, `{"defaultAction":"SCMP_ACT_ALLOW","syscalls":[{"names":["getppid"],"action":"SCMP_ACT_KILL"}]}`, list...)
	wantErrnos(t, got, ended, 0, -1, -1)
	_, ended = calls(t, `{"defaultAction":"SCMP_ACT_ALLOW","syscalls":[{"names":["getppid"],"action":"SCMP_ACT_KILL_PROCESS"}]}`, list...)
	var exit *exec.ExitError
	if !errors.As(ended, &exit) || exit.Sys().(syscall.WaitStatus).Signal() != unix.SIGSYS {
		t.Errorf("KILL_PROCESS: %v, want death by SIGSYS", ended)
	}
}

// TRACE without a tracer is ENOSYS (seccomp(2)).
func TestTrace(t *testing.T) {
	got, ended := calls(t, `{"defaultAction":"SCMP_ACT_ALLOW","syscalls":[{"names":["getppid"],"action":"SCMP_ACT_TRACE"}]}`, call{Nr: unix.SYS_GETPPID})
	wantErrnos(t, got, ended, int(unix.ENOSYS))
}

// Each operator, with values on both sides of 32 bits. The kernel knows no "which" but 0 to 2:
// EINVAL is what an allowed call gives, and 77 a denied one.
func TestOperators(t *testing.T) {
	const high = 1 << 32
	for _, c := range []struct {
		op         string
		value, two uint64
		match      []uint64
		other      []uint64
	}{
		{"SCMP_CMP_EQ", high + 5, 0, []uint64{high + 5}, []uint64{5, high, 2*high + 5}},
		{"SCMP_CMP_NE", high + 5, 0, []uint64{5, high + 6, 2*high + 5}, []uint64{high + 5}},
		{"SCMP_CMP_LT", high + 5, 0, []uint64{6, high + 4}, []uint64{high + 5, high + 6, 2 * high}},
		{"SCMP_CMP_LE", high + 5, 0, []uint64{6, high + 4, high + 5}, []uint64{high + 6, 2 * high}},
		{"SCMP_CMP_GT", high + 5, 0, []uint64{high + 6, 2 * high}, []uint64{6, high + 4, high + 5}},
		{"SCMP_CMP_GE", high + 5, 0, []uint64{high + 5, high + 6, 2 * high}, []uint64{6, high + 4}},
		{"SCMP_CMP_MASKED_EQ", high | 0xf0, high | 0x20, []uint64{high | 0x20, high | 0x1f2f}, []uint64{0x20, high | 0x30, high}},
	} {
		t.Run(c.op, func(t *testing.T) {
			var list []call
			var want []int
			for _, v := range c.match {
				list, want = append(list, call{unix.SYS_GETPRIORITY, [6]uintptr{9, uintptr(v)}}), append(want, 77)
			}
			for _, v := range c.other {
				list, want = append(list, call{unix.SYS_GETPRIORITY, [6]uintptr{9, uintptr(v)}}), append(want, int(unix.EINVAL))
			}
			got, ended := calls(t, fmt.Sprintf(`{"defaultAction":"SCMP_ACT_ALLOW","syscalls":[{"names":["getpriority"],"action":"SCMP_ACT_ERRNO","errnoRet":77,
				"args":[{"index":1,"value":%d,"valueTwo":%d,"op":"%s"}]}]}`, c.value, c.two, c.op), list...)
			wantErrnos(t, got, ended, want...)
		})
	}
}

// Conditions on different arguments must all hold; on one argument, any.
func TestConditions(t *testing.T) {
	deny := `{"defaultAction":"SCMP_ACT_ALLOW","syscalls":[{"names":["getpriority"],"action":"SCMP_ACT_ERRNO","errnoRet":77,"args":[%s]}]}`
	two := func(a, b uintptr) call { return call{unix.SYS_GETPRIORITY, [6]uintptr{a, b}} }
	got, ended := calls(t, fmt.Sprintf(deny, `{"index":0,"value":8,"op":"SCMP_CMP_EQ"},{"index":1,"value":9,"op":"SCMP_CMP_EQ"}`), two(8, 9), two(8, 1), two(7, 9))
	wantErrnos(t, got, ended, 77, int(unix.EINVAL), int(unix.EINVAL))
	got, ended = calls(t, fmt.Sprintf(deny, `{"index":0,"value":8,"op":"SCMP_CMP_EQ"},{"index":0,"value":9,"op":"SCMP_CMP_EQ"}`), two(8, 1), two(9, 1), two(7, 1))
	wantErrnos(t, got, ended, 77, 77, int(unix.EINVAL))
}

func TestKernelFlags(t *testing.T) {
	const listener, killable = unix.SECCOMP_FILTER_FLAG_NEW_LISTENER, flagWaitKillableRecv
	// A kernel without some flags is played by a filter that refuses them as the kernel would.
	without := func(flags, errno int) string {
		return fmt.Sprintf(`{"defaultAction":"SCMP_ACT_ALLOW","flags":[],"syscalls":[{"names":["seccomp"],"action":"SCMP_ACT_ERRNO","errnoRet":%d,
			"args":[{"index":1,"value":%d,"valueTwo":%d,"op":"SCMP_CMP_MASKED_EQ"}]}]}`, errno, flags, flags)
	}
	here := kernelFlags()
	if here&(listener|unix.SECCOMP_FILTER_FLAG_LOG) == 0 {
		t.Fatalf("this kernel: %#x", here)
	}
	for _, c := range []struct {
		profile string
		want    uint64
	}{
		{without(killable, int(unix.EINVAL)), here &^ killable},
		{without(listener, int(unix.EINVAL)), here &^ (listener | killable)},
		{without(0, int(unix.EPERM)), 0},
	} {
		f := mustCompile(t, c.profile)
		o, err := runJob(t, &job{Verb: "kernel", BPF: f.BPF, Flags: f.Flags}, nil)
		if err != nil || o.Problem != "" || o.Kernel != c.want {
			t.Errorf("%+v, %v, want %#x", o, err, c.want)
		}
	}
}

// The sysctl belongs to the pid namespace: the machine's stays as it is.
func TestMemfdNoexec(t *testing.T) {
	for setting, want := range map[string]string{"0": "/memfd:berth-helper", "1": "/memfd:berth-helper", "2": "/run/#"} {
		o, err := runJob(t, &job{Verb: "noexec", Text: setting}, &unix.SysProcAttr{Cloneflags: unix.CLONE_NEWPID})
		if err != nil || o.Problem != "" || !strings.HasPrefix(o.Image, want) {
			t.Errorf("vm.memfd_noexec=%s: %+v, %v, want an image in %s", setting, o, err, want)
		}
	}
}

func TestHelperIsSealed(t *testing.T) {
	file, err := helperFile()
	if err != nil {
		t.Fatal(err)
	}
	defer file.Close()
	if _, err := file.WriteAt([]byte("x"), 0); !errors.Is(err, unix.EPERM) {
		t.Errorf("write: %v", err)
	}
	if err := file.Truncate(0); !errors.Is(err, unix.EPERM) {
		t.Errorf("truncate: %v", err)
	}
}

func TestProfileError(t *testing.T) {
	_, err := Compile([]byte(`{"defaultAction":"SCMP_ACT_ALLOW","syscalls":[{"names":["read"],"action":"no"}]}`), Options{NoCache: true})
	var bad *ProfileError
	if !errors.As(err, &bad) || bad.Path != "linux.seccomp.syscalls[0].action" || bad.Reason != `unknown action "no"` {
		t.Errorf("%#v", err)
	}
}

func TestCheckNotify(t *testing.T) {
	f := mustCompile(t, `{"defaultAction":"SCMP_ACT_ALLOW","syscalls":[{"names":["mkdir","chdir"],"action":"SCMP_ACT_NOTIFY"}]}`)
	if err := CheckNotify(f, []string{"execve", "close"}); err != nil {
		t.Error(err)
	}
	if err := CheckNotify(f, []string{"execve", "chdir"}); err == nil || !strings.Contains(err.Error(), "SCMP_ACT_NOTIFY on chdir") {
		t.Error(err)
	}
}

func TestVersionAndFeatures(t *testing.T) {
	out, err := runHelper(nil, "version", "")
	if err != nil || strings.TrimSpace(string(out)) != Version() {
		t.Errorf("the helper has libseccomp %s (%v), the build says %s", out, err, Version())
	}
	features, err := Features()
	if err != nil || !strings.Contains(string(features), `"SCMP_ACT_NOTIFY"`) || !strings.Contains(string(features), `"supportedFlags":["SECCOMP_FILTER_FLAG_TSYNC"`) {
		t.Errorf("%s, %v", features, err)
	}
}
