package main

import (
	"fmt"
	"go/types"
)

// emitRead writes the reader of a struct type.
func (e *emitter) emitRead(named *types.Named, fields []field) error {
	typ := named.Obj().Name()
	name := e.function(named, false)
	e.printf("var keysOf%s = []string{", typ)
	for _, f := range fields {
		e.printf("%q,", f.name)
	}
	e.printf("}\n\n// %s reads an object into *v.\n", name)
	e.printf("func %s(d *scan.Decoder, v *%s) {\nfor k, ok := d.Open(); ok; k, ok = d.Next() {\nagain:\nswitch k {\n", name, e.typeName(named))
	for _, f := range fields {
		call, err := e.readField(typ, f)
		if err != nil {
			return fmt.Errorf("%s.%s: %w", typ, f.selector, err)
		}
		e.printf("case %q:\n%s\n", f.name, call)
	}
	e.printf("default:\nif k, ok = scan.Field(k, keysOf%s); ok {\ngoto again\n}\nd.Skip()\n}\n}\n}\n\n", typ)
	return nil
}

// readField is the statement that reads a field, between the two of its capture if it has one.
func (e *emitter) readField(typ string, f field) (string, error) {
	for _, c := range e.out.capture {
		if c.field != typ+"."+f.selector {
			continue
		}
		e.used[c.field] = true
		call := "d.Skip()"
		if !c.rawOnly {
			var err error
			if call, err = e.readCall(f.typ, "&v."+f.selector); err != nil {
				return "", err
			}
		}
		return fmt.Sprintf("d.Begin(%s)\n%s\nd.End(%s)", c.name, call, c.name), nil
	}
	return e.readCall(f.typ, "&v."+f.selector)
}

// readCall is the call that reads a value of type t into what pointer points at.
func (e *emitter) readCall(t types.Type, pointer string) (string, error) {
	function, elem, err := e.reader(t)
	if err != nil {
		return "", err
	}
	if first := e.inArena(t); first != "" {
		return fmt.Sprintf("%sIn(d, %s, %s, %s)", function, pointer, first, elem), nil
	}
	if elem != "" {
		return fmt.Sprintf("%s(d, %s, %s)", function, pointer, elem), nil
	}
	return fmt.Sprintf("%s(d, %s)", function, pointer), nil
}

// readFunc is an expression for a function that reads a value of type t.
func (e *emitter) readFunc(t types.Type) (string, error) {
	function, elem, err := e.reader(t)
	if err != nil || elem == "" {
		return function, err
	}
	return fmt.Sprintf("func(d *scan.Decoder, p *%s) { %s(d, p, %s) }", e.typeName(t), function, elem), nil
}

// reader is the function that reads a t and, for a pointer, list or map, the one that reads
// what it holds.
func (e *emitter) reader(t types.Type) (function, elem string, err error) {
	t = types.Unalias(t)
	if hasMethod(t, "UnmarshalJSON") {
		return "scan.Unmarshaler", "", nil
	}
	if hasMethod(t, "UnmarshalText") {
		return "", "", fmt.Errorf("%s has UnmarshalText, which is not supported", t)
	}
	switch u := t.Underlying().(type) {
	case *types.Basic:
		function, err = scalar(u, "")
		return function, "", err
	case *types.Struct:
		named, ok := t.(*types.Named)
		if !ok {
			return "", "", fmt.Errorf("struct type without a name")
		}
		return e.function(named, false), "", nil
	case *types.Interface:
		if u.NumMethods() > 0 {
			return "", "", fmt.Errorf("%s is not supported", t)
		}
		return "scan.Any", "", nil
	case *types.Pointer:
		elem, err = e.readFunc(u.Elem())
		return "scan.Ptr", elem, err
	case *types.Slice:
		if isByte(u.Elem()) {
			return "", "", fmt.Errorf("%s is not supported: base64", t)
		}
		if types.Identical(t, types.NewSlice(types.Typ[types.String])) {
			return "scan.Strings", "", nil
		}
		elem, err = e.readFunc(u.Elem())
		return "scan.Slice", elem, err
	case *types.Map:
		if b, ok := u.Key().Underlying().(*types.Basic); !ok || b.Kind() != types.String || hasMethod(u.Key(), "UnmarshalText") {
			return "", "", fmt.Errorf("map key %s is not supported", u.Key())
		}
		elem, err = e.readFunc(u.Elem())
		return "scan.Map", elem, err
	}
	return "", "", fmt.Errorf("%s is not supported", t)
}

func isByte(t types.Type) bool {
	b, ok := t.Underlying().(*types.Basic)
	return ok && b.Kind() == types.Uint8
}

// scalar is scan's function for a basic type, such as scan.AppendString.
func scalar(b *types.Basic, verb string) (string, error) {
	info := b.Info()
	switch {
	case info&types.IsString != 0:
		return "scan." + verb + "String", nil
	case info&types.IsBoolean != 0:
		return "scan." + verb + "Bool", nil
	case info&types.IsUnsigned != 0 && b.Kind() != types.Uintptr:
		return "scan." + verb + "Uint", nil
	case info&types.IsInteger != 0 && b.Kind() != types.Uintptr:
		return "scan." + verb + "Int", nil
	}
	return "", fmt.Errorf("%s is not supported", b)
}
