package dir

import (
	"context"
	"path/filepath"
	"time"

	"github.com/rs/zerolog"

	"github.com/berth-proxy/berth/controlplane/internal/source"
)

// Rescan is how often the whole tree is walked, whatever fsnotify says.
const Rescan = 10 * time.Second

// retry is how often a root that is not there is looked for.
const retry = 500 * time.Millisecond

// Source is a directory. It can be run once.
type Source struct {
	name, path string
	log        zerolog.Logger
	rescan     time.Duration

	orders chan chan<- forgotten // to forget, with where the answer is wanted
	ended  chan struct{}         // closed when Run has returned
}

var (
	_ source.Source    = (*Source)(nil)
	_ source.Forgetter = (*Source)(nil)
)

// New gives the source that reads path and calls itself name. The path need not exist yet.
func New(name, path string, log zerolog.Logger) *Source {
	return &Source{
		name: name, path: path, log: log.With().Str("source", name).Logger(), rescan: Rescan,
		orders: make(chan chan<- forgotten), ended: make(chan struct{}),
	}
}

// NameOf is the name of a source that was given none: that of its folder.
func NameOf(path string) string {
	if abs, err := filepath.Abs(path); err == nil {
		path = abs
	}
	return filepath.Base(path)
}

// Name is the cluster in the key of every row.
func (s *Source) Name() string { return s.name }

// Run delivers the directory's objects to sink until ctx ends.
func (s *Source) Run(ctx context.Context, sink source.Sink) error {
	defer close(s.ended)
	root, err := filepath.Abs(s.path)
	if err != nil {
		return err
	}
	w := newWatcher(s.log)
	defer w.close()
	r := newReader(s.name, root, s.rescan, w.add)
	timer := time.NewTimer(0)
	defer timer.Stop()
	turn := func() {
		// What has been seen belongs to this turn, also when it is its time that wakes Run: files that go together are to go in one (DIR-8).
		happened := w.take()
		if happened.lost != nil {
			s.log.Info().Err(happened.lost).Msg("events were lost; looking at all files")
		}
		r.happened(happened)
		batch, walked := r.pass(time.Now())
		if walked != nil {
			w.only(walked.watch)
		}
		if batch != nil {
			s.tell(batch)
			sink.Deliver(*batch)
		}
	}
	for {
		turn()
		timer.Reset(time.Until(r.next))
		select {
		case <-ctx.Done():
			return nil
		case <-timer.C:
		case answer := <-s.orders:
			r.walkAt = time.Now() // what counts is what can be read at this moment
			turn()
			answer <- s.forget(r, sink, time.Now())
		case <-w.wake:
		}
	}
}

// maxTold bounds the lines that one batch may log.
const maxTold = 20

// tell logs what people should know of a batch.
func (s *Source) tell(b *source.Batch) {
	if b.Full {
		s.log.Info().Int("objects", len(b.Put)).Msg("listed")
	}
	switch {
	case b.State == nil:
	case b.ByHand:
		s.log.Warn().Str("forgotten", b.State.Ignored).Int("removed", len(b.Gone)).Msg("what cannot be read counts as deleted, by hand")
	case b.State.Error != "":
		s.log.Warn().Str("error", b.State.Error).Msg("source is faulty; what cannot be read stays as it was")
	case !b.Full:
		s.log.Info().Msg("source can be read again")
	}
	told := 0
	for _, report := range b.Reports {
		for _, p := range report.Problems {
			if told++; told > maxTold {
				s.log.Warn().Msg("and more; berthctl lists all")
				return
			}
			level := zerolog.WarnLevel
			if p.Severity == source.Skipped {
				level = zerolog.InfoLevel
			}
			s.log.WithLevel(level).Stringer("object", p.Object).Str("place", p.Place).Stringer("what", p.Severity).Msg(p.Reason)
		}
	}
}
