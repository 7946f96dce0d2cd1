package container

import (
	"fmt"
	"io"
	"os"
	"runtime"
	"strconv"
	"strings"
	"sync/atomic"
	"syscall"
	"time"

	"berth/plan"
	"berth/specjson"
	"github.com/opencontainers/runtime-spec/specs-go"
	"golang.org/x/sys/unix"
)

// hookOutputMax is how much of a hook's output goes into its error.
const hookOutputMax = 4096

// ociState is the state of the container as hooks and `state` see it (runtime.md, "State").
func ociState(id, version, bundle string, status Status, pid int, annotations map[string]string) *specs.State {
	return &specs.State{Version: version, ID: id, Status: specs.ContainerState(status), Pid: pid, Bundle: bundle, Annotations: annotations}
}

// hookState is the same for a container on its way, as JSON, with the pid that the hook's pid
// namespace knows init by (runtime.md, "State").
func (c *creation) hookState(status Status, pid int) []byte {
	s := ociState(c.req.ID, c.rec.OCIVersion, c.rec.Bundle, status, pid, c.rec.Annotations)
	return specjson.AppendState(nil, s)
}

// innerPid is init's pid as the container sees it: the last of NSpid in /proc/PID/status.
func (c *creation) innerPid() (int, error) {
	if c.plan.NewPID {
		return 1, nil
	}
	name := "/proc/" + itoa(c.init.Pid) + "/status"
	fd, err := unix.Open(name, unix.O_RDONLY|unix.O_CLOEXEC, 0)
	if err != nil {
		return 0, wrap("open", name, err)
	}
	defer unix.Close(fd)
	text, err := readAll(fd, 64<<10)
	if err != nil {
		return 0, wrap("read", name, err)
	}
	for line := range strings.Lines(string(text)) {
		if pids, ok := strings.CutPrefix(line, "NSpid:"); ok {
			f := strings.Fields(pids)
			return strconv.Atoi(f[len(f)-1])
		}
	}
	return c.init.Pid, nil
}

// runtimeHooks runs prestart and createRuntime, in this order, in the runtime's namespaces.
func (c *creation) runtimeHooks() error {
	h, state := c.bundle.spec.Hooks, c.hookState(StatusCreating, c.init.Pid)
	//nolint:staticcheck // prestart is deprecated, and still has to run.
	if err := runHooks("prestart", h.Prestart, state, c.rec.Bundle); err != nil {
		return err
	}
	return runHooks("createRuntime", h.CreateRuntime, state, c.rec.Bundle)
}

// runPoststop: the container is destroyed. A hook that fails is a warning, and the next one
// runs all the same.
func (c *creation) runPoststop() {
	if c.rec.Hooks == nil || len(c.rec.Hooks.Poststop) == 0 {
		return
	}
	poststop(c.rec.Hooks, c.hookState(StatusStopped, 0), c.rec.Bundle, c.req.Warn)
}

func poststop(h *specs.Hooks, state []byte, dir string, warn func(string)) {
	for i := range h.Poststop {
		if err := runHook("poststop", i, &h.Poststop[i], state, dir); err != nil {
			warn(err.Error())
		}
	}
}

// runHooks runs hooks one after the other; the first that fails ends it.
func runHooks(kind string, list []specs.Hook, state []byte, dir string) error {
	for i := range list {
		if err := runHook(kind, i, &list[i], state, dir); err != nil {
			return err
		}
	}
	return nil
}

// runHook runs one hook: the state on its standard input, its output kept for the error,
// exactly the environment of the config, killed with its process group after its timeout.
func runHook(kind string, i int, h *specs.Hook, state []byte, dir string) error {
	// The hook ends with the thread that started it: with berth, if that is killed.
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	fail := func(reason, output string) error {
		return &plan.HookError{What: fmt.Sprintf("run %s hook #%d %s", kind, i, h.Path),
			Field: fmt.Sprintf("hooks.%s[%d]", kind, i), Reason: reason, Output: output}
	}
	p, in, out, err := startHook(h, dir)
	if err != nil {
		return fail(unwrapPath(err).Error(), "")
	}
	go func() {
		in.Write(state) // a hook need not read it
		in.Close()
	}()
	output := make(chan string, 1)
	go func() { output <- readOutput(out) }()
	var timedOut atomic.Bool
	stop := func() bool { return true }
	if h.Timeout != nil {
		stop = time.AfterFunc(plan.HookTimeout(*h.Timeout), func() {
			timedOut.Store(true)
			syscall.Kill(-p.Pid, syscall.SIGKILL)
		}).Stop
	}
	st, err := p.Wait()
	stop()
	// What the hook has started may hold the pipe open for as long as it likes.
	out.SetReadDeadline(time.Now().Add(200 * time.Millisecond))
	text := <-output
	out.Close()
	switch {
	case err != nil:
		return fail(err.Error(), text)
	case st.Success():
		return nil
	case timedOut.Load():
		return fail(fmt.Sprintf("timed out after %d s", *h.Timeout), text)
	}
	return fail(plan.WaitReason(st.Sys().(syscall.WaitStatus)), text)
}

func startHook(h *specs.Hook, dir string) (p *os.Process, in, out *os.File, err error) {
	closeOnExec()
	inR, in, err := os.Pipe()
	if err != nil {
		return nil, nil, nil, err
	}
	defer inR.Close()
	out, outW, err := os.Pipe()
	if err != nil {
		in.Close()
		return nil, nil, nil, err
	}
	defer outW.Close()
	args := h.Args
	if len(args) == 0 {
		args = []string{h.Path}
	}
	env := h.Env
	if env == nil {
		env = []string{} // nil would be the caller's
	}
	if _, err := os.Stat(dir); err != nil {
		dir = "/"
	}
	p, err = os.StartProcess(h.Path, args, &os.ProcAttr{Dir: dir, Env: env,
		Files: []*os.File{inR, outW, outW}, Sys: &syscall.SysProcAttr{Setpgid: true, Pdeathsig: syscall.SIGKILL}})
	if err != nil {
		in.Close()
		out.Close()
	}
	return p, in, out, err
}

// readOutput reads to the end and keeps the beginning.
func readOutput(r io.Reader) string {
	text, _ := io.ReadAll(io.LimitReader(r, hookOutputMax))
	io.Copy(io.Discard, r)
	return string(text)
}
