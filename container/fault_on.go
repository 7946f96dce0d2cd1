//go:build berth_fault

package container

import (
	"os"
	"strconv"
	"strings"
)

// faultPoint reads BERTH_FAULT=OP:ERRNO (numbers): stage1 fails that operation of the plan.
func faultPoint() (op, errno int) {
	at, no, _ := strings.Cut(os.Getenv("BERTH_FAULT"), ":")
	op, err := strconv.Atoi(at)
	if err != nil {
		return -1, 0
	}
	errno, _ = strconv.Atoi(no)
	return op, errno
}
