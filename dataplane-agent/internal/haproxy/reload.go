package haproxy

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"
)

// Reload has the master start a new worker, and returns that worker once it serves. It fails as soon as the master counts a failed reload; the worker before
// then goes on.
//
// Nothing is decided by the master's answer (HAPROXY-3). What counts is who answers at the worker's socket: a worker that the master did not have
// before the reload, and that is not leaving. Both workers accept there for a moment, so several looks may still meet the one before.
//
// A master whose socket's file is gone is told by a signal, and puts it back.
func Reload(ctx context.Context, master, socket string, previous Identity) (Identity, error) {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	before, err := showPatiently(ctx, master, socket)
	if err != nil {
		return Identity{}, err
	}
	process, err := Identify(before.Master)
	if err != nil {
		process = Identity{} // it lives where we cannot see it
	}
	stateDir := filepath.Dir(socket)
	_ = TrimLog(stateDir) // a log that stays long harms less than a reload that does not happen
	logAt := logSize(stateDir)
	answer := make(chan string, 1)
	go func() { answer <- order(ctx, master, before) }()
	w := waiter{master: master, socket: socket, process: process, previous: previous, before: before}
	id, err := w.wait(ctx)
	if errors.Is(err, errReloadFailed) {
		return Identity{}, judgeLog(reloadLog(ctx, cancel, answer, stateDir, logAt))
	}
	cancel()
	<-answer
	return id, err
}

// patience is how long a master may refuse connections while its worker serves. Before 2.7 it executes itself again, once more when a new worker serves,
// and does not listen meanwhile; how long that takes follows the size of the configuration.
const patience = 10 * time.Second

// showPatiently is Show for a master that may be busy with itself. Of one whose socket is gone the kernel tells.
func showPatiently(ctx context.Context, master, socket string) (Processes, error) {
	p, err := showBriefly(ctx, master)
	for end := time.Now().Add(patience); err != nil && time.Now().Before(end); p, err = showBriefly(ctx, master) {
		_, servingErr := serving(ctx, socket)
		if noFile := errors.Is(err, fs.ErrNotExist); errors.Is(err, ErrNotRunning) && (noFile || servingErr != nil) {
			switch process, lives := FindMaster(master); {
			case lives && noFile:
				return Processes{Master: process.PID, Reloads: -1, Workers: process.Children}, nil
			case !lives && servingErr != nil:
				return p, err
			}
		}
		if pauseErr := pause(ctx, pollEvery); pauseErr != nil {
			return p, fmt.Errorf("%w: %w", err, pauseErr)
		}
	}
	return p, err
}

const (
	// orderAgain is how long an order is given to be followed by a master that answers, before it is taken for dropped.
	orderAgain = 500 * time.Millisecond
	// answersWithin is how long a master may take to answer an order before it is looked whether it follows.
	answersWithin = 10 * time.Second
	// busy is what a master says that is reloading for somebody else.
	busy = "Another reload is still in progress"
)

// order tells the master to reload until it does, and returns its answer. Before 2.7 there is none, and a master that is busy with itself takes connections and drops
// them; a later one says that it is busy, or drops a signal.
func order(ctx context.Context, master string, before Processes) string {
	for {
		text, err := orderOnce(ctx, master)
		switch {
		case ctx.Err() != nil, err == nil && text != "" && !strings.Contains(text, busy):
			return text
		case err != nil && errors.Is(err, ErrNotRunning), text != "" && err == nil:
		case follows(ctx, master, before):
			return text
		}
		if pause(ctx, askMasterEvery) != nil {
			return text
		}
	}
}

// orderOnce orders a reload, by a signal if the file of the master's socket is gone.
func orderOnce(ctx context.Context, master string) (string, error) {
	brief, cancel := context.WithTimeout(ctx, answersWithin)
	defer cancel()
	text, err := command(brief, master, "reload")
	if errors.Is(err, fs.ErrNotExist) {
		if process, ok := FindMaster(master); ok {
			return "", signalled(process.Identity)
		}
	}
	return text, err
}

// follows says whether a master that gave no answer has begun with a new worker. Its count of reloads does not tell: it may be that of a reload for somebody else.
func follows(ctx context.Context, master string, before Processes) bool {
	var idle time.Time
	for {
		p, err := showBriefly(ctx, master)
		switch now := time.Now(); {
		case ctx.Err() != nil:
			return true
		case err == nil && (p.Failed > 0 && p.Reloads > before.Reloads || slices.ContainsFunc(p.Workers, func(pid int) bool { return !before.lists(pid) })):
			return true
		case err != nil && !errors.Is(err, fs.ErrNotExist): // it is busy with itself, most likely with the order
			idle = time.Time{}
		case idle.IsZero():
			idle = now
		case now.Sub(idle) > orderAgain:
			return false
		}
		if pause(ctx, askMasterEvery) != nil {
			return true
		}
	}
}

// answerWithin is how long the log of a failed reload is waited for. It comes with the failure.
const answerWithin = time.Second

// reloadLog is what HAProxy says of a reload that failed: the master's answer, or else what it has written since.
func reloadLog(ctx context.Context, cancel context.CancelFunc, answer <-chan string, stateDir string, logAt int64) string {
	var text string
	select {
	case text = <-answer:
	case <-ctx.Done():
		text = <-answer
	case <-time.After(answerWithin):
		cancel()
		text = <-answer
	}
	if alerts, _ := ParseLog(text); len(alerts) > 0 {
		return text
	}
	return text + logFrom(stateDir, logAt)
}

var errReloadFailed = errors.New("the master counts a failed reload")

// askMasterEvery is how often the master is asked whether the reload has failed.
const askMasterEvery = 20 * time.Millisecond

// waiter waits for the worker of one reload.
type waiter struct {
	master, socket string
	process        Identity // the master's, zero if it cannot be seen
	previous       Identity
	before         Processes
	// elsewhere is since when a new worker serves that does not answer at the socket, zero if none does.
	elsewhere time.Time
}

// elsewhereAfter is how long a new worker may serve without being met at its socket.
const elsewhereAfter = 2 * time.Second

// wait looks at the worker's socket. The master is asked beside that: it may not answer for a while, and a new worker that serves is not to wait for it.
func (w *waiter) wait(ctx context.Context) (Identity, error) {
	ctx, cancel := context.WithCancel(ctx)
	failed := make(chan error, 1)
	var watching sync.WaitGroup
	watching.Go(func() { failed <- w.watch(ctx) })
	defer watching.Wait()
	defer cancel()
	for {
		id, err := serving(ctx, w.socket)
		if err == nil && id != w.previous && !w.before.lists(id.PID) {
			return id, nil
		}
		select {
		case err := <-failed:
			return Identity{}, err
		default:
		}
		if err := pause(ctx, pollEvery); err != nil {
			return Identity{}, fmt.Errorf("wait for the new worker: %w", err)
		}
	}
}

// watch asks the master until it says that the reload has come to nothing.
func (w *waiter) watch(ctx context.Context) error {
	for {
		if err := pause(ctx, askMasterEvery); err != nil {
			return fmt.Errorf("wait for the new worker: %w", err)
		}
		if err := w.failed(ctx); err != nil {
			return err
		}
	}
}

// failed says whether the reload has failed or can come to nothing any more.
func (w *waiter) failed(ctx context.Context) error {
	now, err := showBriefly(ctx, w.master)
	switch {
	case errors.Is(err, ErrNotRunning) && !w.process.IsZero() && !w.process.Alive():
		return fmt.Errorf("the master has ended: %w", err)
	case err != nil:
		return nil //nolint:nilerr // A master that reloads does not answer, and refuses connections, as long as it reads its configuration.
	case now.Reloads <= w.before.Reloads && now.Master == w.before.Master:
		return nil // it has not begun
	case now.Failed == 0:
		return w.servesElsewhere(ctx, now)
	}
	for _, pid := range now.Workers {
		if !w.before.lists(pid) {
			return nil
		}
	}
	return errReloadFailed
}

// servesElsewhere says whether a new worker serves, and has been for some time, without listening at the socket where it is looked for.
func (w *waiter) servesElsewhere(ctx context.Context, now Processes) error {
	pid, ok := now.Current()
	if !ok || w.before.lists(pid) {
		return nil
	}
	ctx, cancel := context.WithTimeout(ctx, briefly)
	defer cancel()
	text, err := command(ctx, w.master, "@!"+strconv.Itoa(pid)+" show info")
	if err == nil {
		_, err = ParseInfo(text)
	}
	switch {
	case err != nil:
		w.elsewhere = time.Time{}
	case w.elsewhere.IsZero():
		w.elsewhere = time.Now()
	case time.Since(w.elsewhere) > elsewhereAfter:
		return fmt.Errorf("worker %d serves: %w (%s)", pid, ErrElsewhere, w.socket)
	}
	return nil
}
