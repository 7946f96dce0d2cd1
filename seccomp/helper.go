package seccomp

import (
	"bytes"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"strings"
	"syscall"

	"golang.org/x/sys/unix"
)

// exitProfile is the helper's exit status for "the input is at fault".
const exitProfile = 65

// runHelper executes the embedded helper with a verb and its argument, and returns its output.
func runHelper(input []byte, verb, arg string) ([]byte, error) {
	image, err := helperFile()
	if err != nil {
		return nil, fmt.Errorf("seccomp helper: %w", err)
	}
	defer image.Close()
	var out, errs bytes.Buffer
	cmd := exec.Cmd{
		Path:   fmt.Sprintf("/proc/self/fd/%d", image.Fd()),
		Args:   []string{"berth-helper", verb, arg},
		Env:    []string{"GOGC=off", "GOMEMLIMIT=256MiB"},
		Dir:    "/",
		Stdin:  bytes.NewReader(input),
		Stdout: &out,
		Stderr: &errs,
	}
	if err := cmd.Run(); err != nil {
		return nil, helperError(err, strings.TrimSpace(errs.String()))
	}
	return out.Bytes(), nil
}

func helperError(err error, text string) error {
	var exit *exec.ExitError
	if !errors.As(err, &exit) {
		return fmt.Errorf("seccomp helper: %w", err)
	}
	if path, reason, ok := strings.Cut(text, ": "); ok && exit.ExitCode() == exitProfile {
		return &ProfileError{path, reason}
	}
	// The helper limits its own CPU time; the kernel ends it with SIGKILL there.
	if status, ok := exit.Sys().(syscall.WaitStatus); ok && status.Signaled() && status.Signal() == unix.SIGKILL {
		return &ProfileError{"linux.seccomp", "the helper was killed while compiling it (60 s of CPU time, or memory)"}
	}
	if line, _, _ := strings.Cut(text, "\n"); line != "" {
		return fmt.Errorf("seccomp helper: %s (%w)", line, err)
	}
	return fmt.Errorf("seccomp helper: %w", err)
}

// helperFile returns the helper as a file that can be executed and not be written to: what a
// process in a container could reach through /proc/PID/exe is not used again, nor is it on disk.
func helperFile() (*os.File, error) {
	const seals = unix.F_SEAL_SEAL | unix.F_SEAL_SHRINK | unix.F_SEAL_GROW | unix.F_SEAL_WRITE
	const sealExec = 0x20 // F_SEAL_EXEC, since Linux 6.3
	fd, err := unix.MemfdCreate("berth-helper", unix.MFD_CLOEXEC|unix.MFD_ALLOW_SEALING|unix.MFD_EXEC)
	if errors.Is(err, unix.EINVAL) { // MFD_EXEC came with Linux 6.3
		fd, err = unix.MemfdCreate("berth-helper", unix.MFD_CLOEXEC|unix.MFD_ALLOW_SEALING)
	}
	if err != nil {
		return nil, fmt.Errorf("memfd_create: %w", err)
	}
	file := os.NewFile(uintptr(fd), "berth-helper")
	if _, err := file.WriteString(helperImage); err != nil {
		file.Close()
		return nil, err
	}
	_, err = unix.FcntlInt(file.Fd(), unix.F_ADD_SEALS, seals|sealExec)
	if errors.Is(err, unix.EINVAL) {
		_, err = unix.FcntlInt(file.Fd(), unix.F_ADD_SEALS, seals)
	}
	if err != nil {
		file.Close()
		return nil, fmt.Errorf("seal the memfd: %w", err)
	}
	return file, nil
}
