package container

// Status is the runtime state of a container (runtime.md, "State").
type Status string

const (
	StatusCreating Status = "creating"
	StatusCreated  Status = "created"
	StatusRunning  Status = "running"
	StatusPaused   Status = "paused"
	StatusStopped  Status = "stopped"
)

// Verbs that need a certain status.
const (
	verbStart = iota
	verbKill
	verbDelete
	verbCompatDelete // runc's plain delete takes a created container too
)

// allowed is the table of which verb a status allows. Paused is a running container.
var allowed = map[Status][4]bool{
	StatusCreating: {},
	StatusCreated:  {verbStart: true, verbKill: true, verbCompatDelete: true},
	StatusRunning:  {verbKill: true},
	StatusPaused:   {verbKill: true},
	StatusStopped:  {verbDelete: true, verbCompatDelete: true},
}
