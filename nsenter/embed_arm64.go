package nsenter

import _ "embed"

// Built by make (nsenter/build.mk); a plain `go build` before make fails on this line.
//
//go:embed run-make-first/stage1-arm64
var image string
