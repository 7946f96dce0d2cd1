//go:build !berth_fault

package container

// faultPoint: only a berth that is built for tests can be told to fail an operation.
func faultPoint() (op, errno int) { return -1, 0 }
