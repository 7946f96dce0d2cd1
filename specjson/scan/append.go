package scan

import (
	"slices"
	"strconv"
	"time"
	"unicode/utf8"
)

// The append functions write what encoding/json writes, without its escaping of <, > and &.

// Close ends an object whose members each end with a comma.
func Close(dst []byte) []byte {
	if n := len(dst) - 1; dst[n] == ',' {
		dst[n] = '}'
		return dst
	}
	return append(dst, '}')
}

// AppendString appends *p as a JSON string.
func AppendString[T ~string](dst []byte, p *T) []byte {
	return appendQuoted(dst, string(*p))
}

func appendQuoted(dst []byte, s string) []byte {
	dst = append(dst, '"')
	start := 0
	for i := 0; i < len(s); {
		c := s[i]
		if c >= ' ' && c != '"' && c != '\\' && c < utf8.RuneSelf {
			i++
			continue
		}
		r, n := utf8.DecodeRuneInString(s[i:])
		if r >= utf8.RuneSelf && r != '\u2028' && r != '\u2029' && (r != utf8.RuneError || n != 1) {
			i += n
			continue
		}
		dst = append(dst, s[start:i]...)
		dst = appendEscape(dst, r)
		i += n
		start = i
	}
	dst = append(dst, s[start:]...)
	return append(dst, '"')
}

func appendEscape(dst []byte, r rune) []byte {
	const hex = "0123456789abcdef"
	switch r {
	case '"', '\\':
		return append(dst, '\\', byte(r))
	case '\b':
		return append(dst, `\b`...)
	case '\f':
		return append(dst, `\f`...)
	case '\n':
		return append(dst, `\n`...)
	case '\r':
		return append(dst, `\r`...)
	case '\t':
		return append(dst, `\t`...)
	}
	return append(dst, '\\', 'u', hex[r>>12&15], hex[r>>8&15], hex[r>>4&15], hex[r&15])
}

// AppendInt appends *p in decimal.
func AppendInt[T signed](dst []byte, p *T) []byte {
	return strconv.AppendInt(dst, int64(*p), 10)
}

// AppendUint appends *p in decimal.
func AppendUint[T unsigned](dst []byte, p *T) []byte {
	return strconv.AppendUint(dst, uint64(*p), 10)
}

// AppendBool appends true or false.
func AppendBool[T ~bool](dst []byte, p *T) []byte {
	return strconv.AppendBool(dst, bool(*p))
}

// AppendTime appends *p as RFC 3339 with nanoseconds.
func AppendTime(dst []byte, p *time.Time) []byte {
	dst = append(dst, '"')
	dst = p.AppendFormat(dst, time.RFC3339Nano)
	return append(dst, '"')
}

// AppendPtr appends what p points at, or null.
func AppendPtr[T any](dst []byte, p *T, elem func([]byte, *T) []byte) []byte {
	if p == nil {
		return append(dst, "null"...)
	}
	return elem(dst, p)
}

// AppendSlice appends a list; null if it is nil.
func AppendSlice[S ~[]T, T any](dst []byte, s S, elem func([]byte, *T) []byte) []byte {
	if s == nil {
		return append(dst, "null"...)
	}
	dst = append(dst, '[')
	for i := range s {
		if i > 0 {
			dst = append(dst, ',')
		}
		dst = elem(dst, &s[i])
	}
	return append(dst, ']')
}

// AppendMap appends an object with sorted keys; null if m is nil.
func AppendMap[M ~map[K]V, K ~string, V any](dst []byte, m M, elem func([]byte, *V) []byte) []byte {
	if m == nil {
		return append(dst, "null"...)
	}
	keys := make([]K, 0, len(m))
	for k := range m {
		keys = append(keys, k)
	}
	slices.Sort(keys)
	dst = append(dst, '{')
	for i := range keys {
		if i > 0 {
			dst = append(dst, ',')
		}
		dst = append(appendQuoted(dst, string(keys[i])), ':')
		v := m[keys[i]]
		dst = elem(dst, &v)
	}
	return append(dst, '}')
}

// AppendRaw appends JSON that is already there; null if there is none.
func AppendRaw[T ~[]byte](dst []byte, p *T) []byte {
	if len(*p) == 0 {
		return append(dst, "null"...)
	}
	return append(dst, *p...)
}
