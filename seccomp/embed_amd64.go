package seccomp

import _ "embed"

// Built by make (helper/build.mk); a plain `go build` before make fails on these two lines.

//go:embed run-make-first/helper-amd64
var helperImage string

//go:embed run-make-first/helper-amd64.id
var helperID string
