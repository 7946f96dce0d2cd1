package scan

import (
	"reflect"
	"strconv"
	"strings"
)

type signed interface {
	~int | ~int8 | ~int16 | ~int32 | ~int64
}

// stringsChunk is how many strings Strings allocates together: 4 KiB, enough for the lists of
// most configs.
const stringsChunk = 256

type unsigned interface {
	~uint | ~uint8 | ~uint16 | ~uint32 | ~uint64
}

// Field returns the name of names that key means without regard to case.
func Field(key string, names []string) (string, bool) {
	for _, n := range names {
		// The letters that fold to ASCII ones take up to 3 bytes.
		if len(key) >= len(n) && len(key) <= 3*len(n) && strings.EqualFold(key, n) {
			return n, true
		}
	}
	return "", false
}

// String reads a string into *p; null leaves it alone, as with the other scalars.
func String[T ~string](d *Decoder, p *T) {
	switch d.space() {
	case '"':
		*p = T(d.str())
	case 'n':
		d.literal("null")
	default:
		d.mismatch("string")
	}
}

// Bool reads a boolean.
func Bool[T ~bool](d *Decoder, p *T) {
	switch d.space() {
	case 't':
		d.literal("true")
		*p = true
	case 'f':
		d.literal("false")
		*p = false
	case 'n':
		d.literal("null")
	default:
		d.mismatch("bool")
	}
}

// Int reads a signed integer that fits T.
func Int[T signed](d *Decoder, p *T) {
	start, text := d.numberFor(kind[T])
	if text == "" {
		return
	}
	n, err := strconv.ParseInt(text, 10, 64)
	if err != nil || int64(T(n)) != n {
		d.fail(start, "cannot use "+short(text)+" as "+kind[T]())
		return
	}
	*p = T(n)
}

// Uint reads an unsigned integer that fits T.
func Uint[T unsigned](d *Decoder, p *T) {
	start, text := d.numberFor(kind[T])
	if text == "" {
		return
	}
	n, err := strconv.ParseUint(text, 10, 64)
	if err != nil || uint64(T(n)) != n {
		d.fail(start, "cannot use "+short(text)+" as "+kind[T]())
		return
	}
	*p = T(n)
}

// kind names T's kind for an error.
func kind[T any]() string {
	return reflect.TypeFor[T]().Kind().String()
}

// numberFor consumes a number; the text is "" on null and on error.
func (d *Decoder) numberFor(kind func() string) (start int, text string) {
	switch c := d.space(); {
	case c == '-' || c-'0' <= 9:
		return d.pos, d.number()
	case c == 'n':
		d.literal("null")
	default:
		d.mismatch(kind())
	}
	return 0, ""
}

// Any reads whatever comes, into the types that encoding/json uses.
func Any(d *Decoder, p *any) {
	switch c := d.space(); {
	case c == '"':
		*p = d.str()
	case c == '{':
		m := map[string]any{}
		Map(d, &m, Any)
		*p = m
	case c == '[':
		var l []any
		Slice(d, &l, Any)
		*p = l
	case c == 't' || c == 'f':
		var b bool
		Bool(d, &b)
		*p = b
	case c == 'n':
		d.literal("null")
		*p = nil
	default:
		start := d.pos
		text := ""
		if c == '-' || c-'0' <= 9 {
			text = d.number()
		} else {
			d.unexpected("looking for beginning of value")
		}
		f, err := strconv.ParseFloat(text, 64)
		if err != nil {
			d.fail(start, "cannot use "+short(text)+" as float64")
		}
		*p = f
	}
}

// Ptr reads a value into what *p points at, which is made if it is nil; null makes *p nil.
func Ptr[T any](d *Decoder, p **T, elem func(*Decoder, *T)) {
	PtrIn(d, p, nil, elem)
}

// PtrIn is Ptr with a function that makes what is pointed at.
func PtrIn[T any](d *Decoder, p **T, first func(*Decoder) *T, elem func(*Decoder, *T)) {
	switch {
	case d.null():
		*p = nil
		return
	case *p != nil:
	case first != nil:
		*p = first(d)
	default:
		*p = new(T)
	}
	elem(d, *p)
}

// Slice reads a list into *p. Elements that a first list of a repeated key left are decoded
// into, as encoding/json does.
func Slice[S ~[]T, T any](d *Decoder, p *S, elem func(*Decoder, *T)) {
	SliceIn(d, p, nil, elem)
}

// SliceIn is Slice with a function that gives the memory for a first list.
func SliceIn[S ~[]T, T any](d *Decoder, p *S, first func(*Decoder) S, elem func(*Decoder, *T)) {
	if d.null() {
		*p = nil
		return
	}
	s, n := *p, 0
	if s == nil && first != nil {
		s = first(d)
	}
	for more := d.openList(); more; more = d.nextElement() {
		if n == MaxElements {
			d.fail(d.pos, "more than 262144 elements")
			return
		}
		if n == cap(s) {
			// The first elements of most lists in one allocation.
			grown := make(S, n, max(4, 2*n))
			copy(grown, s)
			s = grown
		}
		if n == len(s) {
			s = s[:n+1]
		}
		elem(d, &s[n])
		n++
	}
	if n == 0 {
		s = S{}
	}
	*p = s[:n]
}

// Strings is Slice for the most common element. New lists are cut from one array that the
// whole document shares: each size of list that is allocated by itself costs a fresh process
// two page faults.
func Strings(d *Decoder, p *[]string) {
	if *p != nil || d.space() != '[' {
		Slice(d, p, String)
		return
	}
	start := len(d.strings)
	for more := d.openList(); more; more = d.nextElement() {
		if len(d.strings) == cap(d.strings) {
			// Those of this list move; what was cut before stays where it is.
			n := len(d.strings) - start
			grown := make([]string, n, max(stringsChunk, 2*n))
			copy(grown, d.strings[start:])
			d.strings, start = grown, 0
		}
		if len(d.strings)-start == MaxElements {
			d.fail(d.pos, "more than 262144 elements")
			return
		}
		d.strings = append(d.strings, "")
		String(d, &d.strings[len(d.strings)-1])
	}
	end := len(d.strings)
	*p = d.strings[start:end:end]
	if start == end {
		*p = []string{}
	}
}

// Map reads an object into *p, adding to what is there; null makes it nil.
func Map[M ~map[K]V, K ~string, V any](d *Decoder, p *M, elem func(*Decoder, *V)) {
	if d.null() {
		*p = nil
		return
	}
	if *p == nil {
		*p = M{}
	}
	var v V
	for k, more := d.Open(); more; k, more = d.Next() {
		v = *new(V)
		elem(d, &v)
		(*p)[K(k)] = v
	}
}

// Unmarshaler reads a value by the type's own UnmarshalJSON.
func Unmarshaler[T any, P interface {
	*T
	UnmarshalJSON([]byte) error
}](d *Decoder, p *T) {
	d.space()
	start := d.pos
	d.Skip()
	if d.failed {
		return
	}
	if err := P(p).UnmarshalJSON([]byte(d.s[start:d.pos])); err != nil {
		d.fail(start, err.Error())
	}
}
