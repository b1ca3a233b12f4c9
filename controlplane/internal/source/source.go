package source

import (
	"context"
	"errors"
	"time"
)

// Source reads objects from one place.
type Source interface {
	// Name is the cluster in the key of every row.
	Name() string

	// Run delivers to sink until ctx ends, and returns nil then. It returns an error only when it can never deliver
	// anything; a place that cannot be read now is a State, not an error. Everything that Run started has ended when it
	// returns, and it calls sink from one goroutine only.
	Run(ctx context.Context, sink Sink) error
}

// Forgetter is a source of which an operator can say that what cannot be read of it at this moment counts as deleted.
type Forgetter interface {
	// Forget delivers that from the goroutine of Run, and returns how many objects went when the sink has it. The word is kept in State.Forgotten until
	// something new happens to what was forgotten; what can be read again simply comes back. It fails with ErrNothingToForget, with
	// ErrEnded, or as ctx does.
	Forget(ctx context.Context) (removed int, err error)
}

var (
	// ErrNothingToForget is Forget's answer when all of the source can be read, or what cannot is forgotten.
	ErrNothingToForget = errors.New("all of it can be read or is forgotten already, so there is nothing to forget")
	// ErrEnded is Forget's answer when Run has returned.
	ErrEnded = errors.New("the source is not running any longer")
)

// Sink takes what a source delivers. The sink owns the batch and its slices from then on.
type Sink interface {
	Deliver(Batch)
}

// Batch is one atomic change (SRC-2).
type Batch struct {
	Source string

	// Seen is when the source saw the change, by this machine's clock: for the histogram from there to applied.
	Seen time.Time

	// Full says that this is a list: Put and Reports are all there are, and what is not among them is gone.
	Full bool

	// ByHand says that an operator ordered what goes in this batch: nobody holds it back.
	ByHand bool

	Put     []Row
	Gone    []Key
	Reports []Report

	// State is the source's new state, nil when it is as before.
	State *State
}

// State is how a source is doing.
type State struct {
	// Listed says that a full list was delivered, be it with parts that could not be read.
	Listed bool

	// Synced says that since the plane started everything could be read at least once: there was a list without an unreadable
	// part, or the unreadable parts were mended or forgotten since. Only then is an object that is not there known not to be there.
	Synced bool

	// StaleSince is since when the source has been failing, in whole or in part; zero when all of it is fresh.
	StaleSince time.Time

	// Error says what is wrong and what to do, while StaleSince is set.
	Error string

	// Forgotten is since when something that cannot be read counts as deleted by an operator's word, and Ignored says what. It is no part of StaleSince and
	// Error. A source that can be read and has no object at all can be forgotten, too: then it is meant to have none.
	Forgotten time.Time
	Ignored   string
}

// Severity is how bad a problem is for its object.
type Severity uint8

const (
	// Rejected: nothing of the object is in force.
	Rejected Severity = iota + 1
	// Warned: the part of the object that is sound, or its last accepted form, is in force.
	Warned
	// Skipped: nothing is wrong, but Berth does not read such objects.
	Skipped
)

func (s Severity) String() string {
	switch s {
	case Rejected:
		return "rejected"
	case Warned:
		return "warned"
	case Skipped:
		return "skipped"
	}
	return "unknown"
}

// Problem is what is wrong with one object.
type Problem struct {
	// Object is the object concerned. Its Kind is empty when the document does not even say what it is.
	Object Key

	Severity Severity

	// Place is where the object was read, for people: a file and a line. Empty where the object's name says it all.
	Place string

	// Reason says what is wrong and, where it is not plain, what to do.
	Reason string

	// Hosts are the host names that a rejected Ingress lays claim to, as far as they are valid: they stay claimed and closed by who serves its class.
	Hosts []string

	// Class is the class that the rejected Ingress names, empty when it names none. AnyClass says that it cannot be read: then it may be anybody's.
	Class    string
	AnyClass bool
}

// Report is everything that there is to say about one origin (a file of a directory, an object of a cluster). It replaces the
// report before it; a report without problems clears it.
type Report struct {
	Origin   string
	Problems []Problem
}
