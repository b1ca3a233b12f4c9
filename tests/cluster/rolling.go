package cluster

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"sync"
	"time"

	"github.com/berth-proxy/berth/tests/pod"
)

// Ending says how a pod ends (CLU-2).
type Ending struct {
	// ServeOn is how long a pod serves after its slice says that it terminates.
	ServeOn time.Duration
	// AtOnce makes a pod exit at SIGTERM; the slice is written after it is gone.
	AtOnce bool
	// Pause is the time from one replacement to the next in a rolling restart.
	Pause time.Duration
}

// RollingRestart replaces every pod by a new one, one after the other: the new pod is ready before the old one leaves.
// A pod that serves on does not hold up the next replacement, and one that leaves already is not replaced. It returns when the last old pod is gone and written so.
func (d *Deployment) RollingRestart(ctx context.Context, e Ending) error {
	old := d.staying()
	var ends sync.WaitGroup
	errs := make([]error, len(old)+1)
	for i, m := range old {
		if i > 0 {
			errs[len(old)] = pause(ctx, e.Pause)
		}
		errs[len(old)] = errors.Join(errs[len(old)], d.grow(ctx, 1))
		if errs[len(old)] != nil {
			break
		}
		leave := d.leave(e, m)
		ends.Go(func() { errs[i] = leave(ctx) })
	}
	ends.Wait()
	if err := errors.Join(errs...); err != nil {
		return fmt.Errorf("restart %s: %w", d.Service(), err)
	}
	return nil
}

// Scale starts or ends pods until there are n; the youngest go first. It returns when the ended ones are gone.
func (d *Deployment) Scale(ctx context.Context, n int, e Ending) error {
	staying := d.staying()
	var err error
	if n >= len(staying) {
		err = d.grow(ctx, n-len(staying))
	} else {
		err = d.leave(e, staying[n:]...)(ctx)
	}
	if err != nil {
		return fmt.Errorf("scale %s to %d: %w", d.Service(), n, err)
	}
	return nil
}

// staying are the pods that do not leave.
func (d *Deployment) staying() []*member {
	d.mu.Lock()
	defer d.mu.Unlock()
	var staying []*member
	for _, m := range d.members {
		if !m.endpoint.Terminating {
			staying = append(staying, m)
		}
	}
	return staying
}

// Bury removes a pod from the slices, whether it lives or not, and kills it. (A pod whose machine died is killed through
// its Instance, and buried some time later.)
func (d *Deployment) Bury(p Instance) error {
	err := d.change(func(members []*member) []*member {
		var kept []*member
		for _, m := range members {
			if m.instance != p {
				kept = append(kept, m)
			}
		}
		return kept
	})
	err = errors.Join(err, p.Kill())
	d.cluster.release(p)
	return err
}

// grow starts pods and writes them all at once, as a controller that works through a burst does.
func (d *Deployment) grow(ctx context.Context, n int) error {
	if n == 0 {
		return nil
	}
	fresh := make([]*member, n)
	for i := range fresh {
		var err error
		if fresh[i], err = d.start(ctx); err != nil {
			return err
		}
	}
	return d.change(add(fresh...))
}

// leave begins the end of some pods and returns what goes through with it: their serving on, their end and their leaving
// the slices.
func (d *Deployment) leave(e Ending, leaving ...*member) func(context.Context) error {
	if e.AtOnce {
		var errs []error
		for _, m := range leaving {
			errs = append(errs, m.instance.Kill())
		}
		return func(context.Context) error { return errors.Join(append(errs, d.gone(leaving))...) }
	}
	err := d.change(terminating(leaving...))
	return func(ctx context.Context) error {
		errs := make([]error, len(leaving)+2)
		var ends sync.WaitGroup
		for i, m := range leaving {
			ends.Go(func() { errs[i] = m.instance.Terminate(ctx, e.ServeOn) })
		}
		ends.Wait()
		errs[len(leaving)], errs[len(leaving)+1] = err, d.gone(leaving)
		return errors.Join(errs...)
	}
}

func (d *Deployment) gone(members []*member) error {
	err := d.change(remove(members...))
	for _, m := range members {
		d.cluster.release(m.instance)
	}
	return err
}

func pause(ctx context.Context, d time.Duration) error {
	select {
	case <-ctx.Done():
		return ctx.Err()
	case <-time.After(d):
		return nil
	}
}

// answers waits until a pod answers its health path.
func answers(ctx context.Context, p Instance) error {
	client := http.Client{Transport: &http.Transport{DisableKeepAlives: true}}
	url := "http://" + p.Config().Address.String() + pod.HealthPath
	for {
		req, err := http.NewRequestWithContext(ctx, http.MethodGet, url, nil)
		if err != nil {
			return fmt.Errorf("ask pod %s whether it is ready: %w", p.Config().Name, err)
		}
		resp, err := client.Do(req)
		if err == nil {
			_ = resp.Body.Close()
			if resp.StatusCode == http.StatusOK {
				return nil
			}
			err = errors.New(resp.Status)
		}
		if ctxErr := pause(ctx, 10*time.Millisecond); ctxErr != nil {
			return fmt.Errorf("wait for pod %s to answer: %w (last: %w)", p.Config().Name, ctxErr, err)
		}
	}
}
