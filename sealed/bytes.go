package sealed

import "unsafe"

// unsafeBytes is the string's own memory, for a system call that only reads it: a copy of an
// embedded program would cost its size in page faults.
func unsafeBytes(s string) []byte { return unsafe.Slice(unsafe.StringData(s), len(s)) }
