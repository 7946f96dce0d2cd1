package container

import (
	"github.com/opencontainers/runtime-spec/specs-go"
)

// OCIState is the state as runtime.md describes it.
func (c *Container) OCIState() *specs.State {
	version, annotations := specs.Version, map[string]string(nil)
	switch {
	case c.Record != nil:
		version, annotations = c.Record.OCIVersion, c.Record.Annotations
	case c.State != nil:
		annotations = c.State.Annotations()
	}
	return ociState(c.ID, version, c.Bundle(), c.Status, c.Process.Pid, annotations)
}

// Rootfs is the absolute path of the container's root on the host.
func (c *Container) Rootfs() string {
	switch {
	case c.Record != nil:
		return c.Record.Rootfs
	case c.State != nil:
		return c.State.Config.Rootfs
	}
	return ""
}
