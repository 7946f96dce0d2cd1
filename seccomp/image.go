package seccomp

import (
	"os"

	"berth/sealed"
)

const imageName = "berth-helper"

// helperFile returns the helper as a file that can be executed and that nothing can change or
// use again.
func helperFile() (*os.File, error) {
	fd, err := sealed.File(imageName, helperImage, false)
	if err != nil {
		return nil, err
	}
	return os.NewFile(uintptr(fd), imageName), nil
}
