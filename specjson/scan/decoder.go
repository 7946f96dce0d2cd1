// Package scan reads and writes JSON for the code that specjson/gen generates: tokens,
// scalars, lists, maps and pointers, without reflection and without encoding/json.
//
// What it accepts and what it makes of it is what encoding/json does: keys match without
// regard to case when no field has exactly that name, unknown keys are skipped (their syntax
// is checked), null leaves scalars and structs alone and clears pointers, lists and maps,
// a repeated key decodes into what the first one left, invalid UTF-8 becomes U+FFFD.
// It differs in limits that keep hostile input cheap: 512 levels of nesting (encoding/json:
// 10000) and MaxElements in one list.
//
// It knows nothing of any document: no field names, no policy, no files.
package scan

// MaxElements bounds one list. A list element may be 3 bytes in a document and more than a
// hundred in memory.
const MaxElements = 1 << 18

const maxDepth = 512

// captures is how many values a document's decoder can capture (see Begin).
const captures = 4

// Decoder reads one document. The first error stops it: from then on every method sees the
// end of the input, loops end, and Finish tells. The decoded strings share the memory of one
// copy of the document.
type Decoder struct {
	// Arena is memory for what is decoded, for the generated functions that use Take.
	Arena any

	s        string
	pos      int
	depth    int
	failed   bool
	off      int // of the error
	msg      string
	isSyntax bool
	spans    [captures]span
	strings  []string // see Strings
	taken    uint64   // see Take
}

type span struct {
	start, end int
	seen       bool
}

// New returns a decoder of data.
func New(data []byte) *Decoder {
	return &Decoder{s: string(data)}
}

// Init makes d a decoder of data, with a list to cut lists of strings from.
func (d *Decoder) Init(data []byte, strings []string) {
	*d = Decoder{s: string(data), strings: strings[:0]}
}

// Take tells whether there is an arena and part i of it, of 64, is asked for the first time.
func (d *Decoder) Take(i uint) bool {
	if d.Arena == nil || d.taken>>i&1 == 1 {
		return false
	}
	d.taken |= 1 << i
	return true
}

// Unmarshal decodes data, the whole of it, into v by read, a generated function.
func Unmarshal[T any](data []byte, v *T, read func(*Decoder, *T)) error {
	d := New(data)
	read(d, v)
	return d.Finish()
}

// Finish checks that nothing follows the document's value and returns the first error, an *Error.
func (d *Decoder) Finish() error {
	d.space()
	if !d.failed && d.pos != len(d.s) {
		d.unexpected("after top-level value")
	}
	if !d.failed {
		return nil
	}
	return d.error()
}

// space skips white space and returns the byte at pos; 0 at the end.
func (d *Decoder) space() byte {
	for d.pos < len(d.s) {
		c := d.s[d.pos]
		if c > ' ' || c != ' ' && c != '\n' && c != '\t' && c != '\r' {
			return c
		}
		d.pos++
	}
	return 0
}

// Open begins an object and returns its first key; more is false if there is none, on null
// and on error. The caller reads or skips the value and goes on with Next.
func (d *Decoder) Open() (key string, more bool) {
	switch d.space() {
	case '{':
	case 'n':
		d.literal("null")
		return "", false
	default:
		d.mismatch("object")
		return "", false
	}
	if !d.enter() {
		return "", false
	}
	if d.space() == '}' {
		d.leave()
		return "", false
	}
	return d.key()
}

// Next ends one member of an object and returns the next one's key.
func (d *Decoder) Next() (key string, more bool) {
	switch d.space() {
	case ',':
		d.pos++
		return d.key()
	case '}':
		d.leave()
	default:
		d.unexpected("after object key:value pair")
	}
	return "", false
}

func (d *Decoder) key() (string, bool) {
	if d.space() != '"' {
		d.unexpected("looking for beginning of object key string")
		return "", false
	}
	k := d.str()
	if d.space() != ':' {
		d.unexpected("after object key")
		return "", false
	}
	d.pos++
	return k, !d.failed
}

// openList begins a list; false if it is empty or no list.
func (d *Decoder) openList() bool {
	if d.space() != '[' {
		d.mismatch("array")
		return false
	}
	if !d.enter() {
		return false
	}
	if d.space() == ']' {
		d.leave()
		return false
	}
	return true
}

// nextElement ends an element of a list; false if it was the last.
func (d *Decoder) nextElement() bool {
	switch d.space() {
	case ',':
		d.pos++
		return true
	case ']':
		d.leave()
	default:
		d.unexpected("after array element")
	}
	return false
}

func (d *Decoder) enter() bool {
	if d.depth == maxDepth {
		d.syntax(d.pos, "nested deeper than 512 levels")
		return false
	}
	d.depth++
	d.pos++
	return true
}

func (d *Decoder) leave() {
	if d.failed {
		return
	}
	d.depth--
	d.pos++
}

// null consumes a null if that is what comes.
func (d *Decoder) null() bool {
	if d.space() != 'n' {
		return false
	}
	d.literal("null")
	return true
}

// literal consumes word, whose first byte is at pos.
func (d *Decoder) literal(word string) {
	for i := 1; i < len(word); i++ {
		if d.pos+i >= len(d.s) || d.s[d.pos+i] != word[i] {
			d.pos = min(d.pos+i, len(d.s))
			d.unexpected("in literal " + word)
			return
		}
	}
	d.pos += len(word)
}

// number consumes a number and returns its text; "" on error.
func (d *Decoder) number() string {
	start := d.pos
	if d.pos < len(d.s) && d.s[d.pos] == '-' {
		d.pos++
	}
	if d.pos < len(d.s) && d.s[d.pos] == '0' {
		d.pos++
	} else if !d.digits() {
		return ""
	}
	if d.pos < len(d.s) && d.s[d.pos] == '.' {
		d.pos++
		if !d.digits() {
			return ""
		}
	}
	if d.pos < len(d.s) && (d.s[d.pos] == 'e' || d.s[d.pos] == 'E') {
		d.pos++
		if d.pos < len(d.s) && (d.s[d.pos] == '+' || d.s[d.pos] == '-') {
			d.pos++
		}
		if !d.digits() {
			return ""
		}
	}
	return d.s[start:d.pos]
}

func (d *Decoder) digits() bool {
	start := d.pos
	for d.pos < len(d.s) && d.s[d.pos]-'0' <= 9 {
		d.pos++
	}
	if d.pos == start {
		d.unexpected("in numeric literal")
		return false
	}
	return true
}

// Skip consumes any value, checking its syntax.
func (d *Decoder) Skip() {
	switch c := d.space(); {
	case c == '"':
		d.skipString()
	case c == '{':
		// Keys are not unescaped: nobody looks at them.
		if !d.enter() {
			return
		}
		for more := d.space() != '}'; more; more = d.skipComma('}', "after object key:value pair") {
			if d.space() != '"' {
				d.unexpected("looking for beginning of object key string")
				return
			}
			d.skipString()
			if d.space() != ':' {
				d.unexpected("after object key")
				return
			}
			d.pos++
			d.Skip()
		}
		d.leave()
	case c == '[':
		if !d.enter() {
			return
		}
		for more := d.space() != ']'; more; more = d.skipComma(']', "after array element") {
			d.Skip()
		}
		d.leave()
	case c == 't':
		d.literal("true")
	case c == 'f':
		d.literal("false")
	case c == 'n':
		d.literal("null")
	case c == '-' || c-'0' <= 9:
		d.number()
	default:
		d.unexpected("looking for beginning of value")
	}
}

// skipComma is false at the closing byte, which it leaves, and on error.
func (d *Decoder) skipComma(closing byte, where string) bool {
	switch d.space() {
	case ',':
		d.pos++
		return true
	case closing:
	default:
		d.unexpected(where)
	}
	return false
}

// Begin starts capture i: the value that comes. A captured value may be in the document once
// (null does not count): two could not be captured as they stand.
func (d *Decoder) Begin(i int) {
	sp := &d.spans[i]
	if d.space() == 'n' {
		sp.start, sp.end = 0, 0
		return
	}
	if sp.seen {
		d.fail(d.pos, "is in the document twice")
		return
	}
	*sp = span{start: d.pos, seen: true}
}

// End ends capture i, after its value was read.
func (d *Decoder) End(i int) {
	if sp := &d.spans[i]; sp.start != 0 && sp.end == 0 {
		sp.end = d.pos
	}
}

// Captured returns where in the document the value of capture i is; start == end: nowhere,
// or it was null last.
func (d *Decoder) Captured(i int) (start, end int) {
	return d.spans[i].start, d.spans[i].end
}
