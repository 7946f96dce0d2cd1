package scan

import (
	"strings"
	"unicode/utf16"
	"unicode/utf8"
)

// str reads the string that begins at pos.
func (d *Decoder) str() string {
	start := d.pos + 1
	for i := start; i < len(d.s); i++ {
		switch c := d.s[i]; {
		case c == '"':
			d.pos = i + 1
			return d.s[start:i]
		case c < ' ' || c == '\\' || c >= utf8.RuneSelf:
			return d.longString(start)
		}
	}
	d.end()
	return ""
}

// longString reads a string that has escapes or is not ASCII, or is wrong.
func (d *Decoder) longString(start int) string {
	d.skipString()
	if d.failed {
		return ""
	}
	raw := d.s[start : d.pos-1]
	if strings.IndexByte(raw, '\\') < 0 && utf8.ValidString(raw) {
		return raw
	}
	return unescape(raw)
}

// skipString checks the string that begins at pos and goes behind it.
func (d *Decoder) skipString() {
	for i := d.pos + 1; i < len(d.s); i++ {
		switch c := d.s[i]; {
		case c == '"':
			d.pos = i + 1
			return
		case c < ' ':
			d.pos = i
			d.unexpected("in string literal")
			return
		case c == '\\':
			n := d.checkEscape(i + 1)
			if n == 0 {
				return
			}
			i += n
		}
	}
	d.end()
}

// checkEscape returns the length of the escape sequence whose letter is at i; 0 on error.
func (d *Decoder) checkEscape(i int) int {
	if i >= len(d.s) {
		d.end()
		return 0
	}
	switch d.s[i] {
	case '"', '\\', '/', 'b', 'f', 'n', 'r', 't':
		return 1
	case 'u':
	default:
		d.pos = i
		d.unexpected("in string escape code")
		return 0
	}
	for j := i + 1; j <= i+4; j++ {
		if j >= len(d.s) {
			d.end()
			return 0
		}
		if hexValue(d.s[j]) < 0 {
			d.pos = j
			d.unexpected("in \\u hexadecimal character escape")
			return 0
		}
	}
	return 5
}

func hexValue(c byte) rune {
	switch {
	case c-'0' <= 9:
		return rune(c - '0')
	case c|0x20 >= 'a' && c|0x20 <= 'f':
		return rune(c|0x20-'a') + 10
	}
	return -1
}

// unescape resolves the escapes of raw, which were checked, and replaces each byte that is
// no UTF-8 and each lone surrogate by U+FFFD.
func unescape(raw string) string {
	var b strings.Builder
	b.Grow(len(raw))
	for i := 0; i < len(raw); {
		c := raw[i]
		switch {
		case c == '\\' && raw[i+1] == 'u':
			r, n := unicodeEscape(raw[i:])
			b.WriteRune(r)
			i += n
		case c == '\\':
			b.WriteByte(simpleEscape(raw[i+1]))
			i += 2
		case c < utf8.RuneSelf:
			b.WriteByte(c)
			i++
		default:
			r, n := utf8.DecodeRuneInString(raw[i:])
			b.WriteRune(r)
			i += n
		}
	}
	return b.String()
}

// unicodeEscape resolves the \u escape at the start of s, and a second one that makes a
// surrogate pair with it.
func unicodeEscape(s string) (r rune, n int) {
	r = hex4(s[2:6])
	if !utf16.IsSurrogate(r) {
		return r, 6
	}
	if len(s) >= 12 && s[6] == '\\' && s[7] == 'u' {
		if pair := utf16.DecodeRune(r, hex4(s[8:12])); pair != utf8.RuneError {
			return pair, 12
		}
	}
	return utf8.RuneError, 6
}

func hex4(s string) rune {
	return hexValue(s[0])<<12 | hexValue(s[1])<<8 | hexValue(s[2])<<4 | hexValue(s[3])
}

func simpleEscape(c byte) byte {
	switch c {
	case 'b':
		return '\b'
	case 'f':
		return '\f'
	case 'n':
		return '\n'
	case 'r':
		return '\r'
	case 't':
		return '\t'
	}
	return c
}
