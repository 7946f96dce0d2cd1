package main

import "path"

const (
	module  = "berth"
	scanPkg = module + "/specjson/scan"
	specs   = "github.com/opencontainers/runtime-spec/specs-go."
)

// output is one generated file. A type is named by its import path, a dot and its name; in
// the output's own package the name alone will do.
type output struct {
	dir      string   // of the package, from the module's root
	file     string   // zz_*.go
	exported bool     // ReadX and AppendX for the listed types, else readX and appendX
	read     []string // types to make readers of: func readX(d *scan.Decoder, v *X)
	append   []string // types to make appenders of: func appendX(dst []byte, v *X) []byte
	capture  []capture
	// arena has the first instances of these types behind pointers, and the first elements of
	// lists, in one struct that the caller allocates: each size that is allocated by itself
	// costs a fresh process two page faults.
	arena []arenaType
}

// arenaType is a type of which an arena has one, for a pointer, or n, for a list.
type arenaType struct {
	name string
	n    int
}

// capture keeps where in the document a field's value is; a const of that name is its number.
type capture struct {
	field   string // Type.Field
	name    string
	rawOnly bool // the value is skipped, not read
}

// outputs lists what is generated. A type that an output with exported functions lists is
// read and appended by those in every later output too.
var outputs = []output{
	{
		dir:      "specjson",
		file:     "zz_spec.go",
		exported: true,
		read: []string{
			specs + "Spec", specs + "Process", specs + "Hooks", specs + "State",
			specs + "LinuxResources",
		},
		append: []string{
			specs + "Process", specs + "Hooks", specs + "State", specs + "ContainerProcessState",
			specs + "LinuxResources", specs + "Scheduler", specs + "LinuxIOPriority",
			specs + "LinuxTimeOffset", specs + "LinuxNetDevice",
		},
		capture: []capture{
			{field: "Spec.Linux", name: "captureLinux"},
			{field: "Spec.Process", name: "captureProcess"},
			{field: "Linux.Seccomp", name: "captureSeccomp", rawOnly: true},
		},
		arena: []arenaType{
			{"Process", 0}, {"Root", 0}, {"Linux", 0}, {"Hooks", 0}, {"Box", 0}, {"LinuxCapabilities", 0},
			{"LinuxResources", 0}, {"LinuxMemory", 0}, {"LinuxCPU", 0}, {"LinuxPids", 0}, {"LinuxBlockIO", 0},
			{"Mount", 16}, {"LinuxNamespace", 8}, {"LinuxDeviceCgroup", 8}, {"POSIXRlimit", 2},
		},
	},
	{
		dir:  "runcstate",
		file: "zz_state.go",
		read: []string{"State"},
	},
	{
		dir:    "container/record",
		file:   "zz_record.go",
		read:   []string{"Record"},
		append: []string{"Record"},
	},
}

func (o *output) path() string { return path.Join(o.dir, o.file) }

func (o *output) pkg() string { return path.Join(module, o.dir) }
