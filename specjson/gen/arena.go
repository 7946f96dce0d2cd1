package main

import "go/types"

// inArena is the function that takes what a pointer or list of type t needs from the arena;
// "" if the arena has no such type.
func (e *emitter) inArena(t types.Type) string {
	var elem types.Type
	isList := false
	switch u := types.Unalias(t).(type) {
	case *types.Pointer:
		elem = u.Elem()
	case *types.Slice:
		elem, isList = u.Elem(), true
	default:
		return ""
	}
	named, ok := elem.(*types.Named)
	if !ok {
		return ""
	}
	for _, a := range e.out.arena {
		if a.name == named.Obj().Name() && isList == (a.n > 0) {
			e.arena[a.name] = named
			return "first" + a.name
		}
	}
	return ""
}

// emitArena writes the arena's type and the functions that take from it.
func (e *emitter) emitArena() {
	if len(e.out.arena) == 0 {
		return
	}
	e.printf("// arena holds what most documents need, for one allocation.\ntype arena struct {\n")
	for _, a := range e.out.arena {
		if a.n > 0 {
			e.printf("list%s [%d]%s\n", a.name, a.n, e.typeName(e.arena[a.name]))
		} else {
			e.printf("one%s %s\n", a.name, e.typeName(e.arena[a.name]))
		}
	}
	e.printf("}\n\n")
	for i, a := range e.out.arena {
		typ := e.typeName(e.arena[a.name])
		if a.n > 0 {
			e.printf("func first%s(d *scan.Decoder) []%s {\nif d.Take(%d) {\nreturn d.Arena.(*arena).list%s[:0]\n}\nreturn nil\n}\n\n", a.name, typ, i, a.name)
		} else {
			e.printf("func first%s(d *scan.Decoder) *%s {\nif d.Take(%d) {\nreturn &d.Arena.(*arena).one%s\n}\nreturn new(%s)\n}\n\n", a.name, typ, i, a.name, typ)
		}
	}
}
