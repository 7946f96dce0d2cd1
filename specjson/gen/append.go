package main

import (
	"fmt"
	"go/types"
)

// emitAppend writes the appender of a struct type.
func (e *emitter) emitAppend(named *types.Named, fields []field) error {
	typ := named.Obj().Name()
	name := e.function(named, true)
	e.printf("// %s appends *v as an object.\n", name)
	e.printf("func %s(dst []byte, v *%s) []byte {\ndst = append(dst, '{')\n", name, e.typeName(named))
	for _, f := range fields {
		if err := e.appendField(f); err != nil {
			return fmt.Errorf("%s.%s: %w", typ, f.selector, err)
		}
	}
	e.printf("return scan.Close(dst)\n}\n\n")
	return nil
}

func (e *emitter) appendField(f field) error {
	cond, err := e.present(f)
	if err != nil {
		return err
	}
	call, err := e.appendCall(f.typ, "v."+f.selector)
	if err != nil {
		return err
	}
	if cond != "" {
		e.printf("if %s {\n", cond)
	}
	e.printf("dst = append(dst, %s...)\ndst = append(%s, ',')\n", "`\""+f.name+"\":`", call)
	if cond != "" {
		e.printf("}\n")
	}
	return nil
}

// present is the condition on which a field is written; "": always.
func (e *emitter) present(f field) (string, error) {
	if !f.omitEmpty && !f.omitZero {
		return "", nil
	}
	v := "v." + f.selector
	switch u := f.typ.Underlying().(type) {
	case *types.Basic:
		switch info := u.Info(); {
		case info&types.IsString != 0:
			return v + ` != ""`, nil
		case info&types.IsBoolean != 0:
			return "bool(" + v + ")", nil
		}
		return v + " != 0", nil
	case *types.Pointer, *types.Interface:
		return v + " != nil", nil
	case *types.Slice, *types.Map:
		if f.omitZero && !f.omitEmpty {
			return v + " != nil", nil
		}
		return "len(" + v + ") > 0", nil
	case *types.Struct:
		switch {
		case !f.omitZero:
			return "", nil // a struct is never empty
		case hasMethod(f.typ, "IsZero"):
			return "!" + v + ".IsZero()", nil
		case types.Comparable(f.typ):
			return v + " != (" + e.typeName(f.typ) + "{})", nil
		}
	}
	return "", fmt.Errorf("omitempty or omitzero of %s is not supported", f.typ)
}

// appendCall is the call that appends value, an addressable expression of type t, to dst.
func (e *emitter) appendCall(t types.Type, value string) (string, error) {
	function, elem, err := e.appender(t)
	if err != nil {
		return "", err
	}
	if elem != "" {
		return fmt.Sprintf("%s(dst, %s, %s)", function, value, elem), nil
	}
	return fmt.Sprintf("%s(dst, &%s)", function, value), nil
}

// appendFunc is an expression for a function that appends what a pointer to t points at.
func (e *emitter) appendFunc(t types.Type) (string, error) {
	function, elem, err := e.appender(t)
	if err != nil || elem == "" {
		return function, err
	}
	return fmt.Sprintf("func(dst []byte, p *%s) []byte { return %s(dst, *p, %s) }", e.typeName(t), function, elem), nil
}

// appender is the function that appends a t and, for a pointer, list or map, the one that
// appends what it holds.
func (e *emitter) appender(t types.Type) (function, elem string, err error) {
	t = types.Unalias(t)
	switch {
	case isType(t, "time.Time"):
		return "scan.AppendTime", "", nil
	case isType(t, "encoding/json.RawMessage"):
		return "scan.AppendRaw", "", nil
	case hasMethod(t, "MarshalJSON") || hasMethod(t, "MarshalText"):
		return "", "", fmt.Errorf("%s marshals itself, which is not supported", t)
	}
	switch u := t.Underlying().(type) {
	case *types.Basic:
		function, err = scalar(u, "Append")
		return function, "", err
	case *types.Struct:
		named, ok := t.(*types.Named)
		if !ok {
			return "", "", fmt.Errorf("struct type without a name")
		}
		return e.function(named, true), "", nil
	case *types.Pointer:
		elem, err = e.appendFunc(u.Elem())
		return "scan.AppendPtr", elem, err
	case *types.Slice:
		if isByte(u.Elem()) {
			return "", "", fmt.Errorf("%s is not supported: base64", t)
		}
		elem, err = e.appendFunc(u.Elem())
		return "scan.AppendSlice", elem, err
	case *types.Map:
		if b, ok := u.Key().Underlying().(*types.Basic); !ok || b.Kind() != types.String || hasMethod(u.Key(), "MarshalText") {
			return "", "", fmt.Errorf("map key %s is not supported", u.Key())
		}
		elem, err = e.appendFunc(u.Elem())
		return "scan.AppendMap", elem, err
	}
	return "", "", fmt.Errorf("%s is not supported", t)
}
