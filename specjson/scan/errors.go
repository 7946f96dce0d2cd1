package scan

import (
	"strconv"
	"strings"
	"unicode/utf8"
)

// Error is what is wrong with a document. The file's name is the caller's to add.
type Error struct {
	Path string // of the value, such as process.rlimits[2].soft; "" for a syntax error
	Line int    // from 1
	Msg  string // "cannot use string as uint64"
}

func (e *Error) Error() string {
	line := "line " + strconv.Itoa(e.Line)
	if e.Path == "" {
		return line + ": " + e.Msg
	}
	return e.Path + ": " + e.Msg + " (" + line + ")"
}

// fail records the first error, of the value at off, and stops the decoder.
func (d *Decoder) fail(off int, msg string) {
	if d.failed {
		return
	}
	d.failed = true
	d.off, d.msg = off, msg
	d.pos = len(d.s)
}

// syntax is fail for what makes the document no JSON.
func (d *Decoder) syntax(off int, msg string) {
	if !d.failed {
		d.isSyntax = true
	}
	d.fail(off, msg)
}

// unexpected fails at the byte at pos.
func (d *Decoder) unexpected(where string) {
	if d.failed {
		return
	}
	if d.pos >= len(d.s) {
		d.end()
		return
	}
	r, _ := utf8.DecodeRuneInString(d.s[d.pos:])
	d.syntax(d.pos, "invalid character "+strconv.QuoteRune(r)+" "+where)
}

// end fails because the input ended.
func (d *Decoder) end() {
	d.syntax(len(d.s), "unexpected end of JSON input")
}

// mismatch fails because the value at pos is not of kind want.
func (d *Decoder) mismatch(want string) {
	if d.failed {
		return
	}
	got := ""
	switch c := d.space(); {
	case c == '"':
		got = "string"
	case c == '{':
		got = "object"
	case c == '[':
		got = "array"
	case c == 't' || c == 'f':
		got = "bool"
	case c == '-' || c-'0' <= 9:
		got = "number"
	default:
		d.unexpected("looking for beginning of value")
		return
	}
	d.fail(d.pos, "cannot use "+got+" as "+want)
}

// short cuts text for a message.
func short(text string) string {
	const limit = 40
	if len(text) <= limit {
		return text
	}
	return text[:limit] + "..."
}

func (d *Decoder) error() *Error {
	e := &Error{Line: 1 + strings.Count(d.s[:d.off], "\n"), Msg: d.msg}
	if !d.isSyntax {
		e.Path = pathAt(d.s, d.off)
	}
	return e
}

// level is an object or list that is open at some position.
type level struct {
	isList  bool
	index   int
	key     string
	wantKey bool
}

// pathAt names the value at off. It walks the document again, so that decoding does not
// have to keep track; what is before off is known to be well-formed.
func pathAt(s string, off int) string {
	var stack []level
	for i := 0; i < off; i++ {
		top := len(stack) - 1
		switch s[i] {
		case '{':
			stack = append(stack, level{wantKey: true})
		case '[':
			stack = append(stack, level{isList: true})
		case '}', ']':
			stack = stack[:top]
		case ',':
			stack[top].index++
			stack[top].wantKey = !stack[top].isList
		case '"':
			d := Decoder{s: s, pos: i}
			text := d.str()
			i = d.pos - 1
			if top >= 0 && stack[top].wantKey {
				stack[top].key, stack[top].wantKey = text, false
			}
		}
	}
	return render(stack)
}

func render(stack []level) string {
	var b strings.Builder
	for i, l := range stack {
		switch {
		case l.isList:
			b.WriteString("[" + strconv.Itoa(l.index) + "]")
		case !plain(l.key):
			b.WriteString("[" + strconv.Quote(short(l.key)) + "]")
		default:
			if i > 0 {
				b.WriteByte('.')
			}
			b.WriteString(l.key)
		}
	}
	return b.String()
}

// plain tells whether a key can stand in a path without quotes.
func plain(key string) bool {
	for _, c := range []byte(key) {
		if c-'0' > 9 && (c|0x20 < 'a' || c|0x20 > 'z') && c != '_' && c != '-' {
			return false
		}
	}
	return key != "" && len(key) <= 64
}
