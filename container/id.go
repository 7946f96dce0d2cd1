package container

// CheckID is the one place that says which ids are valid: letters, digits and "_+.-", not
// "." or "..", at most 255 bytes (a directory's name).
func CheckID(id string) error {
	if id == "" || id == "." || id == ".." || len(id) > 255 {
		return &IDError{id}
	}
	for i := 0; i < len(id); i++ {
		c := id[i]
		switch {
		case c >= 'a' && c <= 'z', c >= 'A' && c <= 'Z', c >= '0' && c <= '9',
			c == '_', c == '+', c == '.', c == '-':
		default:
			return &IDError{id}
		}
	}
	return nil
}
