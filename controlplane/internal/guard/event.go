package guard

import (
	"time"

	"github.com/berth-proxy/berth/controlplane/internal/source"
)

// event is what there is to say about a step, once nobody waits for the guard any longer.
type event struct {
	source string
	what   what
	silent bool

	loss     []source.Key
	backends int
	until    time.Time
	back     int // how many came back
	held     int // how many are held now
	removed  int
}

type what int

const (
	nothing what = iota
	began
	grew
	cameBack
	expired
	released
)

// quiet silences the event when one like it was told less than a second ago, and gives when one was told last.
func quiet(told, now time.Time, e *event) time.Time {
	if now.Before(told.Add(time.Second)) {
		e.silent = true
		return told
	}
	return now
}

// namedInLog is how many objects a line of the log names.
const namedInLog = 5

func (g *Guard) say(e event) {
	if e.silent {
		return
	}
	log := g.config.Log.With().Str("source", e.source).Logger()
	switch e.what {
	case began, grew:
		text := "so many objects vanished in one step that their removal is held back; berthctl sources release " + e.source + " applies it at once"
		if e.what == grew {
			text = "more objects vanished; their removal is held back with the rest"
		}
		log.Warn().Int("objects", len(e.loss)).Int("backends", e.backends).Int("held", e.held).Strs("first", names(e.loss, namedInLog)).
			Time("until", e.until).Msg(text)
	case cameBack:
		log.Info().Int("objects", e.back).Msg("what had vanished is back; nothing is held back any longer")
	case expired:
		log.Warn().Int("objects", e.removed).Msg("what was held back has not come back and is removed")
	case released:
		log.Info().Int("objects", e.removed).Msg("what was held back is removed, by hand")
	case nothing:
	}
}
