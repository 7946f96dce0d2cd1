package seccomp

import (
	"bytes"
	"errors"
	"fmt"
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
		return &ProfileError{"linux.seccomp", "the helper was killed while compiling it (it may take 10 s of CPU time)"}
	}
	if line, _, _ := strings.Cut(text, "\n"); line != "" {
		return fmt.Errorf("seccomp helper: %s (%w)", line, err)
	}
	return fmt.Errorf("seccomp helper: %w", err)
}
