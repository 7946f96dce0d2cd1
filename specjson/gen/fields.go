package main

import (
	"fmt"
	"go/types"
	"reflect"
	"strings"
)

// field is one member of a type's JSON object.
type field struct {
	name      string // key
	selector  string // from the value: Limit, or LinuxBlockIODevice.Major of an embedded struct
	typ       types.Type
	omitEmpty bool
	omitZero  bool
}

// fieldsOf lists the members in encoding/json's order. What its rules would have to decide
// between (two fields with one name) is refused.
func fieldsOf(named *types.Named) ([]field, error) {
	list, err := collect(named.Underlying().(*types.Struct), "")
	if err != nil {
		return nil, fmt.Errorf("%s: %w", named.Obj().Name(), err)
	}
	for i := range list {
		for j := range i {
			if strings.EqualFold(list[i].name, list[j].name) {
				return nil, fmt.Errorf("%s: two fields are called %s", named.Obj().Name(), list[i].name)
			}
		}
	}
	return list, nil
}

func collect(s *types.Struct, prefix string) ([]field, error) {
	var list []field
	for i := range s.NumFields() {
		v := s.Field(i)
		tag := reflect.StructTag(s.Tag(i)).Get("json")
		name, options, _ := strings.Cut(tag, ",")
		if tag == "-" {
			continue
		}
		inner, isStruct := v.Type().Underlying().(*types.Struct)
		if v.Embedded() && name == "" {
			if !isStruct {
				return nil, fmt.Errorf("field %s: embedded and not a struct", v.Name())
			}
			promoted, err := collect(inner, prefix+v.Name()+".")
			if err != nil {
				return nil, err
			}
			list = append(list, promoted...)
			continue
		}
		if !v.Exported() {
			continue
		}
		f := field{name: name, selector: prefix + v.Name(), typ: v.Type()}
		if name == "" {
			f.name = v.Name()
		}
		for option := range strings.SplitSeq(options, ",") {
			switch option {
			case "":
			case "omitempty":
				f.omitEmpty = true
			case "omitzero":
				f.omitZero = true
			default:
				return nil, fmt.Errorf("field %s: tag option %q is not supported", v.Name(), option)
			}
		}
		list = append(list, f)
	}
	return list, nil
}

// hasMethod tells whether *t has a method of that name.
func hasMethod(t types.Type, name string) bool {
	if _, ok := t.(*types.Named); !ok {
		return false
	}
	obj, _, _ := types.LookupFieldOrMethod(types.NewPointer(t), true, nil, name)
	_, ok := obj.(*types.Func)
	return ok
}

// isType tells whether t is the named type.
func isType(t types.Type, name string) bool {
	n, ok := t.(*types.Named)
	return ok && n.Obj().Pkg() != nil && n.Obj().Pkg().Path()+"."+n.Obj().Name() == name
}
