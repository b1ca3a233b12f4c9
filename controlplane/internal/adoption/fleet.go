package adoption

import (
	"maps"
	"slices"
	"sync"
	"time"

	"github.com/berth-proxy/berth/api/snapshot"
	"github.com/berth-proxy/berth/api/wire"
)

// Timing is how long things may take. A zero field stands for its default.
type Timing struct {
	// Wait is how long after the first Hello of the fleet the plane waits for others: 2 s.
	Wait time.Duration
	// Patience is after how long without an answer another node that holds the same is asked: 2 s.
	Patience time.Duration
	// Answer is after how long without an answer adoption goes on without it: 10 s.
	Answer time.Duration
}

func (t Timing) withDefaults() Timing {
	for _, f := range []struct {
		field *time.Duration
		value time.Duration
	}{{&t.Wait, 2 * time.Second}, {&t.Patience, 2 * time.Second}, {&t.Answer, 10 * time.Second}} {
		if *f.field <= 0 {
			*f.field = f.value
		}
	}
	return t
}

// The limits of what is kept of a fleet.
const (
	// maxQuestions is how many different generations are asked about, and maxAtOnce how many answers may be under way.
	maxQuestions = 256
	maxAtOnce    = 8
	// maxTables is how many digests of tables are remembered, maxTold how many slots.
	maxTables = 1 << 20
	maxTold   = 4 << 20
	// maxUnderWay is how many bytes there may be of answers that are not complete: some honest ones of the largest size.
	maxUnderWay = 512 << 20
)

// MaxNumber is how far nodes may push the numbers of a plane that starts: it goes on above what they tell of, up to this. From there to the end of the counter there is room for
// every generation that a plane will ever publish, and numbers stay exact where JSON makes floats of them.
const MaxNumber = 1 << 53

// Fleet is what the nodes of one fleet hold, as far as they were met and asked. It is safe for use by several goroutines.
type Fleet struct {
	timing Timing
	wake   func()

	mu sync.Mutex
	// first is when the first node was met, present since when one is there.
	first     time.Time
	present   time.Time
	questions map[snapshot.Digest]*question
	// holders counts the nodes that are there by what they hold.
	holders map[wire.Marks]int
	// highest are the highest numbers of both clocks that somebody has told of, up to MaxNumber.
	highestRevision, highestGeneration uint64
	// best are the tables to be adopted; told and tables count what is kept.
	best         map[string]winner
	told, tables int
	underWay     int
	closed       bool
}

// question is one generation that nodes hold.
type question struct {
	generation wire.Mark
	// holders is how many nodes are there that hold it.
	holders int
	// waiting are the nodes that hold it and can be asked, asked those that were.
	waiting, asked []*Holder
	// since is when it was asked for the first time of the nodes that are there, latest when for the last time; zero while nobody is asked.
	since, latest time.Time
	// answer is what was answered, once something was; answered is closed then.
	answer   Holdings
	known    bool
	answered chan struct{}
}

// Holdings are the digests of the tables of a generation, by backend. They are not to be altered.
type Holdings map[string]snapshot.Digest

// Holder is one node's stream.
type Holder struct {
	fleet    *Fleet
	held     wire.Marks
	question *question
	asked    chan struct{}
	// kept is how many bytes of its answer are.
	kept int
}

// New gives a Fleet of which no node has been met. wake is called, without a lock, when the engine has to look again.
func New(t Timing, wake func()) *Fleet {
	return &Fleet{
		timing: t.withDefaults(), wake: wake,
		questions: map[snapshot.Digest]*question{}, holders: map[wire.Marks]int{}, best: map[string]winner{},
	}
}

// Meet says that a node has connected which holds this. It may be asked if it can be.
func (f *Fleet) Meet(held wire.Marks, canBeAsked bool, now time.Time) *Holder {
	f.mu.Lock()
	h := &Holder{fleet: f, held: held, asked: make(chan struct{})}
	if f.first.IsZero() {
		f.first = now
	}
	if len(f.holders) == 0 {
		f.present = now
	}
	f.holders[held]++
	f.highestRevision = max(f.highestRevision, min(held.Revision.Version.Number, MaxNumber))
	f.highestGeneration = max(f.highestGeneration, min(held.Generation.Version.Number, MaxNumber))
	h.question = f.questionOf(held.Generation)
	if q := h.question; q != nil {
		q.holders++
		if canBeAsked && !q.known {
			q.waiting = append(q.waiting, h)
		}
	}
	ask := f.ask(now)
	f.mu.Unlock()
	f.tell(ask)
	return h
}

// questionOf is nil when there are too many.
func (f *Fleet) questionOf(generation wire.Mark) *question {
	q := f.questions[generation.Digest]
	if q != nil || len(f.questions) >= maxQuestions {
		return q
	}
	q = &question{generation: generation, answered: make(chan struct{})}
	if generation.Digest.IsZero() { // no table at all: there is nothing to ask for
		q.known = true
		close(q.answered)
	}
	f.questions[generation.Digest] = q
	return q
}

// ask chooses who is to be asked now. The caller tells them without the lock.
func (f *Fleet) ask(now time.Time) []*Holder {
	var chosen []*Holder
	under := 0
	for _, q := range f.questions {
		if !q.known && len(q.asked) > 0 && now.Sub(q.latest) < f.timing.Patience {
			under++
		}
	}
	// The highest version first: it is what will be adopted.
	for _, q := range slices.SortedFunc(maps.Values(f.questions), func(a, b *question) int { return b.generation.Version.Compare(a.generation.Version) }) {
		if under >= maxAtOnce {
			break
		}
		if q.known || len(q.waiting) == 0 || len(q.asked) > 0 && now.Sub(q.latest) < f.timing.Patience {
			continue
		}
		h := q.waiting[0]
		q.waiting = q.waiting[1:]
		q.asked = append(q.asked, h)
		if q.since.IsZero() {
			q.since = now
		}
		q.latest = now
		chosen = append(chosen, h)
		under++
	}
	return chosen
}

func (f *Fleet) tell(ask []*Holder) {
	for _, h := range ask {
		close(h.asked)
	}
	f.wake()
}

// Asked is closed when the node is to be asked for its positions.
func (h *Holder) Asked() <-chan struct{} { return h.asked }

// Answered is closed when Holdings are known, by this node or another that holds the same; nil when they never will be.
func (h *Holder) Answered() <-chan struct{} {
	if h.question == nil {
		return nil
	}
	return h.question.answered
}

// Holdings are the tables of what the node held when it was met, if they are known.
func (h *Holder) Holdings() (Holdings, bool) {
	h.fleet.mu.Lock()
	defer h.fleet.mu.Unlock()
	if h.question == nil {
		return nil, false
	}
	return h.question.answer, h.question.known
}

// Keep says whether there is room for so many bytes more of the node's answer, which are kept until the rest is there (ADOPT-6).
func (h *Holder) Keep(bytes int) bool {
	h.fleet.mu.Lock()
	defer h.fleet.mu.Unlock()
	if h.fleet.underWay+bytes > maxUnderWay {
		return false
	}
	h.fleet.underWay += bytes
	h.kept += bytes
	return true
}

// Drop says that nothing is kept of the node's answer.
func (h *Holder) Drop() {
	h.fleet.mu.Lock()
	defer h.fleet.mu.Unlock()
	h.drop()
}

func (h *Holder) drop() {
	h.fleet.underWay -= h.kept
	h.kept = 0
}

// Answer takes in what the node has told. The positions are of the generation that it was met with.
func (h *Holder) Answer(p *wire.Positions, now time.Time) {
	f := h.fleet
	f.mu.Lock()
	h.drop()
	if q := h.question; q != nil && !q.known && f.tables+len(p.Tables) <= maxTables {
		f.tables += len(p.Tables)
		q.known, q.answer = true, make(Holdings, len(p.Tables))
		for backend, t := range p.Tables {
			q.answer[backend] = t.Digest
		}
		close(q.answered)
		q.waiting, q.asked = nil, nil
		f.compare(p)
	}
	ask := f.ask(now)
	f.mu.Unlock()
	f.tell(ask)
}

// Leave says that the node's stream has ended.
func (h *Holder) Leave(now time.Time) {
	f := h.fleet
	f.mu.Lock()
	h.drop()
	if f.holders[h.held]--; f.holders[h.held] <= 0 {
		delete(f.holders, h.held)
	}
	if q := h.question; q != nil {
		is := func(other *Holder) bool { return other == h }
		q.waiting = slices.DeleteFunc(q.waiting, is)
		q.asked = slices.DeleteFunc(q.asked, is)
		if len(q.asked) == 0 {
			q.since, q.latest = time.Time{}, time.Time{}
		}
		if q.holders--; q.holders == 0 {
			f.drop(q)
		}
	}
	ask := f.ask(now)
	f.mu.Unlock()
	f.tell(ask)
}

// drop forgets a question that nobody there holds the answer of. What was adopted of it stays.
func (f *Fleet) drop(q *question) {
	if f.questions[q.generation.Digest] == q {
		delete(f.questions, q.generation.Digest)
		f.tables -= len(q.answer)
	}
}

// Status is how far the fleet is.
type Status struct {
	// Over says that there is nothing more to wait for; Next is when to look again, zero if only for news.
	Over bool
	Next time.Time
	// Uniform is set when all nodes that are there hold the same and have told it.
	Uniform wire.Marks
}

// Status looks whether the wait is over, and has others asked where an answer is slow.
func (f *Fleet) Status(now time.Time) Status {
	f.mu.Lock()
	ask := f.ask(now)
	s := f.status(now)
	f.mu.Unlock()
	for _, h := range ask {
		close(h.asked)
	}
	return s
}

func (f *Fleet) status(now time.Time) Status {
	var s Status
	if f.first.IsZero() {
		return s
	}
	look := func(at time.Time) {
		if at.After(now) && (s.Next.IsZero() || at.Before(s.Next)) {
			s.Next = at
		}
	}
	// While no node is there, nothing is sent either: who comes next is asked.
	s.Over = !now.Before(f.first.Add(f.timing.Wait)) && len(f.holders) > 0
	look(f.first.Add(f.timing.Wait))
	// A node that comes again and again with something else, and never tells it, holds up the others no longer than one that does so once.
	end := f.present.Add(f.timing.Wait + f.timing.Answer)
	look(end)
	for _, q := range f.questions {
		if q.known || q.since.IsZero() {
			continue
		}
		if now.Before(q.since.Add(f.timing.Answer)) && now.Before(end) {
			s.Over = false
		}
		look(q.latest.Add(f.timing.Patience))
		look(q.since.Add(f.timing.Answer))
	}
	if len(f.holders) == 1 {
		for held := range f.holders {
			if q := f.questions[held.Generation.Digest]; q != nil && q.known {
				s.Uniform = held
			}
		}
	}
	return s
}

// Told is what has been told so far.
func (f *Fleet) Told() *Adopted {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.adopted()
}

// Close is Told and ends the adoption: what is told from now on says what a node holds, and is adopted no more.
func (f *Fleet) Close() *Adopted {
	f.mu.Lock()
	defer f.mu.Unlock()
	a := f.adopted()
	f.closed, f.best, f.told = true, nil, 0
	return a
}

func (f *Fleet) adopted() *Adopted {
	a := &Adopted{
		Revision: f.highestRevision, Generation: f.highestGeneration,
		tables: make(map[string]*wire.TablePositions, len(f.best)),
	}
	for _, n := range f.holders {
		a.Nodes += n
	}
	for backend, w := range f.best {
		a.tables[backend] = w.table
		if w.differs {
			a.Conflicts++
		}
	}
	return a
}
