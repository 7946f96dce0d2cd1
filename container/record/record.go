// Package record holds what berth itself writes down about a container, in the file
// berth.json of its state directory. It is made before anything else of the container and
// never changed. It is only types and their generated JSON.
package record

import (
	"encoding/json"
	"fmt"
	"time"

	"berth/specjson/scan"

	"github.com/opencontainers/runtime-spec/specs-go"
)

// Version of the format; a reader refuses a higher one.
const Version = 1

// Record is what later verbs need besides runc's state.json.
type Record struct {
	Version     int               `json:"version"`
	ID          string            `json:"id"`
	OCIVersion  string            `json:"ociVersion"`
	Bundle      string            `json:"bundle"` // absolute
	Rootfs      string            `json:"rootfs"` // absolute
	Annotations map[string]string `json:"annotations,omitempty"`
	Created     time.Time         `json:"created"`
	Creator     Process           `json:"creator"` // the berth that runs create
	CgroupPaths map[string]string `json:"cgroup_paths,omitempty"`
	CgroupMade  []string          `json:"cgroup_made,omitempty"` // those that create makes, and delete removes
	Hooks       *specs.Hooks      `json:"hooks,omitempty"`
	Process     json.RawMessage   `json:"process,omitempty"` // of config.json, as it stood there
	Program     string            `json:"program,omitempty"` // process.args[0]; empty: no process
	StartHooks  int               `json:"start_hooks"`       // index of the first startContainer hook among the operations
	OwnPID      bool              `json:"own_pid"`           // it has a pid namespace of its own
	// MountsBefore, without a mount namespace of its own, is what was mounted in Rootfs before.
	MountsBefore []string `json:"mounts_before,omitempty"`
	MountNS      bool     `json:"mount_ns"` // it has a mount namespace: nothing is left on the host
}

// Process names a process beyond doubt: a pid and field 22 of /proc/PID/stat (clock ticks
// since boot).
type Process struct {
	Pid   int    `json:"pid"`
	Start uint64 `json:"start"`
}

// Parse reads a record; an error names the JSON path.
func Parse(data []byte) (*Record, error) {
	r := &Record{}
	if err := scan.Unmarshal(data, r, readRecord); err != nil {
		return nil, err
	}
	if r.Version > Version {
		return nil, fmt.Errorf("version %d is newer than this berth, which knows %d", r.Version, Version)
	}
	return r, nil
}

// Append appends the record as JSON.
func (r *Record) Append(dst []byte) []byte { return appendRecord(dst, r) }
