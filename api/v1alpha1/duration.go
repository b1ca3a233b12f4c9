package v1alpha1

import (
	"errors"
	"fmt"
	"math"
	"strconv"
	"time"

	"k8s.io/apimachinery/pkg/util/validation/field"
)

// Duration is a length of time as HAProxy writes one: a whole number and one of the units us, ms, s, m, h and d.
// It stays the text that it was, so that 60s is rendered as 60s and not as 1m.
//
// +kubebuilder:validation:Pattern=`^[0-9]+(us|ms|s|m|h|d)$`
type Duration string

// MaxDuration is the longest time that HAProxy's timers can hold: 2^31-1 milliseconds, some 24 days.
const MaxDuration = math.MaxInt32 * time.Millisecond

// What is wrong with a Duration that cannot be parsed.
var (
	ErrDurationSyntax = errors.New("must be a whole number and a unit (us, ms, s, m, h or d), such as 500ms or 60s")
	ErrDurationRange  = errors.New("must be from 1ms to 24d")
)

var durationUnits = map[string]time.Duration{
	"us": time.Microsecond,
	"ms": time.Millisecond,
	"s":  time.Second,
	"m":  time.Minute,
	"h":  time.Hour,
	"d":  24 * time.Hour,
}

// Parse gives the length of d. The error is ErrDurationSyntax or ErrDurationRange, which reads well after the name of a field:
// HAProxy takes a number without a unit for milliseconds, and 0 for no timeout at all, and nobody who writes that means it.
func (d Duration) Parse() (time.Duration, error) {
	digits := 0
	for digits < len(d) && d[digits] >= '0' && d[digits] <= '9' {
		digits++
	}
	unit, ok := durationUnits[string(d[digits:])]
	if !ok || digits == 0 {
		return 0, ErrDurationSyntax
	}
	n, err := strconv.ParseInt(string(d[:digits]), 10, 64)
	if err != nil || n > int64(MaxDuration/unit) {
		return 0, ErrDurationRange
	}
	length := time.Duration(n) * unit
	if length < time.Millisecond {
		return 0, ErrDurationRange
	}
	return length, nil
}

// validate reports what is wrong with d at path.
func (d Duration) validate(path *field.Path) field.ErrorList {
	if _, err := d.Parse(); err != nil {
		return field.ErrorList{field.Invalid(path, string(d), fmt.Sprint(err))}
	}
	return nil
}
