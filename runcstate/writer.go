package runcstate

import (
	"strconv"
	"time"

	"berth/specjson/scan"
)

// writer appends JSON. Every member and element ends with a comma, which close and closeList
// take back from the last one.
type writer struct{ b []byte }

func (w *writer) open() { w.b = append(w.b, '{') }

func (w *writer) close() { w.b = append(scan.Close(w.b), ',') }

func (w *writer) closeList() {
	if n := len(w.b) - 1; w.b[n] == ',' {
		w.b = w.b[:n]
	}
	w.b = append(w.b, "],"...)
}

// key writes a member's name, which is never one that needs escapes.
func (w *writer) key(name string) {
	w.b = append(w.b, '"')
	w.b = append(w.b, name...)
	w.b = append(w.b, `":`...)
}

func (w *writer) raw(name string, value []byte) {
	w.key(name)
	w.b = append(append(w.b, value...), ',')
}

// element writes a string into a list.
func (w *writer) element(value string) { w.b = append(scan.AppendString(w.b, &value), ',') }

func (w *writer) string(name, value string) {
	w.key(name)
	w.element(value)
}

func (w *writer) int(name string, value int64) {
	w.key(name)
	w.b = append(strconv.AppendInt(w.b, value, 10), ',')
}

func (w *writer) uint(name string, value uint64) {
	w.key(name)
	w.b = append(strconv.AppendUint(w.b, value, 10), ',')
}

func (w *writer) bool(name string, value bool) {
	w.key(name)
	w.b = append(strconv.AppendBool(w.b, value), ',')
}

func (w *writer) time(name string, value time.Time) {
	w.key(name)
	w.b = append(scan.AppendTime(w.b, &value), ',')
}

// list writes a list of strings; null if it is nil.
func (w *writer) list(name string, list []string) {
	w.key(name)
	w.b = append(scan.AppendSlice(w.b, list, scan.AppendString), ',')
}

// The opt methods write nothing for a zero value, as omitempty does.

func (w *writer) optString(name, value string) {
	if value != "" {
		w.string(name, value)
	}
}

func (w *writer) optInt(name string, value int64) {
	if value != 0 {
		w.int(name, value)
	}
}

func (w *writer) optUint(name string, value uint64) {
	if value != 0 {
		w.uint(name, value)
	}
}

func (w *writer) optBool(name string, value bool) {
	if value {
		w.bool(name, true)
	}
}

func (w *writer) optList(name string, list []string) {
	if len(list) > 0 {
		w.list(name, list)
	}
}

func (w *writer) optStrings(name string, m map[string]string) {
	if len(m) > 0 {
		w.key(name)
		w.b = append(scan.AppendMap(w.b, m, scan.AppendString), ',')
	}
}

// number is any integer type that the specification uses.
type number interface {
	~int | ~int64 | ~uint16 | ~uint32 | ~uint64
}

// numberPtr writes what p points at, 0 included; nothing if it is nil.
func numberPtr[T number](w *writer, name string, p *T) {
	if p == nil {
		return
	}
	w.key(name)
	if T(0)-1 < 0 {
		w.b = strconv.AppendInt(w.b, int64(*p), 10)
	} else {
		w.b = strconv.AppendUint(w.b, uint64(*p), 10)
	}
	w.b = append(w.b, ',')
}

// value is what p points at; 0 if it is nil.
func value[T any](p *T) T {
	if p == nil {
		return *new(T)
	}
	return *p
}
