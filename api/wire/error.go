package wire

import (
	"errors"
	"fmt"
	"strings"

	fleetv1 "github.com/berth-proxy/berth/proto/berth/fleet/v1"
)

// Error says why a message or an update was not taken: CODE_INVALID (a limit or a rule of the protocol is broken), CODE_BASE_MISMATCH or
// CODE_DIGEST_MISMATCH.
type Error struct {
	Code fleetv1.Code
	// Object is what it was about: a resource, a clock, a frame.
	Object string
	Reason string
}

func (e *Error) Error() string { return e.Object + ": " + e.Reason }

// CodeOf is the code of an Error anywhere in err, CODE_OK of nil, and CODE_INTERNAL of any other error.
func CodeOf(err error) fleetv1.Code {
	var e *Error
	switch {
	case err == nil:
		return fleetv1.Code_CODE_OK
	case errors.As(err, &e):
		return e.Code
	default:
		return fleetv1.Code_CODE_INTERNAL
	}
}

// CodeName is a code as people read it in logs, in the admin API and in the documentation: without the prefix of the enum, and empty for none.
func CodeName(c fleetv1.Code) string {
	if c == fleetv1.Code_CODE_UNSPECIFIED {
		return ""
	}
	return strings.TrimPrefix(c.String(), "CODE_")
}

func invalid(object, format string, args ...any) error {
	return &Error{Code: fleetv1.Code_CODE_INVALID, Object: object, Reason: fmt.Sprintf(format, args...)}
}
