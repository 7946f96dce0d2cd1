package seccomp

import (
	"bytes"
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"runtime"
	"sync/atomic"
	"testing"
	"time"
	"unsafe"

	"golang.org/x/sys/unix"
)

// What a filter does can't be undone, so it is tried in a throw-away process: this test program
// again, with a job in its environment.

const jobEnv = "BERTH_TEST_JOB"

// job is what the child does and, on its standard output, what came of it.
type job struct {
	Verb  string
	BPF   []byte
	Flags uint64
	Calls []call
	Text  string
}

type call struct {
	Nr   uintptr
	Args [6]uintptr
}

type outcome struct {
	Errnos  []int // of each call; -1: the thread was killed in it or before
	Kernel  uint64
	Image   string // what the helper was executed from
	Problem string
}

func TestMain(m *testing.M) {
	if text := os.Getenv(jobEnv); text != "" {
		var j job
		if err := json.Unmarshal([]byte(text), &j); err != nil {
			panic(err)
		}
		json.NewEncoder(os.Stdout).Encode(verbs[j.Verb](&j))
		os.Exit(0)
	}
	os.Exit(m.Run())
}

var verbs = map[string]func(*job) outcome{
	"calls":  callsJob,
	"kernel": kernelJob,
	"noexec": noexecJob,
}

// runJob returns the child's outcome and how it ended.
func runJob(t *testing.T, j *job, attr *unix.SysProcAttr) (outcome, error) {
	t.Helper()
	text, err := json.Marshal(j)
	if err != nil {
		t.Fatal(err)
	}
	cmd := exec.CommandContext(t.Context(), "/proc/self/exe")
	cmd.Env = append(os.Environ(), jobEnv+"="+string(text), "GODEBUG=asyncpreemptoff=1", "GOGC=off", "GORACE=atexit_sleep_ms=0")
	cmd.Stderr = os.Stderr
	cmd.SysProcAttr = attr
	out, ended := cmd.Output()
	var o outcome
	if ended == nil {
		if err := json.Unmarshal(out, &o); err != nil {
			t.Fatalf("%v: %s", err, out)
		}
	}
	return o, ended
}

// load puts the filter on the calling thread alone.
func load(j *job) error {
	runtime.LockOSThread()
	if err := unix.Prctl(unix.PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0); err != nil {
		return err
	}
	prog := unix.SockFprog{Len: uint16(len(j.BPF) / 8), Filter: (*unix.SockFilter)(unsafe.Pointer(&j.BPF[0]))}
	_, _, errno := unix.RawSyscall(unix.SYS_SECCOMP, unix.SECCOMP_SET_MODE_FILTER, uintptr(j.Flags), uintptr(unsafe.Pointer(&prog)))
	if errno != 0 {
		return errno
	}
	return nil
}

// callsJob makes the calls on a thread of their own and spins there afterwards, because nothing
// but them may be allowed; the first thread waits for it without a filter.
func callsJob(j *job) outcome {
	const loading, loaded, done = 0, 1, 2
	var state, tid atomic.Int32
	errnos := make([]atomic.Int32, len(j.Calls))
	for i := range errnos {
		errnos[i].Store(-1)
	}
	var problem error
	go func() {
		runtime.LockOSThread()
		tid.Store(int32(unix.Gettid()))
		if problem = load(j); problem != nil {
			state.Store(done)
			return
		}
		state.Store(loaded)
		for i := range j.Calls {
			c := &j.Calls[i]
			_, _, errno := unix.RawSyscall6(c.Nr, c.Args[0], c.Args[1], c.Args[2], c.Args[3], c.Args[4], c.Args[5])
			errnos[i].Store(int32(errno))
		}
		state.Store(done)
		//lint:ignore SA5002 the thread must not make another system call
		for {
		}
	}()
	for state.Load() != done && !(state.Load() == loaded && dead(int(tid.Load()))) {
		time.Sleep(time.Millisecond)
	}
	if problem != nil {
		return outcome{Problem: problem.Error()}
	}
	var o outcome
	for i := range errnos {
		o.Errnos = append(o.Errnos, int(errnos[i].Load()))
	}
	return o
}

// dead: a killed thread is gone, or a zombie if it was the first.
func dead(tid int) bool {
	stat, err := os.ReadFile(fmt.Sprintf("/proc/self/task/%d/stat", tid))
	return err != nil || bytes.Contains(stat, []byte(") Z "))
}

// kernelJob asks for the kernel's flags under the job's filter.
func kernelJob(j *job) outcome {
	if err := load(j); err != nil {
		return outcome{Problem: err.Error()}
	}
	return outcome{Kernel: kernelFlags()}
}

// noexecJob is PID 1 of a new pid namespace, whose vm.memfd_noexec it sets.
func noexecJob(j *job) outcome {
	if err := os.WriteFile("/proc/sys/vm/memfd_noexec", []byte(j.Text), 0); err != nil {
		return outcome{Problem: err.Error()}
	}
	file, err := helperFile()
	if err != nil {
		return outcome{Problem: err.Error()}
	}
	name, _ := os.Readlink(fmt.Sprintf("/proc/self/fd/%d", file.Fd()))
	if _, err := runHelper(nil, "version", ""); err != nil {
		return outcome{Problem: err.Error()}
	}
	return outcome{Image: name}
}
