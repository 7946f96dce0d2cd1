package nsenter

import (
	"testing"

	"golang.org/x/sys/unix"
)

// From Start to the end of a stage1 that does nothing, alone and in the usual namespaces.
func BenchmarkStart(b *testing.B) {
	for name, flags := range map[string]uintptr{"plain": 0,
		"namespaces": unix.CLONE_NEWNS | unix.CLONE_NEWPID | unix.CLONE_NEWIPC | unix.CLONE_NEWUTS | unix.CLONE_NEWNET} {
		b.Run(name, func(b *testing.B) {
			plan := (&program{ops: []op{cloexec}}).encode(b)
			for b.Loop() {
				p, err := Start(&Launch{Plan: plan, Files: []int{0, 1, 2}, Cloneflags: flags, CgroupFD: -1})
				if err != nil {
					b.Fatal(err)
				}
				p.Next()
				unix.Wait4(p.Pid, nil, 0, nil)
				p.Close()
			}
		})
	}
}
