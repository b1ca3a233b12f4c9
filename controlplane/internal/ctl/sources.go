package ctl

import (
	"fmt"
	"strings"
	"time"

	"github.com/spf13/cobra"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/types/known/timestamppb"

	"github.com/berth-proxy/berth/controlplane/internal/view"
	adminv1 "github.com/berth-proxy/berth/proto/berth/admin/v1"
)

func (r *run) sourcesCommand() *cobra.Command {
	cmd := &cobra.Command{
		Use:   "sources",
		Short: "Show where wanted state is read, what cannot be read, and what is held back; forget or release it",
		Long: "sources shows each source of the control plane: whether it has been read in full, what cannot be read, and which removal the guard holds back.\n" +
			"The exit code is 1 when a source cannot be read. Two orders are given with it: forget and release.",
		Args: func(_ *cobra.Command, args []string) error {
			if len(args) > 0 {
				return misused("there is no command \"sources %s\"; sources has forget and release", args[0])
			}
			return nil
		},
		RunE: func(cmd *cobra.Command, _ []string) error {
			format, err := r.format(asTable, asJSON)
			if err != nil {
				return err
			}
			return r.ask(cmd.Context(), func(p *plane) error {
				sources, err := p.sources()
				if err != nil {
					return err
				}
				var text page
				text.sources(sources)
				if err := r.show(format, &adminv1.ListSourcesResponse{Sources: sources}, &text); err != nil {
					return err
				}
				return faultOf(sources)
			})
		},
	}
	cmd.AddCommand(r.forgetCommand(), r.releaseCommand())
	return cmd
}

func (r *run) forgetCommand() *cobra.Command {
	return r.questionAbout(&cobra.Command{
		Use:   "forget NAME",
		Short: "Count as deleted what cannot be read of a source at this moment",
		Long: "forget makes what cannot be read of a source at this moment count as deleted: the last objects of files that cannot be read, or all of its\n" +
			"objects when the source itself is not there. The source then counts as read, and what waited for it goes on. So does a source that can be\n" +
			"read and has no object at all: it is meant to have none. What can be read again simply comes back, and what cannot be read for another\n" +
			"reason is a fault again. It does not outlive a restart of the control plane.\n\n" +
			"There is no way back but the source itself: look at berthctl sources first. When all of the source can be read the exit code is 1.",
		Args: one("the NAME of a source"),
	}, func(p *plane, args []string) (proto.Message, *page, error) {
		answer, err := p.ForgetSource(p.ctx, &adminv1.ForgetSourceRequest{Source: args[0]})
		if err != nil {
			return nil, nil, p.failure("forget what cannot be read", err)
		}
		var text page
		removed := objects(answer.GetObjectsRemoved()) + " removed"
		if answer.GetObjectsRemoved() == 0 {
			// The plane has never read them, but nodes may: it has frozen them for this very word.
			removed += ", and what nodes still have of it from before"
		}
		text.line("source %s: %s; it counts as read, without: %s", args[0], removed, answer.GetSource().GetForgotten())
		return answer, &text, nil
	})
}

func (r *run) releaseCommand() *cobra.Command {
	return r.questionAbout(&cobra.Command{
		Use:   "release NAME",
		Short: "Remove at once what the guard holds back of a source",
		Long: "When objects vanish from a source in one step on which at least ten backends and at least half of a fleet's depend, their removal is held back for ten\n" +
			"seconds, or longer while more vanishes, a minute at most; what comes back meanwhile was never gone. release removes them at once.\n" +
			"When nothing is held back the exit code is 1.",
		Args: one("the NAME of a source"),
	}, func(p *plane, args []string) (proto.Message, *page, error) {
		answer, err := p.ReleaseGuard(p.ctx, &adminv1.ReleaseGuardRequest{Source: args[0]})
		if err != nil {
			return nil, nil, p.failure("release what is held back", err)
		}
		var text page
		text.line("source %s: %s removed", args[0], objects(answer.GetObjectsRemoved()))
		return answer, &text, nil
	})
}

func objects(n uint32) string {
	if n == 1 {
		return "1 object is"
	}
	return fmt.Sprintf("%d objects are", n)
}

func (p *plane) sources() ([]*adminv1.Source, error) {
	answer, err := p.ListSources(p.ctx, &adminv1.ListSourcesRequest{})
	if err != nil {
		return nil, p.failure("list the sources", err)
	}
	return answer.GetSources(), nil
}

// sources adds the table of sources, and below it what an operator may want to do about them.
func (p *page) sources(list []*adminv1.Source) {
	rows := make([][]string, len(list))
	for i, s := range list {
		held, text := "", s.GetError()
		if h := s.GetHeld(); h != nil {
			held = fmt.Sprint(h.GetObjects())
		}
		if text == "" {
			text = s.GetForgotten()
		}
		rows[i] = []string{s.GetName(), sourceState(s), fmt.Sprint(s.GetObjects()), held, s.GetLocation(), text}
	}
	p.table([]string{"SOURCE", "STATE", "OBJECTS", "HELD BACK", "LOCATION", "ERROR"}, rows)
	for _, s := range list {
		if h := s.GetHeld(); h != nil {
			p.line("source %s: %s; to remove them now: berthctl sources release %s", s.GetName(), heldText(h), s.GetName())
		}
		if s.GetStaleSince() != nil && !s.GetSynced() {
			p.line("source %s: if what cannot be read is gone for good: berthctl sources forget %s", s.GetName(), s.GetName())
		}
	}
}

func sourceState(s *adminv1.Source) string {
	var words []string
	if !s.GetSynced() {
		words = append(words, "not read in full yet")
	}
	switch {
	case s.GetStaleSince() != nil:
		words = append(words, "faulty since "+clock(s.GetStaleSince()))
	case s.GetError() != "":
		words = append(words, "faulty")
	}
	if s.GetForgottenSince() != nil {
		words = append(words, "forgotten since "+clock(s.GetForgottenSince()))
	}
	if len(words) == 0 {
		return "read"
	}
	return strings.Join(words, ", ")
}

func heldText(h *adminv1.HeldRemoval) string {
	names := strings.Join(h.GetNames(), ", ")
	if more := int(h.GetObjects()) - len(h.GetNames()); more > 0 {
		names += fmt.Sprintf(" and %d more", more)
	}
	return fmt.Sprintf("%d objects vanished at %s, on which %d backends depend; they are removed at %s unless they come back: %s",
		h.GetObjects(), clock(h.GetSince()), h.GetBackends(), clock(h.GetUntil()), names)
}

func clock(t *timestamppb.Timestamp) string { return t.AsTime().Format(time.RFC3339) }

// sourceText is a source in one line of watch.
func sourceText(s *adminv1.Source) string {
	text := fmt.Sprintf("source %s: ", s.GetName())
	switch state := sourceState(s); {
	case s.GetError() != "":
		text += "faulty: " + s.GetError()
	case state != "read":
		text += state
	default:
		text += fmt.Sprintf("read, %d objects", s.GetObjects())
	}
	if s.GetForgotten() != "" {
		text += "; forgotten: " + s.GetForgotten()
	}
	if h := s.GetHeld(); h != nil {
		text += "; " + heldText(h)
	}
	return text
}

// faultOf is the error of sources that cannot be read whole.
func faultOf(sources []*adminv1.Source) error {
	list := make([]view.Source, len(sources))
	for i, s := range sources {
		list[i] = view.Source{Name: s.GetName(), Error: s.GetError()}
	}
	return sourceFault(list)
}
