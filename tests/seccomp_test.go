package tests

import (
	"fmt"
	"os/exec"
	"strings"
	"testing"

	"github.com/opencontainers/runtime-spec/specs-go"
)

// profile denies some syscalls; errno makes it one that no cache has seen.
func profile(errno uint, names ...string) mod {
	return func(s *specs.Spec) {
		s.Linux.Seccomp = &specs.LinuxSeccomp{DefaultAction: specs.ActAllow, Architectures: []specs.Arch{specs.ArchX86_64, specs.ArchX86, specs.ArchX32, specs.ArchAARCH64, specs.ArchARM},
			Syscalls: []specs.LinuxSyscall{{Names: names, Action: specs.ActErrno, ErrnoRet: &errno}}}
	}
}

func TestSeccomp(t *testing.T) {
	w := newWorld(t)
	out := w.output(w.bundle(sh("cat /proc/self/status; mkdir /tmp/x; umask; hostname x; echo end"), writable, profile(13, "mkdir", "mkdirat", "sethostname")))
	expect(w, "Seccomp", field(out, "Seccomp"), "2")
	expect(w, "NoNewPrivs", field(out, "NoNewPrivs"), "1")
	r := w.runs(w.bundle(sh("mkdir /tmp/x"), writable, profile(13, "mkdir", "mkdirat")))
	holds(w, "mkdir under the filter", r.err, "Permission denied")
	r = w.runs(w.bundle(sh("mkdir /tmp/x"), writable, profile(1, "mkdir", "mkdirat")))
	holds(w, "mkdir under the filter", r.err, "Operation not permitted")
}

// Without no_new_privileges the filter is loaded while privileged, and the rest still works.
func TestSeccompWithoutNoNewPrivileges(t *testing.T) {
	w := newWorld(t)
	r := w.runs(w.bundle(sh("cat /proc/self/status; mkdir /tmp/x || echo refused"), writable, profile(1, "mkdir", "mkdirat"), user(1000, 1000),
		func(s *specs.Spec) { s.Process.NoNewPrivileges = false })).ok()
	expect(w, "Seccomp", field(r.out, "Seccomp"), "2")
	expect(w, "NoNewPrivs", field(r.out, "NoNewPrivs"), "0")
	holds(w, "mkdir", r.out, "refused")
}

// A profile that allows a list: what it names works, others are EPERM, and syscalls newer than
// anything it knows are ENOSYS.
func TestSeccompUnknownSyscalls(t *testing.T) {
	w := newWorld(t)
	allow := func(s *specs.Spec) {
		s.Linux.Seccomp = dockerLike()
	}
	out := w.output(w.bundle(args("/bin/probe", "syscall", "100000", "5000", "520", "999", "172"), allow))
	for _, n := range []string{"5000", "999"} {
		holds(w, "a syscall of the future", out, n+": ENOSYS")
	}
	holds(w, "iopl, known and not allowed", out, "172: EPERM")
}

// dockerLike is a deny-by-default profile of the usual size.
func dockerLike() *specs.LinuxSeccomp {
	names := strings.Fields(`accept accept4 access alarm arch_prctl bind brk capget capset chdir chmod chown chroot clock_getres clock_gettime
		clock_nanosleep clone clone3 close close_range connect copy_file_range creat dup dup2 dup3 epoll_create epoll_create1 epoll_ctl
		epoll_pwait epoll_pwait2 epoll_wait eventfd eventfd2 execve execveat exit exit_group faccessat faccessat2 fadvise64 fallocate
		fchdir fchmod fchmodat fchown fchownat fcntl fdatasync flock fork fstat fstatfs fsync ftruncate futex getcwd getdents getdents64
		getegid geteuid getgid getgroups getitimer getpeername getpgid getpgrp getpid getppid getpriority getrandom getresgid getresuid
		getrlimit get_robust_list getrusage getsid getsockname getsockopt get_thread_area gettid gettimeofday getuid getxattr
		inotify_add_watch inotify_init1 inotify_rm_watch ioctl kill lchown link linkat listen lseek lstat madvise membarrier memfd_create
		mincore mkdir mkdirat mknod mknodat mlock mmap mprotect mremap msync munlock munmap nanosleep newfstatat open openat openat2 pause
		pidfd_open pidfd_send_signal pipe pipe2 poll ppoll prctl pread64 preadv prlimit64 pselect6 pwrite64 pwritev read readahead readlink
		readlinkat readv recvfrom recvmmsg recvmsg rename renameat renameat2 restart_syscall rmdir rseq rt_sigaction rt_sigpending
		rt_sigprocmask rt_sigqueueinfo rt_sigreturn rt_sigsuspend rt_sigtimedwait sched_getaffinity sched_yield seccomp select sendfile
		sendmmsg sendmsg sendto setfsgid setfsuid setgid setgroups setitimer setpgid setpriority setregid setresgid setresuid setreuid
		setrlimit set_robust_list setsid setsockopt set_thread_area set_tid_address setuid shutdown sigaltstack socket socketpair splice
		stat statfs statx symlink symlinkat sync tee tgkill time timer_create times tkill truncate umask uname unlink unlinkat utime
		utimensat utimes vfork wait4 waitid waitpid write writev`)
	errno := uint(1)
	return &specs.LinuxSeccomp{DefaultAction: specs.ActErrno, DefaultErrnoRet: &errno, Architectures: []specs.Arch{specs.ArchX86_64, specs.ArchX86, specs.ArchX32, specs.ArchAARCH64},
		Syscalls: []specs.LinuxSyscall{{Names: names, Action: specs.ActAllow},
			{Names: []string{"personality"}, Action: specs.ActAllow, Args: []specs.LinuxSeccompArg{{Index: 0, Value: 0, Op: specs.OpEqualTo}}}}}
}

func TestSeccompDockerSize(t *testing.T) {
	w := newWorld(t)
	for range 2 {
		out := w.output(w.bundle(sh("echo hello; ls / >/dev/null && echo listed; mount -t tmpfs x /tmp || echo no mount"), caps("CAP_SYS_ADMIN"),
			func(s *specs.Spec) { s.Linux.Seccomp = dockerLike() }))
		expect(w, "under a profile of the usual size", out, "hello\nlisted\nno mount\n")
	}
}

// A second create with the same profile neither parses nor compiles it: no second program runs.
func TestSeccompCache(t *testing.T) {
	w := newSerialWorld(t)
	execs := func(b *bundle) int {
		trace := fmt.Sprintf("%s/trace%d", w.dir, w.n)
		c := w.rt("run", "--bundle", b.dir, w.id())
		c.prefix = []string{"strace", "-f", "-qq", "-e", "trace=execve,execveat", "-e", "signal=none", "-o", trace}
		c.ok()
		return strings.Count(w.read(trace), "= 0\n")
	}
	if _, err := exec.LookPath("strace"); err != nil {
		t.Fatal(err)
	}
	none := execs(w.bundle())
	b := w.bundle(profile(uint(w.n%100)+uint(len(w.mark)), "mkdir", "rmdir", fmt.Sprint("no_such_syscall_", w.mark)))
	first, second := execs(b), execs(b)
	expect(w, "programs that a create with a cached profile runs, above none", second-none, 0)
	if first <= second {
		t.Errorf("a create with a new profile ran %d programs, with a known one %d", first, second)
	}
	third := execs(w.bundle(func(s *specs.Spec) { s.Linux.Seccomp = b.spec.Linux.Seccomp }))
	expect(w, "another bundle with the profile", third, second)
}

func TestSeccompErrors(t *testing.T) {
	w := newWorld(t)
	for name, change := range map[string]func(*specs.LinuxSeccomp){
		"action":   func(s *specs.LinuxSeccomp) { s.DefaultAction = "SCMP_ACT_NOSUCH" },
		"arch":     func(s *specs.LinuxSeccomp) { s.Architectures = []specs.Arch{"SCMP_ARCH_NOSUCH"} },
		"operator": func(s *specs.LinuxSeccomp) { s.Syscalls[0].Args = []specs.LinuxSeccompArg{{Op: "SCMP_CMP_NOSUCH"}} },
		"flag":     func(s *specs.LinuxSeccomp) { s.Flags = []specs.LinuxSeccompFlag{"SECCOMP_FILTER_FLAG_NOSUCH"} },
	} {
		_, r := w.tryCreate(w.bundle(profile(1, "mkdir"), func(s *specs.Spec) { change(s.Linux.Seccomp) }))
		if r.code == 0 {
			t.Errorf("%s: accepted", name)
			continue
		}
		r.fails("NOSUCH")
	}
	// Names of syscalls that this machine does not have are passed over, as runc's.
	w.output(w.bundle(profile(1, "no_such_syscall", "mkdir")))
}
