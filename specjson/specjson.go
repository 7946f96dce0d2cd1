// Package specjson decodes the runtime-spec's documents into the runtime-spec's own types and
// appends them as JSON, by generated code: reflection over all of specs.Spec costs 0.65 ms in
// a fresh process. What a document means is what encoding/json makes of it (a fuzz test holds
// the two together), but for these:
//
//   - linux.seccomp is not decoded. Its syntax is checked and its bytes are returned.
//   - process, linux and linux.seccomp may be in a document once (null does not count), since
//     their bytes are kept as they stand. Any other repeated key works as in encoding/json.
//   - limits: 16 MiB a document, 512 levels of nesting, 262144 elements a list.
//
// It reads no files and checks no values: what is a valid config is decided elsewhere.
package specjson

import (
	"berth/specjson/scan"

	specs "github.com/opencontainers/runtime-spec/specs-go"
)

//go:generate go run ./gen

// MaxSize is the size of the largest document that Decode takes.
const MaxSize = 16 << 20

// Raw holds parts of the document as they stand in it (sub-slices of what Decode was given);
// nil for one that is not there or null.
type Raw struct {
	Seccomp []byte // linux.seccomp
	Process []byte // process
}

// Decode decodes a config.json. Spec.Linux.Seccomp stays nil: see Raw. An error is a
// *scan.Error: it names the JSON path and the line, and not the file.
func Decode(data []byte) (*specs.Spec, *Raw, error) {
	if len(data) > MaxSize {
		return nil, nil, &scan.Error{Line: 1, Msg: "the document is larger than 16 MiB"}
	}
	doc := &document{}
	d := &doc.decoder
	d.Init(data, doc.strings[:])
	d.Arena = &doc.arena
	ReadSpec(d, &doc.spec)
	if err := d.Finish(); err != nil {
		return nil, nil, err
	}
	doc.raw.Process = captured(d, data, captureProcess)
	if doc.spec.Linux != nil {
		doc.raw.Seccomp = captured(d, data, captureSeccomp)
	}
	return &doc.spec, &doc.raw, nil
}

// document is all that decoding most documents needs, in one piece.
type document struct {
	decoder scan.Decoder
	spec    specs.Spec
	raw     Raw
	arena   arena
	strings [192]string
}

func captured(d *scan.Decoder, data []byte, i int) []byte {
	start, end := d.Captured(i)
	if start == end {
		return nil
	}
	return data[start:end:end]
}

// DecodeProcess decodes a process object alone, as exec's --process file and a saved process are.
func DecodeProcess(data []byte) (*specs.Process, error) {
	p := &specs.Process{}
	if err := scan.Unmarshal(data, p, ReadProcess); err != nil {
		return nil, err
	}
	return p, nil
}
