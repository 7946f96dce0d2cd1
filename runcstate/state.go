package runcstate

import (
	"strings"
	"time"

	"berth/specjson/scan"

	specs "github.com/opencontainers/runtime-spec/specs-go"
)

// State is what the lifecycle needs of a state.json. Its file may have been written by
// Append or by runc, 1.1 or newer.
type State struct {
	ID                   string            `json:"id"`
	InitProcessPid       int               `json:"init_process_pid"`
	InitProcessStartTime uint64            `json:"init_process_start"` // field 22 of /proc/PID/stat
	Created              time.Time         `json:"created"`
	Rootless             bool              `json:"rootless,omitempty"`
	CgroupPaths          map[string]string `json:"cgroup_paths,omitempty"`    // v1: by controller; v2: of ""
	NamespacePaths       map[string]string `json:"namespace_paths,omitempty"` // by runc's type, such as NEWPID
	IntelRdtPath         string            `json:"intel_rdt_path,omitempty"`
	Config               Config            `json:"config"`
}

// Config is the part of libcontainer's configuration that State has.
type Config struct {
	Rootfs     string      `json:"rootfs"`
	Labels     []string    `json:"labels,omitempty"` // key=value: annotations, and bundle
	Version    string      `json:"version,omitempty"`
	Namespaces []Namespace `json:"namespaces,omitempty"`
	Hooks      Hooks       `json:"Hooks"`
	Cgroups    *Cgroups    `json:"cgroups,omitempty"`
}

// Namespace is one that the container has (Path: ""), or joined.
type Namespace struct {
	Type string `json:"type"` // NEWPID
	Path string `json:"path,omitempty"`
}

// Cgroups is where the container's cgroup was asked to be.
type Cgroups struct {
	Name        string `json:"name,omitempty"`
	Parent      string `json:"parent,omitempty"`
	Path        string `json:"path,omitempty"`
	ScopePrefix string `json:"scope_prefix,omitempty"`
	Systemd     bool   `json:"Systemd,omitempty"`
	Rootless    bool   `json:"Rootless,omitempty"`
}

// Hooks are the hooks that may still have to run. A hook's timeout is in nanoseconds.
type Hooks struct {
	StartContainer []Hook `json:"startContainer,omitempty"`
	Poststart      []Hook `json:"poststart,omitempty"`
	Poststop       []Hook `json:"poststop,omitempty"`
}

// Hook is one command.
type Hook struct {
	Path    string         `json:"path"`
	Args    []string       `json:"args,omitempty"`
	Env     []string       `json:"env,omitempty"`
	Timeout *time.Duration `json:"timeout,omitempty"`
}

// Parse reads a state.json; an error names the JSON path.
func Parse(data []byte) (*State, error) {
	s := &State{}
	if err := scan.Unmarshal(data, s, readState); err != nil {
		return nil, err
	}
	return s, nil
}

// Bundle is the bundle's directory: of two such labels the last, for the first is an annotation.
func (s *State) Bundle() string {
	bundle := ""
	for _, l := range s.Config.Labels {
		if path, ok := strings.CutPrefix(l, "bundle="); ok {
			bundle = path
		}
	}
	return bundle
}

// Annotations are the container's annotations; nil if it has none.
func (s *State) Annotations() map[string]string {
	var m map[string]string
	for _, l := range s.Config.Labels {
		key, value, ok := strings.Cut(l, "=")
		if !ok || key == "bundle" {
			continue
		}
		if m == nil {
			m = map[string]string{}
		}
		m[key] = value
	}
	return m
}

// OwnPIDNamespace tells whether the container was made with a pid namespace of its own: one
// that ends with its init.
func (s *State) OwnPIDNamespace() bool {
	for _, ns := range s.Config.Namespaces {
		if ns.Type == "NEWPID" {
			return ns.Path == ""
		}
	}
	return false
}

// SpecHooks are the hooks as the specification has them.
func (s *State) SpecHooks() *specs.Hooks {
	h := &s.Config.Hooks
	return &specs.Hooks{
		StartContainer: specHooks(h.StartContainer),
		Poststart:      specHooks(h.Poststart),
		Poststop:       specHooks(h.Poststop),
	}
}

func specHooks(hooks []Hook) []specs.Hook {
	var list []specs.Hook
	for _, h := range hooks {
		out := specs.Hook{Path: h.Path, Args: h.Args, Env: h.Env}
		if h.Timeout != nil {
			seconds := int((*h.Timeout + time.Second - 1) / time.Second)
			out.Timeout = &seconds
		}
		list = append(list, out)
	}
	return list
}
