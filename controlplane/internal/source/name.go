package source

import (
	"errors"
	"fmt"
	"strings"
)

// MaxName bounds the name of a source. It stands, with a dot, in front of the names of its backends, of at most 255 bytes, and leaves room for a
// namespace, a service and a port of 63 bytes each and what tells settings apart.
const MaxName = 54

// CheckName says why a source cannot have this name. A name holds no underscore, which sets the parts of a backend's name apart, and is none of the
// shell's, so that "." and ".." are no names.
func CheckName(name string) error {
	if name == "" || len(name) > MaxName {
		return fmt.Errorf("it has %d bytes, want 1 to %d", len(name), MaxName)
	}
	const letters = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789"
	if strings.Trim(name, letters+"-.") != "" || strings.IndexAny(name, letters) != 0 {
		return errors.New("it may hold letters, digits, - and ., and begins with a letter or a digit")
	}
	return nil
}
