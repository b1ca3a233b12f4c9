package haproxy

import (
	"errors"
	"fmt"
)

// The errors to decide by.
var (
	// ErrConnection: the socket cannot be reached, or the connection broke or was too slow. What was written may have been done.
	ErrConnection = errors.New("no answer from HAProxy")
	// ErrStopping: the worker is leaving; a new one takes the traffic.
	ErrStopping = errors.New("the worker is leaving")
	// ErrNotRunning: there is no HAProxy behind the master socket.
	ErrNotRunning = errors.New("HAProxy does not run")
	// ErrElsewhere: a new worker serves, and was not started with a configuration that has this runtime socket.
	ErrElsewhere = errors.New("it does not listen at the runtime socket where it is looked for")
	// ErrNoSuchBackend and ErrNoSuchServer: the worker does not have it.
	ErrNoSuchBackend = errors.New("no such backend")
	ErrNoSuchServer  = errors.New("no such server")
	// ErrRefused: HAProxy does not do what the command says; the error has its words.
	ErrRefused = errors.New("refused by HAProxy")
	// ErrMalformed: an answer is not what it should be.
	ErrMalformed = errors.New("unexpected answer of HAProxy")
	// ErrRejected: HAProxy does not take a configuration.
	ErrRejected = errors.New("configuration refused by HAProxy")
	// ErrBind: an address cannot be listened on.
	ErrBind = errors.New("HAProxy cannot listen")
	// ErrResources: not enough file descriptors, memory, disk or processes.
	ErrResources = errors.New("HAProxy lacks resources")
	// ErrStart: HAProxy could not be started, or ended at once.
	ErrStart = errors.New("HAProxy cannot be started")
)

// Kinds of ErrRefused: each of them is one.
var (
	// ErrInvalidCommand: a command that was not sent, because HAProxy would read it as something else.
	ErrInvalidCommand = fmt.Errorf("a command that cannot be sent: %w", ErrRefused)
	// ErrInvalidAddress: HAProxy does not understand an address or a port.
	ErrInvalidAddress = fmt.Errorf("an invalid address: %w", ErrRefused)
	// ErrExists: a name or an id that is taken.
	ErrExists = fmt.Errorf("it exists: %w", ErrRefused)
	// ErrInUse: a server or backend that cannot be removed yet.
	ErrInUse = fmt.Errorf("it is in use: %w", ErrRefused)
	// ErrStatic: a backend whose way of balancing takes no servers at run time.
	ErrStatic = fmt.Errorf("the backend takes no servers at run time: %w", ErrRefused)
	// ErrNoSuchMap and ErrNoSuchEntry: the worker has no such map, or the map no such key.
	ErrNoSuchMap   = fmt.Errorf("no such map: %w", ErrRefused)
	ErrNoSuchEntry = fmt.Errorf("no such entry: %w", ErrRefused)
	// ErrUnknownCommand: this version of HAProxy does not have the command.
	ErrUnknownCommand = fmt.Errorf("an unknown command: %w", ErrRefused)
)
